"""Samples: nested, whole queries, the same for all variants, and fair."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from opencompass_tooleval.core.statistics.sample import LOOKS, Sample

QUERIES = [f'q{number // 3}' for number in range(300)]
"""Three records of each of a hundred queries."""


def test_samples_nest_and_hold_whole_queries_wherever_a_record_stands() -> None:
    smaller: set[int] = set()
    for n in (1, 3, 10, 100, 299, 300, 1000):
        drawn = Sample(n).draw(QUERIES)
        assert drawn == sorted(drawn) and smaller <= set(drawn) and min(n, 300) <= len(drawn) < min(n, 300) + 3
        assert set(Counter(QUERIES[place] for place in drawn).values()) == {3}
        smaller = set(drawn)
    drawn = {QUERIES[place] for place in Sample(60).draw(QUERIES)}
    assert drawn == {QUERIES[::-1][place] for place in Sample(60).draw(QUERIES[::-1])}
    assert drawn != {QUERIES[place] for place in Sample(60, seed=1).draw(QUERIES)}
    again = Sample(20).draw(QUERIES[::3])  # a variant with a record of each query, and the first of the same queries
    assert {QUERIES[::3][place] for place in again} == drawn


def test_each_value_of_a_key_has_its_share() -> None:
    queries, keys = [f'q{i}' for i in range(400)], ['a'] * 200 + ['b'] * 100 + ['c'] * 85 + ['d'] * 10 + ['e'] * 5
    for n in (20, 40, 133):
        counts = Counter(keys[place] for place in Sample(n, seed=5).draw(queries, keys))
        small = counts.pop('d', 0) + counts.pop('e', 0)
        for count, of in ((counts['a'], 200), (counts['b'], 100), (counts['c'] + small, 100)):
            assert abs(count - n * of / 400) <= 1
    other = [{'a': '甲', 'b': '乙', 'c': '丙'}.get(key, '丁') for key in keys]
    assert Sample(40).draw(queries, keys) == Sample(40).draw(queries, other), 'names in another language'


@pytest.mark.parametrize('has_keys', [False, True])
def test_each_query_is_drawn_equally_often(has_keys: bool) -> None:
    queries = [f'q{i}' for i in range(120)]
    keys = ['a'] * 70 + ['b'] * 21 + ['c'] * 29 if has_keys else []
    counts = np.zeros(120)
    for seed in range(1000):
        counts[Sample(12, seed=seed).draw(queries, keys)] += 1
    assert abs(counts - 100).max() < 5 * np.sqrt(90)  # five standard errors
    for part in (slice(0, 70), slice(70, 91), slice(91, 120)):
        assert abs(counts[part].mean() - 100) < 5


def test_looks_grow_up_to_all_records() -> None:
    sizes = [Sample(100, look=look).size(1000) for look in range(1, LOOKS + 1)]
    assert sizes == [100, 214, 400, 620, 800, 1000]
    assert [Sample(900, look=look).size(1000) for look in (1, 2, 6)] == [900, 1000, 1000]
    assert {Sample(100, look=look).size(60) for look in range(1, LOOKS + 1)} == {60}
    first = Sample(100, look=1)
    assert first.next_look(6.0, 5.9, 1000) == 2 and first.next_look(6.0, 0.1, 1000) == LOOKS
    look = first.next_look(6.0, 3.0, 1000)
    sizes = [Sample(100, look=number).size(1000) for number in (look - 1, look)]
    before, after = (6.0 * ((1 / size - 1 / 1000) / (1 / 100 - 1 / 1000)) ** 0.5 for size in sizes)
    assert after <= 3.0 < before
    assert Sample(100, look=3).next_look(50.0, 49.0, 80) == LOOKS, 'all records are asked'


def test_other_settings_are_refused() -> None:
    wrong: list[Any] = [{}, {'n': 0}, {'n': True}, {'n': 5, 'sed': 1}, {'n': 5, 'look': 7}, {'n': 5, 'seed': 'a'}]
    for settings in (5, *wrong):
        with pytest.raises(ValueError, match=r'give dict\(n=100\)'):
            Sample.of(settings)
