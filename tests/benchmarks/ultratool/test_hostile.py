"""Answers that want to break the scorer: each is scored, without an exception, in bounded time."""

from __future__ import annotations

import json
from itertools import cycle
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.data import Record
from opencompass_tooleval.benchmarks.ultratool.reading import LIST_CHOICES, SCORINGS, Protocol
from opencompass_tooleval.benchmarks.ultratool.scoring import score_answer
from tests.benchmarks.hostile import HOSTILE
from tests.benchmarks.ultratool.support import make_record
from tests.growth import in_linear_time

TOOLSET = [{'name': 't', 'arguments': {'properties': {'x': {}}}}]


def record(task: str, gold: Any, **more: Any) -> Record:
    step = {'step': '1.1 b', 'tool': gold, **more}
    return make_record(task, {'input': [{'step': '1.1 b'}], 'toolset': TOOLSET, 'reference': [step]})


RECORDS: dict[str, Record] = {
    'tool_usage': record('tool_usage', 't', param={'x': 'abc'}),
    'tool_usage_awareness': record('tool_usage_awareness', '1'),
    'tool_selection': record('tool_selection', 't'),
    'tool_creation': record('tool_creation', {'name': 't'}),
    'planning': make_record('planning', {'input': 'q', 'reference': '1. a'}),
}


def repeated(unit: str, size: int = 20_000) -> str:
    return (unit * (size // len(unit) + 1))[:size]


REPAIR = [repeated(unit) for unit in (']{1', '[{1true]', '\n[{]', "['", '[json[1]json{')]
REPAIR += [
    '[' + repeated('“{json]<'),
    '["\\' + repeated('{]```'),
    "true'[" + repeated("'-"),
    '(' + repeated(']{...['),
    '[' + repeated('\\a"a":'),
]


@pytest.mark.parametrize('scoring', SCORINGS)
@pytest.mark.parametrize('task', RECORDS)
def test_hostile(task: str, scoring: str, capfd: pytest.CaptureFixture[str]) -> None:
    for text, list_choice in zip([*HOSTILE.values(), *REPAIR], cycle(LIST_CHOICES), strict=False):
        score = score_answer(RECORDS[task], text, Protocol(scoring, list_choice), [])
        json.dumps(score.to_detail(), allow_nan=False).encode('utf-8')
    assert 'pwned' not in capfd.readouterr().out


@pytest.mark.parametrize('text', REPAIR, ids=range(len(REPAIR)))
def test_what_takes_json_repair_seconds(text: str) -> None:
    for scoring in SCORINGS:
        in_linear_time(lambda text: score_answer(RECORDS['tool_usage'], text, Protocol(scoring), []), text)  # noqa: B023


@pytest.mark.parametrize('scoring', SCORINGS)
@pytest.mark.parametrize('answer', [None, 5, {}, [], [None], [[[]]], [{'step': '1.1 b', 'tool': {'x': [1]}}]])
def test_answers_that_are_no_text(answer: Any, scoring: str) -> None:
    for record in RECORDS.values():
        score = score_answer(record, answer, Protocol(scoring), [])
        json.dumps(score.to_detail(), allow_nan=False)
