"""Golden cases of reading, one or more per parse method."""

from __future__ import annotations

from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.reading import PARSE_METHODS, Protocol, is_json, read, without_thoughts
from opencompass_tooleval.core.calls.answer import Answer
from tests.benchmarks.support import cases

READING = cases('ultratool_reading')


@pytest.mark.parametrize('case', READING, ids=lambda case: case['source'])
def test_golden(case: dict[str, Any]) -> None:
    parsed = read(case['answer'], case['reading'], Protocol(case['scoring'], case['list_choice']))
    assert (parsed.value, parsed.parse_method, parsed.reason) == (case['value'], case['parse_method'], case['reason'])


def test_every_parse_method_has_a_case() -> None:
    seen = {(case['reading'], case['parse_method']) for case in READING}
    parse_methods = {
        (reading, parse_method) for reading, methods in PARSE_METHODS.items() for parse_method, _ in methods
    }
    assert parse_methods <= seen


@pytest.mark.parametrize(
    ('answer', 'expected'),
    [
        ('[]', True),
        (' [{"a": null}]\n', True),
        ('```json\n[1]\n```', True),
        ('{"a": 1}', False),
        ([], True),
        (None, False),
    ],
)
def test_json_as_it_stands(answer: Any, expected: bool) -> None:
    assert is_json(answer) is expected


def test_an_unknown_rule_is_named() -> None:
    with pytest.raises(ValueError, match="list_choice 'first' is not one of last, span"):
        Protocol(list_choice='first')


def test_thoughts_are_dropped() -> None:
    assert without_thoughts('<think>[1]?</think>[2]') == Answer('[2]')
    assert without_thoughts('[2]') == Answer('[2]')
    assert without_thoughts([2]) == [2]
    assert without_thoughts('<think>[1]?').reason == 'answer:truncated_reasoning'
