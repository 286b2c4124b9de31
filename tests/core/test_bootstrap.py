"""core/bootstrap: against SciPy, by hand, and within bounds."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from opencompass_tooleval.core.bootstrap import Interval, paired_bootstrap


def values(size: int, seed: int = 1) -> tuple[list[float], list[float]]:
    generator = np.random.default_rng(seed)
    a = generator.random(size)
    return a.tolist(), np.clip(a + generator.normal(0.1, 0.3, size), 0, 1).tolist()


@pytest.mark.parametrize('size', [2, 37, 400])
@pytest.mark.parametrize('level', [0.9, 0.95])
def test_it_is_scipys_percentile_interval(size: int, level: float) -> None:
    """The same generator draws the same resamples, so that the numbers agree to the last digits."""
    a, b = values(size)
    theirs = stats.bootstrap(
        (a, b),
        lambda left, right, axis: np.mean(right, axis=axis) - np.mean(left, axis=axis),
        paired=True,
        method='percentile',
        n_resamples=10000,
        confidence_level=level,
        random_state=np.random.default_rng(7),
    ).confidence_interval
    mine = paired_bootstrap(a, b, seed=7, level=level)
    assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert mine.delta == pytest.approx(np.mean(b) - np.mean(a))


def test_weights_are_a_ratio_of_sums_as_scipy_has_it() -> None:
    a, b = values(60)
    weights = np.random.default_rng(3).integers(1, 6, 60).astype(float)

    def delta(left: np.ndarray, right: np.ndarray, weight: np.ndarray, axis: int) -> np.ndarray:
        gained: np.ndarray = np.sum(weight * (right - left), axis=axis) / np.sum(weight, axis=axis)
        return gained

    theirs = stats.bootstrap(
        (a, b, weights),
        delta,
        paired=True,
        method='percentile',
        n_resamples=10000,
        random_state=np.random.default_rng(0),
    ).confidence_interval
    mine = paired_bootstrap(a, b, weights.tolist())
    assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert mine.delta == pytest.approx(np.average(b, weights=weights) - np.average(a, weights=weights))


def test_pairing_narrows_the_interval() -> None:
    """The same gain on every record is certain, however different the records are."""
    a = np.linspace(0, 0.5, 50)
    interval = paired_bootstrap(a.tolist(), (a + 0.25).tolist())
    assert (interval.delta, interval.low, interval.high) == pytest.approx((0.25, 0.25, 0.25))


def test_it_covers_the_truth_about_as_often_as_it_says() -> None:
    covered = 0
    for trial in range(200):
        gains = np.random.default_rng(trial).normal(0.1, 0.5, 80)
        interval = paired_bootstrap([0.0] * 80, gains.tolist(), samples=500, seed=trial)
        covered += interval.low <= 0.1 <= interval.high
    assert 0.90 <= covered / 200 <= 0.99


def test_a_value_that_is_missing_on_one_side_drops_the_pair() -> None:
    whole = paired_bootstrap([0.0, 1.0, 0.5], [1.0, 1.0, 0.25])
    holed = paired_bootstrap([0.0, None, 1.0, 0.5, 0.7], [1.0, 0.5, 1.0, 0.25, None])
    assert holed == whole
    assert whole.pairs == 3
    assert paired_bootstrap([0.0, 0.9], [1.0, 0.9], [1.0, 0.0]) == Interval(1.0, 1.0, 1.0, 1)


def test_seeds() -> None:
    a, b = values(30)
    assert paired_bootstrap(a, b, seed=1) == paired_bootstrap(a, b, seed=1)
    assert paired_bootstrap(a, b, seed=1) != paired_bootstrap(a, b, seed=2)


@pytest.mark.parametrize(
    ('a', 'b', 'weights', 'options'),
    [
        pytest.param([], [], None, {}, id='nothing'),
        pytest.param([None], [1.0], None, {}, id='no pair'),
        pytest.param([1.0], [1.0], [0.0], {}, id='no weight'),
        pytest.param([1.0], [1.0, 0.0], None, {}, id='lengths'),
        pytest.param([1.0], [1.0], [1.0, 1.0], {}, id='weights'),
        pytest.param([1.0], [1.0], None, {'samples': 0}, id='samples'),
        pytest.param([1.0], [1.0], None, {'level': 1.0}, id='level'),
    ],
)
def test_faults(a: list[float | None], b: list[float | None], weights: list[float] | None, options: dict) -> None:
    with pytest.raises(ValueError):
        paired_bootstrap(a, b, weights, **options)


def test_memory_is_bounded_whatever_the_size() -> None:
    """All resamples of 24,000 records at once would be 2 GB for the indices of 10,000 alone; here 1,000 are drawn."""
    a, b = values(24000)
    tracemalloc.start()
    paired_bootstrap(a, b, samples=1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * 2**20
