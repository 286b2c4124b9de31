"""The list of steps that is read from an answer, and its parse method."""

from __future__ import annotations

from typing import Any

import pytest

from opencompass_tooleval.benchmarks.restbench.answers import MAX_STEPS, read_path
from opencompass_tooleval.core.calls.answer import Answer

AB = ['GET /a', 'PUT /b/{id}']
JSON = '["GET /a", "PUT /b/{id}"]'

READ = [
    ('a JSON list', JSON, 'literal', AB),
    ('a Python list', "['GET /a', 'PUT /b/{id}']", 'literal', AB),
    ('an empty list', '[]', 'literal', []),
    ('fenced in prose', f'Here it is:\n```\n{JSON}\n```\nThat is all.', 'fence', AB),
    ('in prose', f'The path is {JSON}.', 'prose', AB),
    ('the last of several lists', f'First ["GET /x"], better {JSON} [1].', 'prose', AB),
    ('within an object', f'{{"path": {JSON}}}', 'prose', AB),
    ('arrows behind a number, in prose', 'Path:\n1. GET /a → PUT /b/{id}\n', 'arrows', AB),
    ('numbered lines', '1. GET /a\n2) PUT /b/{id}', 'lines', AB),
    ('steps and bullets', 'Plan:\n- Step 1: find it\n- GET /a\nStep 2: PUT /b/{id}', 'lines', AB),
    ('one step alone', 'GET /a', 'lines', ['GET /a']),
    ('behind thoughts', f'<think>["GET /x"]</think>{JSON}', 'literal', AB),
    ('a list to begin with', AB, 'value', AB),
]


@pytest.mark.parametrize(
    ('answer', 'parse_method', 'steps'), [case[1:] for case in READ], ids=[case[0] for case in READ]
)
def test_reading(answer: Any, parse_method: str, steps: list[str]) -> None:
    parsed = read_path(answer)
    assert (parsed.value, parsed.parse_method, parsed.reason) == (steps, parse_method, '')


UNREAD = [
    ('empty', ' \n', 'answer:empty'),
    ('prose', 'I would search for the movie.', 'parse:no_brackets'),
    ('an object', '{"a": 1}', 'parse:not_a_list'),
    ('a number', '5', 'parse:not_a_list'),
    ('objects', '[{"tool": "GET /a"}]', 'parse:not_text'),
    ('too many', str(['GET /a'] * (MAX_STEPS + 1)), 'parse:too_many_calls'),
    ('too deep', '[' * 90_000 + ']' * 90_000, 'parse:not_json'),
    ('ten megabytes', 'GET /a\n' * 1_500_000, 'answer:too_long'),
    ('thoughts without end', '<think>["GET /a"]', 'answer:truncated_reasoning'),
    ('a failure', Answer('', 'infra:timeout'), 'infra:timeout'),
]


@pytest.mark.parametrize(('answer', 'reason'), [case[1:] for case in UNREAD], ids=[case[0] for case in UNREAD])
def test_what_cannot_be_read(answer: Any, reason: str) -> None:
    parsed = read_path(answer)
    assert (parsed.value, parsed.parse_method, parsed.reason) == (None, 'none', reason)


def test_the_longest_path() -> None:
    assert read_path(str(['GET /a'] * MAX_STEPS)).ok
