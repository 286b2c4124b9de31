"""The best that can be, against which ``tools/benchmark.py --only pipe`` measures."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.conftest import ROOT, load_tool

LATENCIES = {'a1': 3.0, 'a2': 1.0, 'b1': 1.0, 'b2': 1.0, 'b3': 1.0, 'c1': 2.0}
DIALOGUES = [['a1', 'a2'], ['b1', 'b2', 'b3'], ['c1']]


@pytest.fixture
def benchmark_pipe(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with the latencies above."""
    monkeypatch.syspath_prepend(str(ROOT / 'tools'))
    script = load_tool('benchmark_pipe')
    monkeypatch.setattr(script, 'latency_of', LATENCIES.__getitem__)
    return script


def test_the_best_that_can_be(benchmark_pipe: ModuleType) -> None:
    assert benchmark_pipe.ideal_seconds(DIALOGUES, slots=1) == sum(LATENCIES.values())
    assert benchmark_pipe.ideal_seconds(DIALOGUES, slots=3) == 4.0  # the longest dialogue
    # a1 0-3 beside b1 0-1; c1, which waited, 1-3; then a2 and b2, 3-4, and b3
    assert benchmark_pipe.ideal_seconds(DIALOGUES, slots=2) == 5.0


def test_latencies_follow_from_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    server = load_tool('latency_server')
    seconds = sorted(server.latency_of(f'question {number}') for number in range(2001))
    assert seconds == sorted(server.latency_of(f'question {number}') for number in range(2001))
    assert seconds[1000] == pytest.approx(0.5, rel=0.1)
