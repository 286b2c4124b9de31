"""Arguments that are the same, and arguments that are not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencompass_tooleval.environments.arguments import (
    MAX_VALUES,
    arguments_key,
    canonical_arguments,
    read_arguments,
)

SAME: list[tuple[Any, Any]] = [
    ({'a': 1, 'b': 2}, {'b': 2, 'a': 1}),
    ({'a': 1}, {'a': 1.0}),
    ({'a': -0.0}, {'a': 0}),
    ({'a': 1e22}, {'a': 10**22}),
    ({'a': [{'x': 1, 'y': [2.0]}]}, {'a': [{'y': [2], 'x': 1}]}),
    ({'a': '  New   York\n'}, {'a': 'New York'}),
    ({' a ': 1}, {'a': 1}),
    ({'a': 'x'}, '{"a": "x"}'),
    ({'a': 'x'}, ' {"a":\n"x"} '),
    ({'a': 'x'}, json.dumps('{"a": "x"}')),
    ({'a': 1, ' a': 2}, {' a': 2, 'a': 1}),
    ({}, ''),
    ({}, None),
    ({}, ' \n'),
    ({}, 'null'),
    ((1, 2), [1, 2]),
]
OTHER: list[tuple[Any, Any]] = [
    ({'a': 1}, {'a': '1'}),
    ({'a': 1}, {'a': True}),
    ({'a': 0}, {'a': False}),
    ({'a': 0}, {'a': None}),
    ({'a': None}, {}),
    ({'a': ''}, {}),
    ({'a': 1}, {'a': 1.5}),
    ({'a': 'x'}, {'a': 'X'}),
    ({'a': 'x y'}, {'a': 'xy'}),
    ({'a': [1, 2]}, {'a': [2, 1]}),
    ({}, []),
    ({'a': 1}, [['a', 1]]),
    ({'a': 1}, {'object': [['a', 1]]}),
    ({'a': float('nan')}, {'a': 'nan'}),
    ({'a': float('inf')}, {'a': {'float': 'inf'}}),
    ({'1': 'x'}, {1: 'x'}),
    ({'a': '{"b": 1}'}, {'a': {'b': 1}}),
    ('{"a": ', {}),
]


@pytest.mark.parametrize(('one', 'other'), SAME, ids=repr)
def test_the_same(one: Any, other: Any) -> None:
    assert canonical_arguments(one) == canonical_arguments(other) is not None
    assert arguments_key(one) == arguments_key(other)


@pytest.mark.parametrize(('one', 'other'), OTHER, ids=repr)
def test_not_the_same(one: Any, other: Any) -> None:
    assert canonical_arguments(one) is not None and canonical_arguments(other) is not None
    assert canonical_arguments(one) != canonical_arguments(other)
    assert arguments_key(one) != arguments_key(other)


def test_text_that_is_no_json_stays_text() -> None:
    assert read_arguments('import qrcode') == 'import qrcode'
    assert arguments_key(' import  qrcode') == arguments_key('import qrcode') != arguments_key({})


def _deep(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {'a': value}
    return value


@pytest.mark.parametrize(
    'arguments',
    [
        {'a': 'x' * 1_000_000},
        'x' * 1_000_000,
        _deep(101),
        {'a': [0] * (MAX_VALUES + 1)},
        {'a': 1 << 20_000},
    ],
    ids=['long', 'long text', 'deep', 'wide', 'huge'],
)
def test_too_much_is_not_compared(arguments: Any) -> None:
    assert canonical_arguments(arguments) is None
    assert arguments_key(arguments) is None


def test_what_is_no_utf8_has_a_key() -> None:
    assert arguments_key({'a': '\udc80'}) != arguments_key({'a': '\udc81'})
