"""core/damage: the same seed causes the same damage, for any answer."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.core.scoring.noise import damage

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.text() | JSON.map(json.dumps), st.integers(0, 1000))
def test_same_seed_same_fault(answer: str, seed: int) -> None:
    damaged = damage(answer, Random(seed))
    assert isinstance(damaged, str)
    assert damaged == damage(answer, Random(seed))


@pytest.mark.parametrize('seed', range(40))
@pytest.mark.parametrize('answer', ['', ' ', '[]', '{}', 'null', '""', '[[]]', '0'], ids=repr)
def test_little_answers(answer: str, seed: int) -> None:
    assert isinstance(damage(answer, Random(seed)), str)


@pytest.mark.parametrize(
    'value',
    [
        pytest.param([{'id': 0, 'name': 'a', 'args': {'x': 1}}, {'id': 1, 'name': 'b', 'args': {}}], id='plan'),
        pytest.param({'thought': 'look it up', 'name': 'find', 'args': {'x': [1, 2]}}, id='call'),
    ],
)
def test_seeds_give_many_faults(value: Any) -> None:
    answer = json.dumps(value)
    damaged = [damage(answer, Random(seed)) for seed in range(200)]
    assert len(set(damaged)) > 10
    assert sum(text != answer for text in damaged) > 150
    readable = 0
    for text in damaged:
        try:
            readable += json.loads(text) != value
        except ValueError:
            continue
    assert readable > 100  # faults in the values, not only in the brackets


@pytest.mark.parametrize(
    ('answer', 'expected'),
    [
        pytest.param('true', 'false', id='bool'),
        pytest.param('41', '42', id='int'),
        pytest.param('0.5', '1.5', id='float'),
    ],
)
def test_scalars(answer: str, expected: str) -> None:
    assert expected in {damage(answer, Random(seed)) for seed in range(20)}


def test_words_change() -> None:
    answer = 'Answer: the third choice'
    damaged = {damage(answer, Random(seed)) for seed in range(100)}
    assert any('something else' in text for text in damaged)
    assert any(answer.startswith(text) and text != answer for text in damaged)


@pytest.mark.parametrize(
    'answer',
    [
        pytest.param('[{"id": 0, "name": "a", "args": {"x": 1}}, {"id": 1, "name": "b", "args": {}}]', id='plan'),
        pytest.param('Answer: A', id='words'),
    ],
)
def test_a_damaged_answer_is_another(answer: str) -> None:
    """Else ``noise`` is no share of damaged answers."""
    unchanged = [seed for seed in range(200) if damage(answer, Random(seed)) == answer]
    assert unchanged == []
