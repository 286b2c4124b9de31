"""Tables on a terminal of 80 columns: nothing that is a number or a header is cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command

MODEL = 'qwen2.5-72b-instruct-hf'


def test_status(tooleval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('COLUMNS', '80')
    (tmp_path / 'configs').mkdir()
    (tmp_path / 'configs' / 'a.py').write_text(f"models = [dict(abbr='{MODEL}')]\ndatasets = [dict(abbr='d')]\n")
    done = tooleval('status', tmp_path)
    assert done.code == 0, done.err
    headers = {'done', 'answered', 'running', 'failed', 'waiting', 'samples/s', 'time', 'left'}
    assert headers <= set(done.out.split())
    assert all(len(line) <= 80 for line in done.out.splitlines() if str(tmp_path) not in line)
