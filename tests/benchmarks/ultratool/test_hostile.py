"""Answers that want to break the scorer: each is scored, without an exception, in bounded time."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.protocol import LIST_CHOICES, SCORINGS, Protocol
from opencompass_tooleval.benchmarks.ultratool.records import Record
from opencompass_tooleval.benchmarks.ultratool.scoring import score_answer
from tests.benchmarks.ultratool.support import make_record
from tests.growth import in_linear_time

TOOLSET = [{'name': 't', 'arguments': {'properties': {'x': {}}}}]
RECORDS: dict[str, Record] = {
    'tool_usage': make_record(
        'tool_usage',
        {
            'input': [{'step': '1.1 b', 'tool': 't', 'param': ''}],
            'toolset': TOOLSET,
            'reference': [{'step': '1.1 b', 'tool': 't', 'param': {'x': 'abc'}}],
        },
    ),
    'tool_usage_awareness': make_record(
        'tool_usage_awareness', {'input': [{'step': '1.1 b'}], 'reference': [{'step': '1.1 b', 'tool': '1'}]}
    ),
    'tool_selection': make_record(
        'tool_selection',
        {'input': [{'step': '1.1 b'}], 'toolset': TOOLSET, 'reference': [{'step': '1.1 b', 'tool': 't'}]},
    ),
    'tool_creation': make_record(
        'tool_creation', {'input': [{'step': '1.1 b'}], 'reference': [{'step': '1.1 b', 'tool': {'name': 't'}}]}
    ),
    'planning': make_record('planning', {'input': 'q', 'reference': '1. a'}),
}

ITEM = '{"step": "1.1 b", "tool": "1", "param": {"x": "abc"}}'


def with_value(value: str) -> str:
    return '[{"step": "1.1 b", "tool": %s, "param": {"x": %s}}]' % (value, value)  # noqa: UP031  (braces)


def repeated(unit: str, size: int = 20_000) -> str:
    return (unit * (size // len(unit) + 1))[:size]


HOSTILE: dict[str, str] = {
    'ten_megabytes': 'x' * 10_000_000,
    'two_hundred_thousand_of_json': '[' + (ITEM + ', ') * 3_000 + ITEM + ']',
    'two_hundred_thousand_cut': '[' + (ITEM + ', ') * 3_000,
    'numbers': '[' + '1,' * 95_000 + ']',
    'brackets': '[' * 100_000,
    'closed_brackets': '[' * 90_000 + ']' * 90_000,
    'deep_lists': '[' + ('[' * 90 + ']' * 90 + ',') * 500 + ']',
    'braces': '[' + '{"a":' * 30_000,
    'open_items': '[{' * 60_000,
    'closers': '[' + '}' * 100_000 + ']',
    'closers_and_blanks': '[' + '}            ' * 10_000 + ']',
    'closing_brackets': '[{}' + ']' * 100_000,
    'quotes': '["' + '"' * 150_000 + ']',
    'escaped_quotes': '["' + '\\"' * 90_000,
    'backslashes': '["' + '\\' * 150_001,
    'single_quotes': '[' + "'{" * 60_000 + ']',
    'backticks': '`' * 190_000 + '[',
    'json_words': 'json' * 45_000 + '[]',
    'step_marks': '[' + '}, "step' * 20_000 + ']',
    'nul': with_value('"\0"'),
    'surrogates': with_value('"\ud800"'),
    'surrogate_number': '[{"step": "\ud800 b", "tool": "\udfff"}]',
    'nan': with_value('NaN'),
    'infinite': with_value('1e999'),
    'huge_decimal': with_value('9' * 100_000),
    'huge_hex': with_value('0x' + 'f' * 100_000),
    'big_hex': with_value('0x' + 'f' * 2_400),
    'deep_value': with_value('[' * 150 + ']' * 150),
    'sets': with_value('{1, 2}'),
    'bytes': with_value('b"x"'),
    'tuple_keys': with_value('{(1, 2): {3}}'),
    'unhashable': with_value('{[]: 1}'),
    'number_keys': '[{1: 2, "step": "1.1 b", "tool": 1, "param": {1: 2}}]',
    'long_value': with_value('"' + 'ab' * 80_000 + '"'),
    'code': '[__import__("os").system("echo pwned")]',
    'lambdas': '[' + 'lambda:' * 25_000 + ']',
    'sums': '[' + '+'.join(['1'] * 90_000) + ']',
    'signs': '[' + '-' * 150_000 + '1]',
    'f_strings': '[f"' + '{' * 300 + '"]',
    'escapes': r'[{"step": "1.1 \d\x"}]',
    'items_that_are_none': '[None, 1, "a", [], (), {}]',
    'steps_that_are_none': '[{"step": None}, {"step": []}, {"step": ""}, {"tool": "1"}]',
    'lists_in_lists': '[[[[{"step": "1.1 b"}]]]]',
    'one_item': ITEM,
    'empty': '',
    'empty_list': '[]',
    'blanks': ' ' * 100_000,
    'first_steps': '1. ' * 60_000,
    'paragraphs': 'x1. ' + '\n\n' * 90_000,
    'open_thought': '<think>' * 30_000,
}
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
    for text, list_choice in product([*HOSTILE.values(), *REPAIR], LIST_CHOICES):
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
