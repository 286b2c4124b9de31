"""Paths of the published files, if they are beside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / 'shared' / 'data'
DEMO = ROOT / 'opencompass_tooleval' / 'demo'


def real(name: str) -> Path:
    """``shared/data/NAME``; skips the test where it is not there."""
    file = DATA / name
    if not file.exists():
        pytest.skip(f'real data ({name}) is not in ../shared/data beside the repository')
    return file


def expected(name: str) -> Path:
    """``shared/expected/NAME``; skips the test where it is not there."""
    file = DATA.parent / 'expected' / name
    if not file.exists():
        pytest.skip(f'{name} is not in ../shared/expected beside the repository')
    return file
