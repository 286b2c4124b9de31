"""``tools/benchmark.py``: ideal times; its steps for a GPU, on a processor; and that it says where there is no GPU."""

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
    assert load_tool('benchmark_parts/benchmark_gpu').measure() == {}
    assert capsys.readouterr().out.startswith('gpu is skipped: torch sees no GPU here')


@pytest.mark.long
def test_its_steps_on_a_processor(tmp_path: Path) -> None:
    file = tmp_path / 'figures.json'
    command: list[str | Path] = [
        sys.executable,
        ROOT / 'tools' / 'benchmark.py',
        '--only',
        'gpu',
        '--device',
        'cpu',
        '--json',
        file,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    figures = json.loads(file.read_text())['gpu']
    assert 'no measure of a GPU' in figures['device'] and 'no measure of a GPU' in done.stdout
    assert figures['local']['equal'] == {'1': 8, '8': 8, '64': 8} and figures['local']['two processes'] == [8, 8]
    assert ('transformers' in figures['served']) == bool(find_spec('fastapi'))
    assert all(row['seconds'] > 0 and row['bare'] > 0 for row in figures['served'].values())


LATENCIES = {'a1': 3.0, 'a2': 1.0, 'b1': 1.0, 'b2': 1.0, 'b3': 1.0, 'c1': 2.0}
DIALOGUES = [['a1', 'a2'], ['b1', 'b2', 'b3'], ['c1']]


def test_the_best_that_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    script = load_tool('benchmark_parts/benchmark_pipe')
    monkeypatch.setattr(script, 'latency_of', LATENCIES.__getitem__)
    assert script.ideal_seconds(DIALOGUES, slots=1) == sum(LATENCIES.values())
    assert script.ideal_seconds(DIALOGUES, slots=3) == 4.0  # the longest dialogue
    # a1 0-3 beside b1 0-1; c1, which waited, 1-3; then a2 and b2, 3-4, and b3
    assert script.ideal_seconds(DIALOGUES, slots=2) == 5.0
