"""Scores of samples: what is in a result, combined over tables, and which samples compare."""

from __future__ import annotations

import math
from typing import Any

import pytest

from opencompass_tooleval.catalogue.comparable import why_not_comparable
from opencompass_tooleval.catalogue.tables import without_samples
from opencompass_tooleval.core.statistics.intervals import ALPHA, score_interval
from opencompass_tooleval.core.statistics.paired import values_of
from opencompass_tooleval.results.sampled import estimates_of, intervals_of_sample

METRIC = 'review_quality'


def result(
    right: int, asked: int, of: int, greedy: bool = True, prefix: str = 'r', **provenance: Any
) -> dict[str, Any]:
    """A result of a sample in which the first answers are right."""
    rights = [float(number < right) for number in range(asked)]
    made: dict[str, Any] = {
        METRIC: 100 * right / asked,
        'samples': {'all': asked, 'infra': 0, **({'of': of} if of > asked else {})},
        'provenance': {'sample_seed': 0, 'sample_draw': 'queries', **provenance},
        'usage': {'prompt': {'total': 9}, 'completion': {'total': 9}, 'cost': {'total': 3.0}},
        'details': [{'id': f'{prefix}{i}', 'values': {METRIC: value}, 'gold': i} for i, value in enumerate(rights)],
    }
    return {**made, 'intervals': intervals_of_sample(made, greedy)}


def test_the_share_that_was_asked_counts_only_where_answers_do_not_vary() -> None:
    sampled = result(80, 100, 200)
    values = values_of(sampled, METRIC)
    assert values and sampled['intervals'] == {METRIC: list(score_interval(values, 0.5))}
    varying = result(80, 100, 200, greedy=False)
    assert varying['intervals'] == {METRIC: list(score_interval(values, 0.0))}
    look = result(80, 100, 200, sample_look=2)
    assert look['intervals'] == {METRIC: list(score_interval(values, 0.5, ALPHA / 6))}
    assert result(80, 100, 100)['intervals'] == {METRIC: [80.0, 80.0]}
    assert result(80, 100, 100, greedy=False)['intervals'][METRIC][0] < 75, 'other answers could have come'
    assert intervals_of_sample({**sampled, 'provenance': {}}, True) == {}, 'the first records are no sample'
    once = result(80, 100, 200)
    thrice = {**once, 'runs': [{}] * 3, 'samples': {'all': 300, 'of': 200}, 'details': once['details'] * 3}
    assert intervals_of_sample(thrice, True)[METRIC] == pytest.approx(once['intervals'][METRIC])


def test_a_table_combines_the_intervals_of_its_data_sets() -> None:
    columns = {('t', 'overall'): {('a', METRIC): 0.5, ('b', METRIC): 0.5}}
    results = {'a': result(80, 100, 200), 'b': result(30, 100, 400, prefix='s'), 'c': result(9, 10, 20, prefix='q')}
    bare = without_samples(results.items(), [*columns.values()])
    table, alone = estimates_of(bare, columns)
    ends = [results[name]['intervals'][METRIC] for name in 'ab']
    below = math.hypot(80 - ends[0][0], 30 - ends[1][0]) / 2
    above = math.hypot(80 - ends[0][1], 30 - ends[1][1]) / 2
    assert (table.low, table.high) == (pytest.approx(55 - below), pytest.approx(55 + above))
    assert table.counts == {'a': (100, 200), 'b': (100, 400)} and table.cost_of_rest == pytest.approx(3 + 9)
    assert (alone.name, alone.metric, alone.counts) == ('c', METRIC, {'c': (10, 20)})
    assert str(alone).endswith('10 of 20 records; the rest costs about 3.00')
    same = {'a': results['a'], 'b': result(80, 100, 200)}  # the same queries: no smaller together than alone
    for detail in (*same['a']['details'], *same['b']['details']):
        detail['query'] = f'q{detail["id"]}'
    (together,) = estimates_of(without_samples(same.items(), [*columns.values()]), columns)
    assert together.half == pytest.approx((ends[0][1] - ends[0][0]) / 2)


@pytest.mark.parametrize('intervals', [None, {}, {METRIC: 'ab'}, {METRIC: [1]}, {METRIC: [float('nan'), 9]}])
def test_an_unreadable_interval_is_none(intervals: Any) -> None:
    (read,) = estimates_of({'d': {**result(8, 10, 20), 'intervals': intervals}}, {})
    assert read.low is None and read.half == math.inf and not read.is_within(50) and '[' not in str(read)


def test_samples_of_one_seed_compare() -> None:
    first = result(8, 10, 40)
    for second in (result(8, 20, 40), {**result(8, 40, 40), 'provenance': {}}, result(8, 10, 40, sample_look=3)):
        assert list(why_not_comparable(first, second)) == []
    for second in (result(8, 10, 40, sample_seed=1), result(8, 10, 40, sample_draw='queries, spread')):
        assert list(why_not_comparable(first, second)) != []
