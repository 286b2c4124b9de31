"""Intervals of differences and of shares: against SciPy and by hand, and their coverage."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from opencompass_tooleval.core.statistics.intervals import (
    ALPHA,
    Effect,
    Interval,
    Pairs,
    RecordValue,
    RecordValues,
    compare_column,
    effect_of,
    intervals_of,
    lead_of,
    records_without_difference,
    score_interval,
    shuffled_variance,
    unseen_drop,
)
from opencompass_tooleval.core.statistics.ratio import Share, share_kept

ONE = ('', 'f1')


def interval_of(a: Sequence[float], b: Sequence[float], weights: Sequence[float] | None = None) -> Interval:
    """The interval of one score, weights alike on both sides."""
    return intervals_of({ONE: of(a, b, weights)})[ONE]


def of(a: Iterable[float], b: Iterable[float], weights: Iterable[float] | None = None) -> Pairs:
    before, after = tuple(map(float, a)), tuple(map(float, b))
    shares = (1.0,) * len(before) if weights is None else tuple(weights)
    return Pairs(tuple(map(str, range(len(before)))), before, after, shares, shares)


def grouped(whole: Pairs, size: int) -> Pairs:
    return replace(whole, queries=tuple(f'q{place // size}' for place in range(len(whole.ids))))


def same_but_for_records(effect: Effect, expected: Effect) -> None:
    for name in ('delta', 'error', 'freedom', 'differing', 'queries', 'largest'):
        assert getattr(effect, name) == pytest.approx(getattr(expected, name)), name


def test_records_of_a_query_count_as_one() -> None:
    whole = pairs(120, 7)
    means = of(*(np.reshape(side, (-1, 6)).mean(1).tolist() for side in (whole.a, whole.b)))
    effect, expected = (effect_of({ONE: 1.0}, {ONE: one}) for one in (grouped(whole, 6), means))
    assert (effect.records, effect.queries, effect.freedom) == (120, 20, 19)
    same_but_for_records(effect, expected)
    without = grouped(whole, 6).without({'0', '1', '2', '3', '4', '5'})
    assert without is not None and len(without.ids) == 114 and effect_of({ONE: 1.0}, {ONE: without}).queries == 19
    assert grouped(whole, 60).without({str(i) for i in range(60)}) is None, 'one query is left'
    six = of([0.0] * 6, [100.0] * 6)
    leads = [lead_of(intervals_of({ONE: one})[ONE]) for one in (six, grouped(six, 2))]
    assert leads == ['leads', 'too few to rank'], 'six records of three queries'


def test_data_sets_that_ask_the_same_queries_are_not_independent() -> None:
    one, other = pairs(40, 8), pairs(40, 9)
    both = {('d', 'm'): grouped(one, 1), ('e', 'm'): grouped(other, 1)}
    halves = dict.fromkeys(both, 0.5)
    a, b = (tuple((np.array(first) + second) / 2) for first, second in ((one.a, other.a), (one.b, other.b)))
    effect, expected = effect_of(halves, both), effect_of({ONE: 1.0}, {ONE: of(a, b)})
    same_but_for_records(effect, expected)
    apart = effect_of(halves, {('d', 'm'): one, ('e', 'm'): other})
    assert (effect.queries, apart.queries, effect.records, apart.records) == (40, 80, 80, 80)
    part = {('d', 'm'): grouped(one, 1), ('e', 'm'): grouped(pairs(10, 9), 1)}
    assert effect_of(halves, part).freedom == 9, 'the data set with fewer queries counts'


def pairs(size: int, seed: int, gain: float = 15.0, spread: float = 20.0) -> Pairs:
    generator = np.random.default_rng(seed)
    a = generator.uniform(20, 80, size)
    b = a + generator.normal(gain, spread, size)
    return of(a.tolist(), b.tolist())


@pytest.mark.parametrize(('size', 'gain'), [(8, -30.0), (37, 30.0), (400, 30.0)])
def test_the_end_towards_0_of_a_significant_difference_is_scipys(size: int, gain: float) -> None:
    known = pairs(size, 1, gain)
    (interval,) = intervals_of({ONE: known}).values()
    by_scipy = stats.ttest_rel(known.b, known.a).confidence_interval()
    near, far = (interval.low, interval.high) if gain > 0 else (interval.high, interval.low)
    ends = (by_scipy.low, by_scipy.high) if gain > 0 else (by_scipy.high, by_scipy.low)
    assert near == pytest.approx(ends[0], abs=1e-3)
    assert abs(far - interval.delta) >= abs(ends[1] - interval.delta)
    assert interval.delta == pytest.approx(np.mean(known.b) - np.mean(known.a))


def test_the_other_end_is_that_of_wilsons_interval() -> None:
    """Of right-or-wrong answers of which some are lost, with the quantile of t in place of the normal one."""
    for lost, records in ((1, 50), (3, 200), (20, 1_000)):
        interval = interval_of([100] * records, [0] * lost + [100] * (records - lost))
        t = float(stats.t.ppf(0.975, records - 1))
        wilson = (lost + t**2 / 2 + t * math.sqrt(lost * (1 - lost / records) + t**2 / 4)) / records
        assert interval.low == pytest.approx(-100 * wilson, rel=0.01)
        assert interval.low < -100 * stats.beta.ppf(0.95, lost + 1, records - lost), 'beyond the exact one of one side'


def test_the_interval_of_equal_and_of_opposite_values() -> None:
    values = [0.0, 100.0] * 50
    interval = interval_of(values, values)
    bound = 100 * (1 - 0.05**0.01)
    assert (interval.delta, interval.low, interval.high) == (0.0, pytest.approx(-bound), pytest.approx(bound))
    assert 0.95**58 > 0.05 > 0.95**59 and records_without_difference(5) == 59 and records_without_difference(100) == 1
    assert unseen_drop(1 / 59) < 5 < unseen_drop(1 / 58)
    tiny = interval_of(values, [values[0] + 0.5, *values[1:]])
    assert tiny.low < -bound + 0.1, 'a small difference of one record says no more about the others'
    interval = interval_of([100, 0], [0, 100])
    assert (interval.delta, interval.low, interval.high) == (0.0, -100.0, 100.0)
    # The same gain on every record is a gain, however different the records are.
    a = np.linspace(0, 50, 50)
    interval = interval_of(a.tolist(), (a + 25).tolist())
    assert (interval.delta, interval.low) == pytest.approx((25, 25))
    # Or a model would be better than itself by 1e-15, and surely so.
    alike = pairs(1001, 1).a
    same = of(alike, alike, [3.0] * 1001)
    interval = compare_column({ONE: 1.0}, {ONE: same})
    assert interval.delta == 0.0 and interval.low == -interval.high


def test_signs_of_few_records_are_no_proof() -> None:
    five, six = (interval_of([100] * count, [50] * count) for count in (5, 6))
    assert five.high == 0.0 > six.high == six.delta == -50.0


def test_weights_are_a_ratio_of_sums() -> None:
    known = pairs(60, 5, -40)
    weights = np.random.default_rng(3).integers(1, 6, 60).astype(float)
    interval = interval_of(known.a, known.b, weights.tolist())
    gain = np.subtract(known.b, known.a)
    mean = np.average(gain, weights=weights)
    error = np.sqrt(60 / 59 * np.sum((weights * (gain - mean)) ** 2)) / weights.sum()
    assert interval.delta == pytest.approx(mean)
    assert interval.high == pytest.approx(mean + stats.t.ppf(0.975, 59) * error)


def test_faults() -> None:
    for a, b, weights in (([], [], None), ([1], [1], [0]), ([1], [1, 0], None), ([1], [1], [1, 1])):
        with pytest.raises(ValueError):
            interval_of(a, b, weights)


def test_the_variance_of_shuffled_trials_against_all_ways_to_shuffle_them() -> None:
    generator = np.random.default_rng(0)
    for first, second in (([1.0], [1, 1, 0, 1]), ([0.2, 0.7, 0.4], [0.9]), ([1.0, 0.0], [1.0, 0.0])):
        values = np.array([*first, *second])
        drawn = generator.permuted(np.tile(values, (40_000, 1)), axis=1)
        deltas = drawn[:, len(first) :].mean(1) - drawn[:, : len(first)].mean(1)
        assert shuffled_variance(first, second) == pytest.approx(deltas.var(), rel=0.03)
    assert shuffled_variance([1.0], []) == 0.0


def test_small_differences_of_records_with_more_trials_are_no_small_error() -> None:
    """One trial without any failure, and one failure in the 16 trials of every fourth record."""
    a, b = [100.0] * 40, [93.75 if i % 4 == 0 else 100.0 for i in range(40)]
    naive = of(a, b)
    shuffled = shuffled_variance([100.0], [100.0] * 15 + [0.0])
    known = Pairs(naive.ids, naive.a, naive.b, (1.0,) * 40, (16.0,) * 40, shuffled=(shuffled, 0.0, 0.0, 0.0) * 10)
    assert intervals_of({ONE: naive})[ONE].high < 0 < intervals_of({ONE: known})[ONE].high
    assert effect_of({ONE: 1.0}, {ONE: known}).error == pytest.approx(math.sqrt(10 * shuffled) / 40)
    half = known.without({str(i) for i in range(20, 40)})
    assert half is not None and half.shuffled == known.shuffled[:20]


def test_metrics_that_apply_to_some_records_only() -> None:
    """As T-Eval's instruct: half of the records have one metric, half the other."""
    whole = pairs(40, 1, 40)
    halves = {
        ('d', name): Pairs(whole.ids[part], whole.a[part], whole.b[part], whole.weights_a[part], whole.weights_a[part])
        for name, part in (('json', slice(0, 20)), ('str', slice(20, 40)))
    }
    found = compare_column(dict.fromkeys(halves, 0.5), halves)
    (left, right) = (np.subtract(half.b, half.a) for half in halves.values())
    error = np.sqrt(np.var(left, ddof=1) / 20 + np.var(right, ddof=1) / 20) / 2
    assert found.delta == pytest.approx((left.mean() + right.mean()) / 2)
    assert found.delta - found.low == pytest.approx(stats.t.ppf(0.975, 38) * error, rel=0.02)
    assert found.pairs == 40


