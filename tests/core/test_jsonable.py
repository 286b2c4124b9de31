"""Values as strict JSON, and objects read member by member, against :mod:`json`, however the text is cut."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.core.text import json_members
from opencompass_tooleval.core.text.json_members import MAX_LEVELS, TooMuchError, decode_deep, members
from opencompass_tooleval.core.text.jsonable import _MAX_DEPTH, clean_text, printable, to_jsonable

TEXTS = st.text(st.characters(codec=None))  # with lone surrogates
HASHABLE = (
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary() | st.tuples(TEXTS, st.just(...))
)
ODD = st.recursive(
    HASHABLE | st.sets(HASHABLE, max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(HASHABLE, inner, max_size=4) | st.tuples(inner, inner),
    max_leaves=15,
)


@given(ODD)
def test_strict_json_in_utf8(value: Any) -> None:
    plain = to_jsonable(value)
    text = json.dumps(plain, allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode('utf-8')) == plain


PLAIN: list[tuple[Any, Any]] = [
    (True, True),
    (math.nan, 'nan'),
    (-math.inf, '-inf'),
    ('é\U0001f600', 'é\U0001f600'),
    ('a\udc80', 'a\\udc80'),
    ((1, [2, (3,)]), [1, [2, [3]]]),
    ({1: 'a', None: 'b', (1, 2): 'c', '\ud800': 1}, {'1': 'a', 'None': 'b', '(1, 2)': 'c', '\\ud800': 1}),
    ({7}, '{7}'),
    (b'x', "b'x'"),
    (..., 'Ellipsis'),
]


@pytest.mark.parametrize(('value', 'expected'), PLAIN)
def test_exact(value: Any, expected: Any) -> None:
    plain = to_jsonable(value)
    assert plain == expected and type(plain) is type(expected)


def test_what_is_too_deep_or_too_large_is_cut() -> None:
    value: Any = 'end'
    for _ in range(5000):
        value = [value]
    plain = to_jsonable(value)
    for _ in range(_MAX_DEPTH):
        assert len(plain) == 1
        plain = plain[0]
    assert plain == '...'
    # ``ast.literal_eval`` returns it for ``0x1000...``.
    assert json.dumps(to_jsonable([1 << 20_000, {1 << 20_000: 1}]), allow_nan=False)


@given(TEXTS)
def test_clean_text(text: str) -> None:
    clean = clean_text(text)
    assert clean.encode('utf-8').decode('utf-8') == clean
    if not any('\ud800' <= char <= '\udfff' for char in text):
        assert clean == text
    assert printable('a\x1b[31m\x00\x9b\r\tb\n\u6c49') == 'a\\x1b[31m\\x00\\x9b\\x0d\tb\n\u6c49'


SCALARS = (1, -2.5, 1e300, 10**30, None, True, False, 'a"\\\n\t', '', 'é我', '\ud83d', float('inf'))


def some_value(rng: Random, depth: int) -> Any:
    kind = rng.random()
    if not depth or kind < 0.4:
        return rng.choice(SCALARS)
    if kind < 0.7:
        return [some_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {f'{rng.choice("abc")}{place}': some_value(rng, depth - 1) for place in range(rng.randrange(4))}


def read(text: str) -> Any:
    return dict(members(io.StringIO(text).read))


def read_deep(text: str) -> Any:
    value, end = decode_deep(text)
    if text[end:].strip(' \t\n\r'):
        raise ValueError('more follows')
    return value


def outcome(read: Callable[[str], Any], text: str, kind: type = object) -> Any:
    try:
        value = read(text)
    except ValueError:
        return 'refused'
    return value if isinstance(value, kind) else 'refused'


@pytest.mark.parametrize('piece', [1, 2, 7, 100_000])
def test_as_json_reads_it_whole_or_damaged(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(json_members, '_PIECE', piece)
    for seed in range(50):
        rng = Random(seed)
        row = {str(place): some_value(rng, 4) for place in range(rng.randrange(5))}
        text = json.dumps(row, indent=rng.choice((None, 2)), ensure_ascii=rng.random() < 0.5)
        place = rng.randrange(len(text))
        damaged = text[:place] + rng.choice(('', '"', '{', '}', '[', ']', ',', ':', 'x', '1', '.', ' '))
        for each in (text, damaged + text[place + 1 :], text[:place], text + '1', f' {text}\n'):
            assert outcome(read, each) == outcome(json.loads, each, dict), each
            assert outcome(read_deep, each) == outcome(json.loads, each), each


def test_members_come_one_by_one() -> None:
    pieces = iter(['{"a": [1, 2], ', '"a": {}}', ''])
    rows = members(lambda most: next(pieces))
    assert next(rows) == ('a', [1, 2])
    assert next(pieces) == '"a": {}}'
    assert list(members(io.StringIO('{"a": 1, "a": 2}').read)) == [('a', 1), ('a', 2)]


FAULTS = [
    ('[1]', "'{' is missing: character 1"),
    ('{"a" 1}', "':' is missing: character 6"),
    ('{1: 1}', 'a name in double quotes is missing: character 1'),
    ('{"a": 1 "b"', 'a comma or a closing brace is missing: character 9'),
    ('{"a": 1}{', 'there is more after the object: character 8'),
    ('{"a": [1, ', 'Expecting value: character 10'),
]


@pytest.mark.parametrize(('text', 'message'), FAULTS)
def test_what_is_wrong_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(members(io.StringIO(text).read))


def test_depth_is_bounded_and_the_member_named() -> None:
    def nested(levels: int) -> str:
        return '{"a": 1, "deep": ' + '[' * levels + ']' * levels + '}'

    value = dict(members(io.StringIO(nested(MAX_LEVELS)).read))['deep']
    for _ in range(MAX_LEVELS - 1):
        (value,) = value
    assert value == []
    # json itself reads deeper on some versions of Python.
    for levels in (sys.getrecursionlimit() * 100, 1_000_000):
        with pytest.raises(TooMuchError, match=f'nested deeper than {MAX_LEVELS} levels') as caught:
            list(members(io.StringIO(nested(levels)).read))
        assert caught.value.name == 'deep'


def test_length_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_members, 'MAX_MEMBER', 100_000)
    read_so_far = 0

    def endless(most: int) -> str:
        nonlocal read_so_far
        read_so_far += most
        return '{"a": "' + 'x' * most if read_so_far == most else 'x' * most

    with pytest.raises(TooMuchError, match='more than 100000 characters'):
        list(members(endless))
    assert read_so_far < 1_000_000
