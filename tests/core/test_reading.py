"""core/reading: parse methods and their texts, bounds, and no exceptions."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.core.text.bounds import MAX_BITS, MAX_CHARS, MAX_DEPTH
from opencompass_tooleval.core.text.reading import (
    TOO_COSTLY,
    Parsed,
    literal,
    parse_enclosed,
    parse_literal,
    read_first_possible,
)

PARSE_METHODS = {'literal', 'json', 'quotes', 'none'}


def nested(depth: int) -> str:
    """A number inside ``depth`` lists."""
    return '[' * depth + '1' + ']' * depth


@pytest.mark.parametrize(('text', 'value', 'parse_method'), [
    pytest.param('{"a": 1}', {'a': 1}, 'literal', id='json that is a literal too'),
    pytest.param("{'a': None, 'b': True}", {'a': None, 'b': True}, 'literal', id='python dict'),
    pytest.param(' [1]', [1], 'literal', id='leading blank'),
    pytest.param('{1: (2, 3)}', {1: (2, 3)}, 'literal', id='number as key, tuple'),
    pytest.param("b'x'", b'x', 'literal', id='bytes'),
    pytest.param('1_000', 1000, 'literal', id='underscore'),
    pytest.param("'\\d'", '\\d', 'literal', id='invalid escape'),
    pytest.param('{"a": true, "b": null}', {'a': True, 'b': None}, 'json', id='true and null'),
    pytest.param('null', None, 'json', id='null is a value'),
    pytest.param('\n  {"a": false}', {'a': False}, 'json', id='indented first line'),
    pytest.param('"\\ud800"', '\ud800', 'literal', id='escaped lone surrogate'),
    pytest.param('"\ud800"', '\ud800', 'json', id='lone surrogate'),
    pytest.param('[Infinity]', [math.inf], 'json', id='infinity'),
    pytest.param("{'a': true}", {'a': True}, 'quotes', id='single quotes and true'),
    pytest.param("['x', null]", ['x', None], 'quotes', id='single quotes and null'),
])  # fmt: skip
def test_parse_methods(text: str, value: Any, parse_method: str) -> None:
    parsed = parse_literal(text)
    assert parsed == Parsed(value, parse_method)
    assert type(parsed.value) is type(value)
    assert parsed.ok and math.isnan(parse_literal('NaN').value)


@pytest.mark.parametrize(('text', 'reason'), [
    pytest.param('', 'parse:not_json', id='empty'),
    pytest.param('plain words', 'parse:not_json', id='words'),
    pytest.param('__import__("os").getcwd()', 'parse:not_json', id='code is not run'),
    pytest.param('{"a": 1', 'parse:not_json', id='cut short'),
    pytest.param('{"a": "it\'s", b}', 'parse:not_json', id='apostrophe and bare key'),
    pytest.param('{[]: 1}', 'parse:not_json', id='list as key'),
    pytest.param('\ud800', 'parse:not_json', id='lone surrogate'),
    pytest.param('\x00', 'parse:not_json', id='null byte'),
    pytest.param('9' * 5000, 'parse:not_json', id='more decimal digits than Python reads'),
    pytest.param('[' * 50_000, 'parse:not_json', id='deeper than the readers'),
    pytest.param('-' * 50_000 + '1', 'parse:not_json', id='deeper than the compiler'),
    pytest.param('1' + ' ' * MAX_CHARS, 'answer:too_long', id='too long'),
    pytest.param(nested(MAX_DEPTH + 1), 'parse:too_deep', id='too deep for us'),
    pytest.param(nested(400), 'parse:too_deep', id='too deep for literals but not for json'),
    pytest.param('0x1' + '0' * (MAX_BITS // 4), 'parse:huge_number', id='huge number'),
    pytest.param('{"a": [-0x1' + '0' * (MAX_BITS // 4) + ']}', 'parse:huge_number', id='huge negative, nested'),
    pytest.param('{0x1' + '0' * (MAX_BITS // 4) + ': 1}', 'parse:huge_number', id='huge number as key'),
    pytest.param('{(0x1' + '0' * (MAX_BITS // 4) + ',): 1}', 'parse:huge_number', id='huge number in a key'),
    pytest.param('{0x1' + '0' * (MAX_BITS // 4) + '}', 'parse:huge_number', id='huge number in a set'),
])  # fmt: skip
def test_unreadable(text: str, reason: str) -> None:
    parsed = parse_literal(text)
    assert parsed == Parsed(None, 'none', reason)
    assert not parsed.ok


@pytest.mark.parametrize('text', [
    pytest.param('1' + ' ' * (MAX_CHARS - 1), id='length'),
    pytest.param(nested(MAX_DEPTH), id='depth'),
    pytest.param('0x' + 'f' * (MAX_BITS // 4), id='bits'),
])  # fmt: skip
def test_bounds_are_inclusive(text: str) -> None:
    assert parse_literal(text).parse_method == 'literal'


@pytest.mark.parametrize(('text', 'start', 'end', 'expected'), [
    pytest.param('so: [1, 2] done', '[', ']', Parsed([1, 2], 'literal'), id='text around'),
    pytest.param('[1] and [2]', '[', ']', Parsed(None, 'none', 'parse:not_json'), id='first start to last end'),
    pytest.param('[[1], [2]]', '[', ']', Parsed([[1], [2]], 'literal'), id='nested'),
    pytest.param('no list', '[', ']', Parsed(None, 'none', 'parse:no_brackets'), id='no brackets'),
    pytest.param('[1, 2', '[', ']', Parsed(None, 'none', 'parse:not_json'), id='no end'),
    pytest.param('1, 2]', '[', ']', Parsed(None, 'none', 'parse:no_brackets'), id='no start'),
    pytest.param('] [', '[', ']', Parsed(None, 'none', 'parse:not_json'), id='end before start'),
    pytest.param('', '{', '}', Parsed(None, 'none', 'parse:no_brackets'), id='empty'),
    pytest.param('', '', '', Parsed(None, 'none', 'parse:no_brackets'), id='empty without brackets'),
    pytest.param('{"a": 1}', '', '', Parsed({'a': 1}, 'literal'), id='whole text'),
    pytest.param('```json\n{"a": 1}\n```', '', '', Parsed({'a': 1}, 'literal'), id='fence'),
    pytest.param('{0}\n```json\n{"a": 1}\n```', '{', '}', Parsed({'a': 1}, 'literal'), id='text before the fence'),
    pytest.param('```json{"a": null}', '{', '}', Parsed({'a': None}, 'json'), id='unclosed fence'),
    pytest.param('```json\n```', '', '', Parsed(None, 'none', 'parse:not_json'), id='empty fence'),
    pytest.param('```json\n```', '[', ']', Parsed(None, 'none', 'parse:no_brackets'), id='no brackets in fence'),
    pytest.param('```\n[3]\n```', '[', ']', Parsed([3], 'literal'), id='fence without a language'),
    pytest.param('[1]' + ' ' * MAX_CHARS, '[', ']', Parsed(None, 'none', 'answer:too_long'), id='too long'),
])  # fmt: skip
def test_enclosed(text: str, start: str, end: str, expected: Parsed) -> None:
    assert parse_enclosed(text, start, end) == expected


@pytest.mark.parametrize('value', [None, 3, [1], {'a': 1}, {}], ids=repr)
def test_no_text_is_returned_as_it_is(value: Any) -> None:
    parsed = parse_enclosed(value, '[', ']')
    assert parsed == Parsed(value, 'value')
    assert parsed.value is value
    assert parsed.ok


LITERALISH = st.lists(
    st.sampled_from(['{', '}', '[', ']', '(', "'", '"', ':', ',', '0x', '1', 'b', '\\', '```json', 'é'])
)


@given(st.one_of(st.text(), LITERALISH.map(''.join), st.characters(categories=['Cs']).map(lambda char: f'"{char}"')))
def test_never_raises(text: str) -> None:
    for parsed in (parse_literal(text), parse_enclosed(text, '{', '}'), parse_enclosed(text, '[', ']')):
        assert parsed.parse_method in PARSE_METHODS
        assert parsed.ok == (parsed.reason == '')
        assert parsed.ok or (parsed.value is None and parsed.reason.startswith('parse:'))


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
