"""The share of points that a score keeps in another result of the same records."""

from __future__ import annotations

import math
from dataclasses import dataclass

from opencompass_tooleval.core.statistics.intervals import ALPHA, FEWEST, Interval, Pairs, deviations_of, t_quantile

FLOOR = 10.0
"""Minimum first score, in points: a share of less would mostly be noise."""


@dataclass(frozen=True)
class Share:
    """A share with its 95% interval, in percent."""

    kept: float
    low: float
    high: float


def share_kept(pairs: Pairs, interval: Interval) -> Share | None:
    """Computes the second score as a share of the first, with Fieller's interval (1954) over clusters.

    The interval is at least as wide as that of the difference, which is also valid if few records differ. So it
    excludes 100% only if the interval of the difference excludes 0.

    Args:
        pairs: The values of the records in both results.
        interval: The interval of the difference.

    Returns:
        The share; None if the first score is below :data:`FLOOR`, or not significantly above 0.
    """
    first, second = pairs.means()
    clusters = [deviations_of(pairs.values_of(side)) for side in (0, 1)]
    names = clusters[0].keys() | clusters[1].keys()
    if first < FLOOR or len(names) < FEWEST:
        return None
    totals = math.fsum(pairs.weights_a), math.fsum(pairs.weights_b)
    parts = [[side.get(name, 0.0) / total for name in names] for side, total in zip(clusters, totals, strict=True)]
    scale = t_quantile(1 - ALPHA, len(names) - 1) ** 2 * len(names) / (len(names) - 1)
    aa, ab, bb = (
        scale * math.fsum(a * b for a, b in zip(parts[i], parts[j], strict=True)) for i, j in ((0, 0), (0, 1), (1, 1))
    )
    square = first**2 - aa
    if square <= 0:
        return None
    middle = first * second - ab
    root = math.sqrt(max(0.0, middle**2 - square * (second**2 - bb)))
    low = min((middle - root) / square, (first + interval.low) / first)
    high = max((middle + root) / square, (first + interval.high) / first)
    return Share(100 * second / first, 100 * max(0.0, low), 100 * high)