def test_it_covers_the_truth_about_as_often_as_it_says() -> None:
    covered = 0
    for trial in range(400):
        known = {(f'd{i}', 'f1'): pairs(size, 100 * trial + i) for i, size in enumerate((80, 40))}
        interval = compare_column(dict.fromkeys(known, 0.5), known)
        covered += interval.low <= 15.0 <= interval.high
    assert 0.93 <= covered / 400 <= 0.99


@pytest.mark.parametrize(('records', 'trials', 'points'), [
    (12, (1, 1), 12.0), (40, (1, 1), 3.0), (120, (1, 4), 3.0), (120, (1, 4), 12.0), (40, (16, 1), 0.0),
])  # fmt: skip
def test_it_covers_drops_of_which_few_records_show_something(
    records: int, trials: tuple[int, int], points: float
) -> None:
    """A system that is nearly always right, and loses some records, is where errors are too small."""
    generator = np.random.default_rng([records, *trials])

    def right(chance: Any, number: int) -> list[list[float]]:
        return (100.0 * (generator.random((records, number)) < chance)).tolist()

    low = high = 0
    for _ in range(400):
        lost = generator.random((records, 1)) < points / 100
        a, b = right(np.full((records, 1), 0.99), trials[0]), right(np.where(lost, 0, 0.99), trials[1])
        shuffled = tuple(map(shuffled_variance, a, b)) if trials[0] != trials[1] else ()
        ids, ones = tuple(map(str, range(records))), (1.0,) * records
        before, after = (tuple(map(float, np.mean(side, axis=1))) for side in (a, b))
        known = Pairs(ids, before, after, ones, ones, 0, shuffled)
        (interval,) = intervals_of({ONE: known}).values()
        truth = -0.99 * points
        low, high = low + (truth < interval.low), high + (truth > interval.high)
    assert low <= stats.binom.ppf(0.999, 400, 0.05) and high <= stats.binom.ppf(0.999, 400, 0.025)


