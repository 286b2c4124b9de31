"""Tests whether scores dropped, with a bounded chance of a false alarm for all scores together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opencompass_tooleval.core.aggregate import deviations
from opencompass_tooleval.core.intervals import Pairs, Score

ALPHA = 0.025
"""Chance of a false alarm that is allowed to all scores together: one tail of the 95% intervals on the screens. At most
5% is promised; the other half is for what the t distribution approximates."""

_NOISE = 1e-7
"""Points below which two values of a record are the same."""

_MOST_FREEDOM = 10_000


@dataclass(frozen=True)
class Effect:
    """A paired difference with its error.

    Attributes:
        delta: The second score minus the first, in points.
        error: Its standard error, over records.
        freedom: Degrees of freedom of the error.
        differing: Number of records with different values.
    """

    delta: float
    error: float
    freedom: int
    differing: int


def effect_of(column: Mapping[Score, float], pairs: Mapping[Score, Pairs]) -> Effect:
    """Computes the difference in a column and its standard error, clustered by record.

    A score is a ratio of sums over records, so that its error is that of its linear approximation
    (:func:`~opencompass_tooleval.core.aggregate.deviations`). Data sets are independent; scores of one data set share
    its records. The degrees of freedom of several data sets are Satterthwaite's (1946).

    Args:
        column: Data set and metric -> share, as in :func:`~opencompass_tooleval.core.intervals.compare_column`.
        pairs: Data set and metric -> values of the records.
    """
    deltas: list[float] = []
    parts: dict[str, dict[str, float]] = {}
    differing: set[tuple[str, str]] = set()
    for (dataset, metric), share in column.items():
        score = pairs[dataset, metric]
        a, b = score.means()
        deltas.append(share * (b - a))
        by_record = parts.setdefault(dataset, {})
        sides = ((score.a, score.weights_a), (score.b, score.weights_b))
        first, second = ([part / math.fsum(side[1]) for part in deviations(*side)] for side in sides)
        for i, record in enumerate(score.ids):
            by_record[record] = by_record.get(record, 0.0) + share * (second[i] - first[i])
            if abs(score.b[i] - score.a[i]) > _NOISE:
                differing.add((dataset, record))
    sizes = [len(by_record) for by_record in parts.values()]
    variances = [
        size / (size - 1) * math.fsum(part**2 for part in by_record.values())
        for size, by_record in zip(sizes, parts.values(), strict=True)
    ]
    total = math.fsum(variances)
    freedom = sum(sizes) - len(sizes)
    if total:
        shares = (variance**2 / (size - 1) for variance, size in zip(variances, sizes, strict=True))
        freedom = int(total**2 / math.fsum(shares) + _NOISE)
    return Effect(math.fsum(deltas), math.sqrt(total), max(1, freedom), len(differing))


def drop_p_value(effect: Effect, max_drop: float, lower_is_better: bool = False) -> float:
    """Computes the chance of so large a drop, or a larger one, of a system whose true drop is ``max_drop``.

    It is that of a one-sided paired t test, and at least ``0.5 ** differing``: the smallest chance that an exact test
    by signs could find (Fisher 1935). Without this bound, two records that both got worse would be proof. Percentiles
    of a bootstrap are too narrow this far out: over 20 data sets of 20 records they give 10% false alarms in place
    of 2.5%.

    Args:
        effect: The difference.
        max_drop: Points that the score may drop, not negative.
        lower_is_better: True if a rise of the score is a drop in quality.
    """
    gain = (-effect.delta if lower_is_better else effect.delta) + max_drop
    p_value = 0.0 if gain < -_NOISE else 1.0
    if effect.error:
        p_value = t_chance(gain / effect.error, effect.freedom)
    return max(p_value, 0.5**effect.differing)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusts p-values so that all of those at most ``alpha`` together hold a false one with at most that chance.

    Method of Holm (1979), Scandinavian Journal of Statistics 6:65-70. The scores may be correlated.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, largest = [1.0] * len(p_values), 0.0
    for place, position in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[position]))
        adjusted[position] = largest
    return adjusted


def t_chance(value: float, freedom: int) -> float:
    """Computes the chance that Student's t is at most ``value``.

    Formulas 26.7.3 and 26.7.4 of Abramowitz and Stegun (1964), which are exact for whole degrees of freedom.

    Args:
        value: The value.
        freedom: Degrees of freedom, at least 1; above 10,000 counts as that.
    """
    freedom = min(freedom, _MOST_FREEDOM)
    angle = math.atan(value / math.sqrt(freedom))
    cosine = math.cos(angle)
    term, total = (cosine, 0.0) if freedom % 2 else (1.0, 0.0)
    for i in range(3 if freedom % 2 else 2, freedom + 1, 2):
        total += term
        term *= cosine**2 * (i - 1) / i
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if freedom % 2 else math.sin(angle) * total
    return min(1.0, max(0.0, (1 + inside) / 2))
