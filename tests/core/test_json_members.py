"""Objects read member by member, against :mod:`json`, however the text is cut."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from opencompass_tooleval.core.text import json_members
from opencompass_tooleval.core.text.json_members import MAX_LEVELS, TooMuchError, decode_deep, members

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
    """The second is not at hand yet when the first is; a name that occurs twice comes twice."""
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


@pytest.mark.parametrize(('text', 'said'), FAULTS)
def test_what_is_wrong_is_said_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
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