def of_values(*values: float, size: int = 1) -> RecordValues:
    """Records with these values, each ``size`` of one query."""
    return {f'r{i}': RecordValue(value, 1.0, query=f'q{i // size}') for i, value in enumerate(values)}


def test_the_interval_of_a_sample() -> None:
    """Wilson's, with a continuity correction (Newcombe 1998, method 4): 81 right of 263 are 0.2553 to 0.3682."""
    low, high = score_interval(of_values(*[1.0] * 81, *[0.0] * 182), 0.0)
    assert 25.2 < low <= 25.53 and 36.82 <= high < 37.2, 'with a t distribution, a little wider'
    all_right = score_interval(of_values(*[1.0] * 50), 0.0)
    assert all_right[1] == 100 and 88 < all_right[0] < 95, 'the t interval has no width'
    assert score_interval(of_values(*[1.0] * 50), 1.0) == (100, 100), 'nothing is left to ask'
    assert score_interval(of_values(0.5), 0.1) == (0, 100)
    values = [1.0, 1.0, 0.0] * 40
    low, high = score_interval(of_values(*values), 0.0)
    nearly_all = score_interval(of_values(*values), 0.9)
    assert nearly_all[1] - nearly_all[0] < 0.4 * (high - low)
    together = score_interval(of_values(*sorted(values), size=3), 0.0)
    assert together[1] - together[0] > 1.5 * (high - low)
    looks = score_interval(of_values(*values), 0.0, ALPHA / 6)
    assert looks[0] < low and looks[1] > high
    graded = score_interval(of_values(*[0.6, 0.7, 0.65] * 40), 0.0)
    assert graded[1] - graded[0] < 0.3 * (high - low), 'graded values vary less'


