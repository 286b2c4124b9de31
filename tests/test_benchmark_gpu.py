"""``tools/benchmark.py --only gpu``: its steps on a processor, and that it says where there is no GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT, load_tool


def test_without_a_gpu_it_measures_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip('torch')
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)
    monkeypatch.syspath_prepend(str(ROOT / 'tools' / 'benchmark_parts'))
    monkeypatch.syspath_prepend(str(ROOT / 'tools'))
    assert load_tool('benchmark_parts/benchmark_gpu').measure() == {}
    assert capsys.readouterr().out.startswith('gpu is skipped: torch sees no GPU here')


@pytest.mark.long
def test_its_steps_on_a_processor(tmp_path: Path) -> None:
    file = tmp_path / 'figures.json'
    command = [sys.executable, ROOT / 'tools' / 'benchmark.py', '--only', 'gpu', '--device', 'cpu', '--json', file]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    figures = json.loads(file.read_text())['gpu']
    assert 'no measure of a GPU' in figures['device'] and 'no measure of a GPU' in done.stdout
    assert figures['local']['equal'] == {'1': 8, '8': 8, '64': 8} and figures['local']['two processes'] == [8, 8]
    assert ('transformers' in figures['served']) == bool(find_spec('fastapi'))
    assert all(row['seconds'] > 0 and row['bare'] > 0 for row in figures['served'].values())
