"""Reading of literals and JSON: parse methods, bounds, and JSON as a Chinese keyboard writes it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.core.text.fullwidth import ascii_punctuation, read_either, tidy
from opencompass_tooleval.core.text.jsonable import MAX_BITS, MAX_CHARS, MAX_DEPTH
from opencompass_tooleval.core.text.reading import (
    TOO_COSTLY,
    Parsed,
    literal,
    parse_enclosed,
    parse_literal,
    read_first_possible,
)


def nested(depth: int) -> str:
    return '[' * depth + '1' + ']' * depth


@pytest.mark.parametrize(('text', 'value', 'parse_method'), [
    pytest.param('{"a": 1}', {'a': 1}, 'literal', id='json that is a literal too'),
    pytest.param("{'a': None, 'b': True}", {'a': None, 'b': True}, 'literal', id='python dict'),
    pytest.param(' [1]', [1], 'literal', id='leading blank'),
    pytest.param('{1: (2, 3)}', {1: (2, 3)}, 'literal', id='number as key, tuple'),
    pytest.param("b'x'", b'x', 'literal', id='bytes'),
    pytest.param("'\\d'", '\\d', 'literal', id='invalid escape'),
    pytest.param('{"a": true, "b": null}', {'a': True, 'b': None}, 'json', id='true and null'),
    pytest.param('null', None, 'json', id='null is a value'),
    pytest.param('"\ud800"', '\ud800', 'json', id='lone surrogate'),
    pytest.param('[Infinity]', [math.inf], 'json', id='infinity'),
    pytest.param("{'a': true}", {'a': True}, 'quotes', id='single quotes and true'),
])  # fmt: skip
def test_parse_methods(text: str, value: Any, parse_method: str) -> None:
    parsed = parse_literal(text)
    assert parsed == Parsed(value, parse_method)
    assert type(parsed.value) is type(value)
    assert parsed.ok and math.isnan(parse_literal('NaN').value)


@pytest.mark.parametrize(('text', 'reason'), [
    pytest.param('', 'parse:not_json', id='empty'),
    pytest.param('__import__("os").getcwd()', 'parse:not_json', id='code is not run'),
    pytest.param('{"a": 1', 'parse:not_json', id='cut short'),
    pytest.param('{[]: 1}', 'parse:not_json', id='list as key'),
    pytest.param('\ud800', 'parse:not_json', id='lone surrogate'),
    pytest.param('9' * 5000, 'parse:not_json', id='more decimal digits than Python reads'),
    pytest.param('[' * 50_000, 'parse:not_json', id='deeper than the readers'),
    pytest.param('1' + ' ' * MAX_CHARS, 'answer:too_long', id='too long'),
    pytest.param(nested(MAX_DEPTH + 1), 'parse:too_deep', id='too deep for us'),
    pytest.param(nested(400), 'parse:too_deep', id='too deep for literals but not for json'),
    pytest.param('0x1' + '0' * (MAX_BITS // 4), 'parse:huge_number', id='huge number'),
    pytest.param('{0x1' + '0' * (MAX_BITS // 4) + ': 1}', 'parse:huge_number', id='huge number as key'),
    pytest.param('{0x1' + '0' * (MAX_BITS // 4) + '}', 'parse:huge_number', id='huge number in a set'),
])  # fmt: skip
def test_unreadable(text: str, reason: str) -> None:
    parsed = parse_literal(text)
    assert parsed == Parsed(None, 'none', reason)
    assert not parsed.ok


def test_bounds_are_inclusive() -> None:
    for text in ('1' + ' ' * (MAX_CHARS - 1), nested(MAX_DEPTH), '0x' + 'f' * (MAX_BITS // 4)):
        assert parse_literal(text).parse_method == 'literal'


@pytest.mark.parametrize(('text', 'start', 'end', 'expected'), [
    pytest.param('so: [1, 2] done', '[', ']', Parsed([1, 2], 'literal'), id='text around'),
    pytest.param('[1] and [2]', '[', ']', Parsed(None, 'none', 'parse:not_json'), id='first start to last end'),
    pytest.param('[[1], [2]]', '[', ']', Parsed([[1], [2]], 'literal'), id='nested'),
    pytest.param('1, 2]', '[', ']', Parsed(None, 'none', 'parse:no_brackets'), id='no start'),
    pytest.param('] [', '[', ']', Parsed(None, 'none', 'parse:not_json'), id='end before start'),
    pytest.param('', '', '', Parsed(None, 'none', 'parse:no_brackets'), id='empty without brackets'),
    pytest.param('{"a": 1}', '', '', Parsed({'a': 1}, 'literal'), id='whole text'),
    pytest.param('```json\n{"a": 1}\n```', '', '', Parsed({'a': 1}, 'literal'), id='fence'),
    pytest.param('{0}\n```json\n{"a": 1}\n```', '{', '}', Parsed({'a': 1}, 'literal'), id='text before the fence'),
    pytest.param('```json{"a": null}', '{', '}', Parsed({'a': None}, 'json'), id='unclosed fence'),
    pytest.param('```json\n```', '', '', Parsed(None, 'none', 'parse:not_json'), id='empty fence'),
    pytest.param('[1]' + ' ' * MAX_CHARS, '[', ']', Parsed(None, 'none', 'answer:too_long'), id='too long'),
])  # fmt: skip
def test_enclosed(text: str, start: str, end: str, expected: Parsed) -> None:
    assert parse_enclosed(text, start, end) == expected


def test_no_text_is_returned_as_it_is() -> None:
    for value in (None, 3, {'a': 1}):
        parsed = parse_enclosed(value, '[', ']')
        assert parsed == Parsed(value, 'value') and parsed.value is value and parsed.ok


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_reads_what_python_writes(value: Any) -> None:
    assert parse_literal(repr(value)) == Parsed(value, 'literal')


def test_tries_end_with_their_budget() -> None:
    tries = [('first', lambda: literal('['), 6), ('second', lambda: literal('1'), 6)]
    assert read_first_possible(tries, budget=12) == Parsed(1, 'second')
    assert read_first_possible(tries, budget=11) == Parsed(None, 'none', TOO_COSTLY)


@pytest.mark.parametrize(('text', 'value'), [
    ('｛"a"：［1，2］｝', {'a': [1, 2]}),
    ('{“a”：“b：c，d”}', {'a': 'b：c，d'}),
    ("｛'a'：'b：c'｝", {'a': 'b：c'}),
    ('{“a”: “he said "b"”}', {'a': 'he said "b"'}),
    ('{“a”: “he said \\"b\\"”}', {'a': 'he said "b"'}),
    ('{"“"：1}', {'“': 1}),
])  # fmt: skip
def test_full_width_punctuation_is_read(text: str, value: object) -> None:
    parsed = read_either(text, parse_literal)
    assert (parsed.value, parsed.parse_method) == (value, 'fullwidth')


@given(st.recursive(st.none() | st.integers(-9, 9) | st.text(alphabet='：，“”｛［a"\\', max_size=6), st.lists))
def test_json_is_never_altered(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert ascii_punctuation(text) == text
    assert read_either(text, parse_literal).parse_method != 'fullwidth'


def test_what_cannot_be_read_keeps_its_reason_and_marks_of_windows_are_removed() -> None:
    assert read_either('［1，', parse_literal).reason == 'parse:not_json'
    assert tidy('\ufeff a\r\nb \r\n') == 'a\nb'
    assert tidy('a\ufeffb') == 'a\ufeffb'
