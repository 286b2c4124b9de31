"""Arguments that are the same, and arguments that are not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencompass_tooleval.environments.arguments import (
    MAX_VALUES,
    arguments_key,
    canonical_arguments,
)

SAME: list[tuple[Any, Any]] = [
    ({'a': 1, 'b': 2}, {'b': 2, 'a': 1}),
    ({'a': 1}, {'a': 1.0}),
    ({'a': [{'x': 1, 'y': [2.0]}]}, {'a': [{'y': [2], 'x': 1}]}),
    ({'a': '  New   York\n'}, {'a': 'New York'}),
    ({' a ': 1}, {'a': 1}),
    ({'a': 'x'}, '{"a": "x"}'),
    ({'a': 'x'}, json.dumps('{"a": "x"}')),
    ({'a': 1, ' a': 2}, {' a': 2, 'a': 1}),
    ({}, ''),
    ({}, None),
    ({}, 'null'),
    ('import qrcode', ' import  qrcode'),
    ((1, 2), [1, 2]),
]
OTHER: list[tuple[Any, Any]] = [
    ({'a': 1}, {'a': '1'}),
    ({'a': 1}, {'a': True}),
    ({'a': None}, {}),
    ({'a': ''}, {}),
    ({'a': 'x y'}, {'a': 'xy'}),
    ({'a': [1, 2]}, {'a': [2, 1]}),
    ({}, []),
    ({'a': 1}, {'object': [['a', 1]]}),
    ({'a': float('inf')}, {'a': {'float': 'inf'}}),
    ({'1': 'x'}, {1: 'x'}),
    ({'a': '{"b": 1}'}, {'a': {'b': 1}}),
    ('{"a": ', {}),
    ({'a': '\udc80'}, {'a': '\udc81'}),
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


TOO_MUCH = {
    'long': {'a': 'x' * 1_000_000},
    'long text': 'x' * 1_000_000,
    'deep': json.loads('{"a": ' * 101 + '1' + '}' * 101),
    'wide': {'a': [0] * (MAX_VALUES + 1)},
    'huge': {'a': 1 << 20_000},
}


@pytest.mark.parametrize('kind', TOO_MUCH)
def test_too_much_is_not_compared(kind: str) -> None:
    assert canonical_arguments(TOO_MUCH[kind]) is arguments_key(TOO_MUCH[kind]) is None
