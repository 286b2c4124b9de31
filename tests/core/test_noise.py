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


@pytest.mark.parametrize('value', [
    pytest.param([{'id': 0, 'name': 'a', 'args': {'x': 1}}, {'id': 1, 'name': 'b', 'args': {}}], id='plan'),
    pytest.param({'thought': 'look it up', 'name': 'find', 'args': {'x': [1, 2]}}, id='call'),
])  # fmt: skip
def test_seeds_give_many_faults(value: Any) -> None:
    answer = json.dumps(value)
    damaged = [damage(answer, Random(seed)) for seed in range(200)]
    assert len(set(damaged)) > 10
    assert answer not in damaged, 'else `noise` is no share of damaged answers'
    readable = 0
    for text in damaged:
        try:
            readable += json.loads(text) != value
        except ValueError:
            continue
    assert readable > 100  # faults in the values, not only in the brackets


def test_scalars_and_words() -> None:
    for answer, expected in (('true', 'false'), ('41', '42'), ('0.5', '1.5')):
        assert expected in {damage(answer, Random(seed)) for seed in range(20)}
    answer = 'Answer: the third choice'
    damaged = {damage(answer, Random(seed)) for seed in range(200)}
    assert answer not in damaged and any('something else' in text for text in damaged)
    assert any(answer.startswith(text) for text in damaged)
