"""The ideal times with which ``tools/benchmark.py --only pipe`` and ``--only agents`` compare."""

from __future__ import annotations

import json
from itertools import islice
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT, load_tool

LATENCIES = {'a1': 3.0, 'a2': 1.0, 'b1': 1.0, 'b2': 1.0, 'b3': 1.0, 'c1': 2.0}
DIALOGUES = [['a1', 'a2'], ['b1', 'b2', 'b3'], ['c1']]


@pytest.fixture
def benchmark_pipe(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / 'tools' / 'benchmark_parts'))
    script = load_tool('benchmark_parts/benchmark_pipe')
    monkeypatch.setattr(script, 'latency_of', LATENCIES.__getitem__)
    return script


def test_the_best_that_can_be(benchmark_pipe: ModuleType) -> None:
    assert benchmark_pipe.ideal_seconds(DIALOGUES, slots=1) == sum(LATENCIES.values())
    assert benchmark_pipe.ideal_seconds(DIALOGUES, slots=3) == 4.0  # the longest dialogue
    # a1 0-3 beside b1 0-1; c1, which waited, 1-3; then a2 and b2, 3-4, and b3
    assert benchmark_pipe.ideal_seconds(DIALOGUES, slots=2) == 5.0


def test_an_agent_is_told_its_calls_one_by_one() -> None:
    server = load_tool('benchmark_parts/latency_server')
    seconds = sorted(server.latency_of(f'question {number}') for number in range(2001))
    assert seconds[1000] == pytest.approx(0.5, rel=0.1)
    calls = [{'name': 'search', 'arguments': {'page': page}} for page in range(2)]
    request = server.request_of('q1', calls)
    messages = [{'role': 'system', 'content': 'Act.'}, {'role': 'user', 'content': request}]
    rounds = []
    for number in range(3):
        native = server.reply_to({'messages': messages, 'tools': [{}]})
        text = server.reply_to({'messages': messages})
        assert native[0] == text[0] == server.round_of(request, number)
        rounds.append((native[1].get('tool_calls'), text[1]['content']))
        told = {'role': 'tool', 'content': 'x'}
        messages += [{'role': 'assistant', 'content': None}, told]
    assert [json.loads(made[0]['function']['arguments']) for made, _ in rounds[:2]] == [{'page': 0}, {'page': 1}]
    assert [said.splitlines()[1:] for _, said in rounds] == [
        ['Action: search', 'Action Input: {"page": 0}'],
        ['Action: search', 'Action Input: {"page": 1}'],
        ['Final Answer: done'],
    ]
    assert rounds[2][0] is None
    assert server.reply_to({'messages': [{'content': 'other'}]}) == (
        'other',
        {'role': 'assistant', 'content': 'answer to other'},
    )


def test_agents_tasks_have_their_calls_in_the_bank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / 'tools' / 'benchmark_parts'))
    script = load_tool('benchmark_parts/benchmark_agents')
    recorded: dict[str, list[Any]] = {}
    for call in islice(script.bank_calls(), 10 * 2 * script.TASKS):
        recorded.setdefault(call.task, []).append(call)
    tasks = script.tasks_of(recorded, 0)
    counts = [len(task.gold) for task in tasks]
    assert len(tasks) == 553 and 4.6 < sum(counts) / 553 < 5.4 and (min(counts), max(counts)) == (1, 9)
    assert [len(rounds) for rounds in script.questions_of(tasks)] == [count + 1 for count in counts]
    of_first = {(call.name, str(call.arguments)) for call in recorded[tasks[0].id]}
    assert {(call.name, str(call.arguments)) for call in tasks[0].gold} <= of_first