def share_of(pairs: Pairs) -> Share | None:
    return share_kept(pairs, compare_column({ONE: 1.0}, {ONE: pairs}))


def test_the_share_and_what_has_none() -> None:
    share = share_of(of([100.0] * 50 + [0.0] * 50, [100.0] * 40 + [0.0] * 60))
    assert share is not None and share.kept == pytest.approx(80) and share.low < 80 < share.high < 100
    assert share_of(of([100.0] * 9 + [0.0] * 91, [0.0] * 100)) is None  # below the floor
    assert share_of(of([100.0] + [0.0] * 3, [0.0] * 4)) is None  # no larger than its error
    share = share_of(of([100.0] * 20, [100.0] * 20))
    assert share is not None and share.kept == 100 and share.low < 90 and share.high > 110


def test_records_of_a_query_are_one_cluster_of_a_share() -> None:
    alone = share_of(of([100.0, 0.0] * 40, [100.0, 0.0, 0.0, 0.0] * 20))
    apart = share_of(grouped(of([100.0] * 40 + [0.0] * 40, [100.0] * 20 + [0.0] * 60), 10))
    assert alone is not None and apart is not None and apart.high - apart.low > alone.high - alone.low


@pytest.mark.parametrize(('right', 'kept', 'records', 'size'), [(0.6, 0.7, 60, 1), (0.3, 0.9, 120, 3)])
def test_the_interval_holds_the_true_share(right: float, kept: float, records: int, size: int) -> None:
    """In at least 93 of 100 draws; the records of a query are right together."""
    rng, held, measured = random.Random(f'{right}{kept}{size}'), 0, 0
    for _ in range(400):
        before = [rng.random() < right for _ in range(records // size)]
        after = [is_right and rng.random() < kept for is_right in before]
        a, b = ([100.0 * is_right for is_right in side for _ in range(size)] for side in (before, after))
        share = share_of(grouped(of(a, b), size))
        if share is not None:
            measured += 1
            held += share.low <= 100 * kept <= share.high
    assert measured > 350 and held / measured >= 0.93
