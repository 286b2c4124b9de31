"""How sure a difference is: paired bootstrap, percentile method (Efron and Tibshirani, 1993, chapter 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CHUNK = 1 << 20
"""Drawn indices held at once: 16 MB with what is looked up, however many records there are."""


@dataclass(frozen=True)
class Interval:
    """A difference of two means and where it lies.

    Attributes:
        delta: Mean of ``b`` less that of ``a``, in their unit.
        low: Lower end of the interval.
        high: Upper end.
        pairs: Number of pairs it rests on.
    """

    delta: float
    low: float
    high: float
    pairs: int


def paired_bootstrap(
    a: Sequence[float | None],
    b: Sequence[float | None],
    weights: Sequence[float] | None = None,
    weights_b: Sequence[float] | None = None,
    *,
    samples: int = 10000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """The mean of ``b`` less that of ``a`` and its percentile interval over resamples of the pairs.

    Args:
        a: One value per record; None where there is none.
        b: The same records' other values, in the same order. A pair with a None on either side does not count.
        weights: What each record weighs, such as its number of steps where the mean is over steps; by default all the
            same. Records are drawn, not steps: those of one record hang together.
        weights_b: What it weighs on the side of ``b``, if not the same.
        samples: Number of resamples.
        seed: The same seed gives the same interval.
        level: Share of the resamples that lie in it.

    Raises:
        ValueError: The lengths differ, no pair counts, or ``samples`` or ``level`` make no sense.
    """
    if samples < 1 or not 0 < level < 1:
        raise ValueError(f'samples={samples} must be at least 1 and level={level} between 0 and 1')
    known = [1.0] * len(a) if weights is None else weights
    rows = [
        row
        for row in zip(a, known, b, known if weights_b is None else weights_b, strict=True)
        if None not in row and row[1] and row[3]
    ]
    if not rows:
        raise ValueError('there is no pair with a value on both sides')
    left, shares, right, others = np.array(rows, dtype=float).T
    terms = [(others * right, others), (-shares * left, shares)]
    if np.array_equal(shares, others):
        terms = [(shares * (right - left), shares)]
    size = len(rows)
    generator = np.random.default_rng(seed)
    deltas = np.zeros(samples)
    step = max(1, CHUNK // size)
    for start in range(0, samples, step):
        drawn = generator.integers(0, size, (min(step, samples - start), size))
        for gains, weight in terms:
            deltas[start : start + step] += gains[drawn].sum(axis=1) / weight[drawn].sum(axis=1)
    low, high = np.quantile(deltas, [(1 - level) / 2, (1 + level) / 2])
    delta = sum(gains.sum() / weight.sum() for gains, weight in terms)
    return Interval(float(delta), float(low), float(high), size)
