"""Shared by UltraTool's tests: the real data if it exists, and records made by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.data import (
    FIX_MISSING,
    Record,
    Recorded,
    Subset,
    load_recorded_rows,
    parse_payload,
)
from opencompass_tooleval.benchmarks.ultratool.judge import Judged
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.benchmarks.ultratool.scoring import ScoresGrading

ROOT = Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / 'shared'
PREDICTIONS = SHARED / 'data' / 'ultratool_predictions' / 'Chinese-dataset'
DATA = SHARED / 'data' / 'ultratool'
EXPECTED = SHARED / 'expected' / 'ultratool' / 'Chinese-dataset'


def english(path: str) -> Path:
    """A file of the authors' English answers: in ../shared, or in a clone of their repository beside this one."""
    folders = SHARED / 'data' / 'ultratool_predictions', ROOT.parent / 'UltraTool' / 'predictions'
    files = [folder / 'English-dataset' / path for folder in folders]
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        pytest.skip(f"UltraTool's English {path} is neither in ../shared nor in ../UltraTool ({FIX_MISSING})")
    return file


def real(file: Path) -> Path:
    """``file``; skips the test where it is not beside the repository."""
    if not file.is_file():
        pytest.skip(f'UltraTool data ({file.relative_to(SHARED)}) is not in ../shared beside the repository')
    return file


@cache
def published(model: str, task: str) -> tuple[Recorded, ...]:
    return tuple(load_recorded_rows(real(PREDICTIONS / model / f'{task}.json'), task, 'zh'))


def make_record(subset: str, raw: dict[str, Any], record_id: str = 'r', domain: str = '') -> Record:
    return parse_payload(json.dumps([record_id, 'zh', domain, raw]), subset)


def load_judgements(file: Path, subset: Subset, rules: Protocol, records: Sequence[Record] = ()) -> list[Judged]:
    return ScoresGrading(records, (), subset, rules).read(file)
