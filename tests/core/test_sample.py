"""Samples: nested, whole queries, fair; and their scores in results and tables."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalDataset
from opencompass_tooleval.catalogue.comparable import why_not_comparable
from opencompass_tooleval.catalogue.tables import without_samples
from opencompass_tooleval.core.statistics.intervals import ALPHA, score_interval
from opencompass_tooleval.core.statistics.paired import values_of
from opencompass_tooleval.core.statistics.sample import LOOKS, Sample, unseen
from opencompass_tooleval.results.sampled import Estimate, estimates_of, intervals_of_sample

QUERIES = [f'q{number // 3}' for number in range(300)]
"""Three records of each of a hundred queries."""


def test_samples_nest_and_hold_whole_queries_wherever_a_record_stands() -> None:
    smaller: set[int] = set()
    for n in (1, 3, 10, 100, 299, 300, 1000):
        drawn = Sample(n).draw(QUERIES)
        assert drawn == sorted(drawn) and smaller <= set(drawn) and min(n, 300) <= len(drawn) < min(n, 300) + 3
        assert set(Counter(QUERIES[place] for place in drawn).values()) == {3}
        smaller = set(drawn)
    queries = {QUERIES[place] for place in Sample(60).draw(QUERIES)}
    assert queries == {QUERIES[::-1][place] for place in Sample(60).draw(QUERIES[::-1])}
    assert queries != {QUERIES[place] for place in Sample(60, seed=1).draw(QUERIES)}
    again = Sample(20).draw(QUERIES[::3])  # a variant with a record of each query, and the first of the same queries
    assert {QUERIES[::3][place] for place in again} == queries


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


def test_large_queries_that_were_not_drawn_move_the_ends() -> None:
    queries = ['a'] * 20 + ['b'] * 12 + ['c'] * 9 + [f'q{i}' for i in range(60)]
    assert unseen(queries, range(41, 60)) == 41, 'three are larger than all drawn ones'
    assert unseen(queries, [*range(20, 32), *range(41, 60)]) == 20
    assert unseen(queries, [*range(20), *range(41, 60)]) == 12, 'larger than an average one'
    assert unseen(queries, range(len(queries))) == unseen(queries[41:], range(9)) == 0
    whole, part = result(80, 100, 200), result(80, 100, 200, sample_unseen=10)
    low, high = whole['intervals'][METRIC]
    assert part['intervals'][METRIC] == pytest.approx([0.95 * low, 0.95 * high + 5])
    damaged = result(80, 100, 200, sample_unseen='10')
    assert damaged['intervals'] == whole['intervals']
    estimate = Estimate('d', METRIC, 50.0, 0.0, 100.0, {'d': (9, 90)}, None)
    assert 'no interval: one query has too many of the records; take a larger sample' in str(estimate)


def test_the_loader_stores_how_many_records_a_sample_does_not_show() -> None:
    """T-Eval's steps: a query has up to seven of the demo's records."""
    columns = {'input_columns': ['messages'], 'output_column': 'record'}
    data = ToolEvalTEvalDataset(
        path='tooleval:demo/teval/EN',
        name='reason_str_v2',
        reader_cfg=columns,
        abbr='a',
        sample={'n': 3},
        encoder='offline',
    )
    rows = list(ToolEvalTEvalDataset.load('tooleval:demo/teval/EN', 'reason_str_v2', encoder='offline'))
    drawn = [row['record_id'] for row in data.reader.dataset['test']]
    sizes = Counter(row['query'] for row in rows)
    seen = {row['query'] for row in rows if row['record_id'] in drawn}
    largest = max(sizes[query] for query in seen)
    in_large = sum(size for query, size in sizes.items() if query not in seen and size > largest)
    shown = json.loads(data.reader.dataset['test'][0]['shown'])
    assert shown.get('sample_unseen', 0) >= in_large
    assert 0 < shown['sample_unseen'] < len(rows)


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
