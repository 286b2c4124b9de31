"""core/intervals: against SciPy and a plain loop, by hand, their coverage, and bounds."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy import stats

from opencompass_tooleval.core.intervals import (
    Interval,
    Pairs,
    Score,
    compare_column,
    intervals_of,
    resample,
)

SAMPLES = 2000
ONE = ('', 'f1')
"""A data set without a name: of it, what is drawn depends on the seed alone, as SciPy draws."""


def interval_of(
    a: Sequence[float], b: Sequence[float], weights: Sequence[float] | None = None, **options: float
) -> Interval:
    """The interval of one score, weights alike on both sides."""
    shares = (1.0,) * len(a) if weights is None else tuple(weights)
    pairs = Pairs(tuple(map(str, range(len(a)))), tuple(a), tuple(b), shares, shares)
    return intervals_of({ONE: pairs}, **options)[ONE]  # type: ignore[arg-type]


def values(size: int, seed: int = 1) -> tuple[list[float], list[float]]:
    generator = np.random.default_rng(seed)
    a = 100 * generator.random(size)
    return a.tolist(), np.clip(a + 100 * generator.normal(0.1, 0.3, size), 0, 100).tolist()


def pairs(size: int, seed: int, gain: float = 5.0, spread: float = 20.0) -> Pairs:
    generator = np.random.default_rng(seed)
    a = generator.uniform(20, 80, size)
    b = a + generator.normal(gain, spread, size)
    return Pairs(tuple(map(str, range(size))), tuple(a.tolist()), tuple(b.tolist()), (1.0,) * size, (1.0,) * size)


def column_of(
    column: Mapping[Score, float], known: Mapping[Score, Pairs], samples: int = SAMPLES, seed: int = 0
) -> Interval:
    """Resamples the data sets of a column, and compares."""
    return compare_column(column, known, resample(known, samples, seed))


@pytest.mark.parametrize('size', [2, 37, 400])
@pytest.mark.parametrize('level', [0.9, 0.95])
def test_it_is_scipys_percentile_interval(size: int, level: float) -> None:
    """The same generator draws the same resamples, so that the numbers agree to the last digits."""
    a, b = values(size)
    by_scipy = stats.bootstrap(
        (a, b),
        lambda left, right, axis: np.mean(right, axis=axis) - np.mean(left, axis=axis),
        paired=True,
        method='percentile',
        n_resamples=10000,
        confidence_level=level,
        random_state=np.random.default_rng(7),
    ).confidence_interval
    interval = interval_of(a, b, seed=7, level=level)
    assert (interval.low, interval.high) == pytest.approx((by_scipy.low, by_scipy.high), abs=1e-9)
    assert interval.delta == pytest.approx(np.mean(b) - np.mean(a))


def test_weights_are_a_ratio_of_sums_as_scipy_has_it() -> None:
    a, b = values(60)
    weights = np.random.default_rng(3).integers(1, 6, 60).astype(float)

    def delta(left: np.ndarray, right: np.ndarray, weight: np.ndarray, axis: int) -> np.ndarray:
        gained: np.ndarray = np.sum(weight * (right - left), axis=axis) / np.sum(weight, axis=axis)
        return gained

    by_scipy = stats.bootstrap(
        (a, b, weights),
        delta,
        paired=True,
        method='percentile',
        n_resamples=10000,
        random_state=np.random.default_rng(0),
    ).confidence_interval
    interval = interval_of(a, b, weights.tolist())
    assert (interval.low, interval.high) == pytest.approx((by_scipy.low, by_scipy.high), abs=1e-9)
    assert interval.delta == pytest.approx(np.average(b, weights=weights) - np.average(a, weights=weights))


def test_pairing_narrows_the_interval() -> None:
    """The same gain on every record is certain, however different the records are."""
    a = np.linspace(0, 0.5, 50)
    interval = interval_of(a.tolist(), (a + 0.25).tolist())
    assert (interval.delta, interval.low, interval.high) == pytest.approx((0.25, 0.25, 0.25))


def test_seeds() -> None:
    a, b = values(30)
    assert interval_of(a, b, seed=1) == interval_of(a, b, seed=1)
    assert interval_of(a, b, seed=1) != interval_of(a, b, seed=2)


@pytest.mark.parametrize(
    ('a', 'b', 'weights', 'options'),
    [
        pytest.param([], [], None, {}, id='nothing'),
        pytest.param([1.0], [1.0], [0.0], {}, id='no weight'),
        pytest.param([1.0], [1.0, 0.0], None, {}, id='lengths'),
        pytest.param([1.0], [1.0], [1.0, 1.0], {}, id='weights'),
        pytest.param([1.0], [1.0], None, {'samples': 0}, id='samples'),
        pytest.param([1.0], [1.0], None, {'level': 1.0}, id='level'),
        pytest.param([1.0], [1.0], None, {'seed': -1}, id='seed'),
    ],
)
def test_faults(a: list[float], b: list[float], weights: list[float] | None, options: dict) -> None:
    with pytest.raises(ValueError):
        interval_of(a, b, weights, **options)


def test_memory_is_bounded_whatever_the_size() -> None:
    """All resamples of 24,000 records at once would be 2 GB for the indices of 10,000 alone; here 1,000 are drawn."""
    a, b = values(24000)
    tracemalloc.start()
    interval_of(a, b, samples=1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * 2**20


def test_one_score_covers_the_truth_about_as_often_as_it_says() -> None:
    covered = 0
    for trial in range(200):
        gains = np.random.default_rng(trial).normal(0.1, 0.5, 80)
        interval = interval_of([0.0] * 80, gains.tolist(), samples=500, seed=trial)
        covered += interval.low <= 0.1 <= interval.high
    assert 0.90 <= covered / 200 <= 0.99


def test_a_mean_of_data_sets_against_a_plain_loop() -> None:
    """Three data sets of different sizes, two metrics of one of them on the same resamples, weights on another."""
    known = {('d1', 'f1'): pairs(40, 1), ('d1', 'em'): pairs(40, 2), ('d2', 'f1'): pairs(7, 3)}
    weighed = pairs(15, 4)
    weights = tuple(float(1 + i % 4) for i in range(15)), tuple(float(1 + i % 3) for i in range(15))
    known['d3', 'local'] = Pairs(weighed.ids, weighed.a, weighed.b, *weights)
    column = {('d1', 'f1'): 0.125, ('d1', 'em'): 0.125, ('d2', 'f1'): 0.25, ('d3', 'local'): 0.5}

    drawn: dict[str, list[np.ndarray]] = {}
    for name, size in (('d1', 40), ('d2', 7), ('d3', 15)):
        generator = np.random.default_rng([3, zlib.crc32(name.encode())])
        drawn[name] = [generator.integers(0, size, size) for _ in range(SAMPLES)]
    scores = np.zeros((2, SAMPLES))
    for number in range(SAMPLES):
        for (name, metric), share in column.items():
            known_pairs, at = known[name, metric], drawn[name][number]
            for side, (values, weighed_by) in enumerate(
                ((known_pairs.a, known_pairs.weights_a), (known_pairs.b, known_pairs.weights_b))
            ):
                scores[side, number] += share * np.average(np.array(values)[at], weights=np.array(weighed_by)[at])
    low, high = np.quantile(scores[1] - scores[0], [0.025, 0.975])

    found = column_of(column, known, seed=3)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)
    gains = [share * (np.average(of_one.b, weights=of_one.weights_b) - np.average(of_one.a, weights=of_one.weights_a))
             for share, of_one in ((column[score], known[score]) for score in column)]  # fmt: skip
    assert found.delta == pytest.approx(sum(gains))
    assert found.pairs == 40 + 7 + 15


def test_a_mean_of_data_sets_is_scipys_bootstrap_of_independent_samples() -> None:
    sizes = (60, 25, 140)
    known = {(f'd{i}', 'f1'): pairs(size, i) for i, size in enumerate(sizes)}
    gains = [np.subtract(pairs_of_one.b, pairs_of_one.a) for pairs_of_one in known.values()]
    by_scipy = stats.bootstrap(
        gains,
        lambda *samples, axis: np.mean([np.mean(sample, axis=axis) for sample in samples], axis=0),
        method='percentile',
        n_resamples=20000,
        random_state=np.random.default_rng(0),
    ).confidence_interval
    interval = column_of(dict.fromkeys(known, 1 / 3), known, samples=20000)
    assert (interval.low, interval.high) == pytest.approx((by_scipy.low, by_scipy.high), abs=0.15)
    error = np.sqrt(sum(np.var(gain, ddof=1) / len(gain) for gain in gains)) / 3
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * error, rel=0.04)


def test_data_sets_are_resampled_independently_even_if_they_are_alike() -> None:
    """The mean of two is surer than one by the root of two; the same draws for both would gain nothing."""
    alike = pairs(50, 1)
    one = column_of({('d1', 'f1'): 1.0}, {('d1', 'f1'): alike})
    both = {('d1', 'f1'): alike, ('d2', 'f1'): alike}
    two = column_of(dict.fromkeys(both, 0.5), both)
    assert (two.high - two.low) / (one.high - one.low) == pytest.approx(2**-0.5, rel=0.1)


def test_metrics_of_a_data_set_hang_together() -> None:
    """Two metrics that are the same are no surer than one."""
    alike = pairs(50, 1)
    known = {('d', 'f1'): alike, ('d', 'same'): alike}
    both, one = column_of(dict.fromkeys(known, 0.5), known), column_of({('d', 'f1'): 1.0}, known)
    assert (both.delta, both.low, both.high) == pytest.approx((one.delta, one.low, one.high), abs=1e-8)


def test_no_difference_is_exactly_none() -> None:
    """Or a model would be better than itself by 1e-15, and surely so."""
    values = pairs(1001, 1).a
    same = Pairs(tuple(map(str, range(1001))), values, values, (3.0,) * 1001, (3.0,) * 1001)
    interval = column_of({('d', 'f1'): 1.0}, {('d', 'f1'): same})
    assert (interval.delta, interval.low, interval.high) == (0.0, 0.0, 0.0)


def test_what_is_drawn_of_a_data_set_depends_on_no_other() -> None:
    known = {('d1', 'f1'): pairs(30, 1)}
    alone = column_of({('d1', 'f1'): 1.0}, known)
    assert column_of({('d1', 'f1'): 1.0}, {('d0', 'f1'): pairs(9, 2), **known}) == alone
    assert column_of({('d1', 'f1'): 1.0}, known, seed=1) != alone


def test_metrics_that_apply_to_some_records_only() -> None:
    """As T-Eval's instruct: half of the records have one metric, half the other."""
    whole = pairs(40, 1)
    halves = {
        ('d', name): Pairs(whole.ids[part], whole.a[part], whole.b[part], *[whole.weights_a[part]] * 2)
        for name, part in (('json', slice(0, 20)), ('str', slice(20, 40)))
    }
    found = column_of(dict.fromkeys(halves, 0.5), halves)
    (left, right) = (np.subtract(half.b, half.a) for half in halves.values())
    error = np.sqrt(np.var(left, ddof=1) / 20 + np.var(right, ddof=1) / 20) / 2
    assert found.delta == pytest.approx((left.mean() + right.mean()) / 2)
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.12)
    assert found.pairs == 40


def test_a_resample_without_a_record_of_a_metric_does_not_count() -> None:
    """With two records, each of one metric, half of the resamples miss one of them."""
    known = {
        ('d', 'json'): Pairs(('0',), (0.0,), (10.0,), (1.0,), (1.0,)),
        ('d', 'str'): Pairs(('1',), (0.0,), (30.0,), (1.0,), (1.0,)),
    }
    found = column_of(dict.fromkeys(known, 0.5), known)
    assert (found.delta, found.low, found.high) == (20.0, 20.0, 20.0)


def covered(sizes: Sequence[int], trial: int) -> bool:
    known = {(f'd{i}', 'f1'): pairs(size, 100 * trial + i) for i, size in enumerate(sizes)}
    interval = column_of(dict.fromkeys(known, 1 / len(sizes)), known, samples=400, seed=trial)
    return interval.low <= 5.0 <= interval.high


def test_it_covers_the_truth_about_as_often_as_it_says() -> None:
    assert 0.90 <= np.mean([covered((80, 40), trial) for trial in range(200)]) <= 0.99
