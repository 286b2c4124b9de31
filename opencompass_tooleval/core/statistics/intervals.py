"""Paired differences of two results, their error over records, and their 95% intervals.

Every screen uses these functions, so that a difference has the same interval everywhere, and ``tooleval gate`` tests
with the same error.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from opencompass_tooleval.core.scoring.aggregate import deviations, standard_error
from opencompass_tooleval.core.statistics.student_t import t_quantile

LEVEL = 0.95
ALPHA = (1 - LEVEL) / 2
"""Chance of a false alarm that a test of one side allows: one tail of the intervals."""
FEWEST = 2
"""Minimum number of records for an interval."""
LEADS, BY_MEAN, TOO_FEW, NO_INTERVAL = (
    'leads',
    'first by mean, not significant',
    'too few to rank',
    'first by mean, no interval',
)
"""Words for the first of two scores, the same on every screen and page; see :func:`lead_of`."""

NOISE = 1e-7
"""Points below which two values are the same, because of rounding errors."""

_DIGITS = 9
"""Digits of the ends of intervals: 0 must not be 1e-15 on one machine and -1e-15 on another."""

_MOST = 100.0
"""The largest difference of two scores, in points."""

Score = tuple[str, str]
"""A data set, or a table, and its metric."""


@dataclass(frozen=True)
class Interval:
    """A difference of two scores with its interval.

    Attributes:
        delta: The second minus the first, in points.
        low: Lower end of the interval.
        high: Upper end.
        pairs: Number of records.
    """

    delta: float
    low: float
    high: float
    pairs: int


class RecordValue(NamedTuple):
    """The values of one record in one score, 0-1.

    Attributes:
        value: Their mean.
        weight: Their number.
        trials: The mean of each trial; empty for a single one.
    """

    value: float
    weight: float
    trials: tuple[float, ...] = ()


RecordValues = dict[str, RecordValue]
"""Record id -> its values."""


@dataclass(frozen=True)
class Pairs:
    """One score in two results, over the records of both.

    Attributes:
        ids: The records.
        a: Their values in the first result, 0-100.
        b: Their values in the second.
        weights_a: Weight of each record in the first: the number of values of which it is the mean.
        weights_b: Weight of each record in the second.
        unshared: Number of records that only one of the results has.
        shuffled: For each record, the variance of its difference if its trials were shuffled among the two results
            (:func:`shuffled_variance`); empty if all records have as many trials in both.

    Raises:
        ValueError: There is no record, the sequences differ in length, or a weight is not positive.
    """

    ids: tuple[str, ...]
    a: tuple[float, ...]
    b: tuple[float, ...]
    weights_a: tuple[float, ...]
    weights_b: tuple[float, ...]
    unshared: int = 0
    shuffled: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        lengths = {len(part) for part in (self.ids, self.a, self.b, self.weights_a, self.weights_b)}
        lengths |= {len(self.shuffled)} - {0}
        if not self.ids or len(lengths) > 1 or min(*self.weights_a, *self.weights_b) <= 0:
            raise ValueError('pairs are of at least one record, each with two values and two weights above 0')

    def means(self) -> tuple[float, float]:
        """Both scores over these records."""
        sides = (self.a, self.weights_a), (self.b, self.weights_b)
        first, second = (math.fsum(map(float.__mul__, *side)) / math.fsum(side[1]) for side in sides)
        return first, second

    def without(self, records: Collection[str]) -> Pairs | None:
        """Returns the pairs of all other records; None if fewer than :data:`FEWEST` are left."""
        kept = [i for i, record in enumerate(self.ids) if record not in records]
        if len(kept) < FEWEST:
            return None
        a, b, weights_a, weights_b = (
            tuple(part[i] for i in kept) for part in (self.a, self.b, self.weights_a, self.weights_b)
        )
        shuffled = tuple(self.shuffled[i] for i in kept) if self.shuffled else ()
        return Pairs(tuple(self.ids[i] for i in kept), a, b, weights_a, weights_b, shuffled=shuffled)

    def values_of(self, side: int) -> RecordValues:
        """Record -> value and weight, of the first (0) or of the second (1)."""
        values, weights = (self.b, self.weights_b) if side else (self.a, self.weights_a)
        return dict(zip(self.ids, map(RecordValue, values, weights), strict=True))

    def errors(self) -> tuple[float | None, float | None]:
        """The standard errors of both."""
        return standard_error(self.a, self.weights_a), standard_error(self.b, self.weights_b)


def deviations_of(values: RecordValues) -> list[float]:
    """Computes :func:`~opencompass_tooleval.core.scoring.aggregate.deviations` of records."""
    return deviations([record.value for record in values.values()], [record.weight for record in values.values()])


def shuffled_variance(first: Sequence[float], second: Sequence[float]) -> float:
    """Computes the variance of the difference of two means if all of their values were shuffled among the two."""
    values = [*first, *second]
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return variance * (1 / len(first) + 1 / len(second))


@dataclass(frozen=True)
class Effect:
    """A paired difference with its error.

    Attributes:
        delta: The second score minus the first, in points.
        error: Its standard error, over records.
        freedom: Degrees of freedom of the error.
        differing: Number of records with different values.
        records: Number of records.
        step: Points of the score that a record which differs changes: the mean of the changes, weighted by their
            squares. Many small changes do not hide a few large ones, which are most of the error.
        largest: The largest share of one record in the score.
    """

    delta: float
    error: float
    freedom: int
    differing: int
    records: int
    step: float
    largest: float

    @property
    def sign_chance(self) -> float:
        """The smallest p-value that an exact test by signs could find (Fisher 1935)."""
        return 0.5**self.differing


@dataclass(slots=True)
class _Record:
    """The part of one record in a difference in a column, in points, summed over the column's metrics of its data set.

    Attributes:
        deviation: Its part of the error.
        change: Its part of the difference.
        share: Its share in the score, 0-1.
        shuffled: Standard deviation of its part if its trials were shuffled; metrics are taken to vary together.
        differs: True if its values differ in some metric.
    """

    deviation: float = 0.0
    change: float = 0.0
    share: float = 0.0
    shuffled: float = 0.0
    differs: bool = False


def effect_of(column: Mapping[Score, float], pairs: Mapping[Score, Pairs]) -> Effect:
    """Computes the difference in a column and its standard error, clustered by record.

    A score is a ratio of sums over records, so that its error is that of its linear approximation
    (``deviations``). Data sets are independent; scores of one data set share
    its records. The degrees of freedom of several data sets are Satterthwaite's (1946).

    Where records have more trials in one result than in the other, the difference is skewed. Of 30 records that are
    right in 98% of all trials, most are right in the only trial of one result, and several have a failure among the 16
    of the other: small differences in one direction, with a small error. The variance of such a data set is therefore
    at least the one that its difference has if the trials of each record are shuffled among the results.

    Args:
        column: Data set and metric -> share, from :func:`~opencompass_tooleval.catalogue.tables.columns_of`;
            ``{score: 1.0}`` for one score.
        pairs: Data set and metric -> values of the records.
    """
    deltas: list[float] = []
    parts: dict[str, dict[str, _Record]] = {}
    for (dataset, metric), share in column.items():
        score = pairs[dataset, metric]
        a, b = score.means()
        deltas.append(share * (b - a))
        _add(parts.setdefault(dataset, {}), score, share)
    sizes = [len(by_record) for by_record in parts.values()]
    variances = [_variance(by_record.values()) for by_record in parts.values()]
    total = math.fsum(variances)
    freedom = sum(sizes) - len(sizes)
    if total:
        shares = (variance**2 / (size - 1) for variance, size in zip(variances, sizes, strict=True))
        freedom = int(total**2 / math.fsum(shares) + NOISE)
    records = [record for by_record in parts.values() for record in by_record.values()]
    changes = [abs(record.change) for record in records if record.differs]
    squares = math.fsum(change**2 for change in changes)
    return Effect(
        math.fsum(deltas),
        math.sqrt(total),
        max(1, freedom),
        len(changes),
        len(records),
        math.fsum(change**3 for change in changes) / squares if squares else 0.0,
        max(record.share for record in records),
    )


def _add(by_record: dict[str, _Record], score: Pairs, share: float) -> None:
    """Adds what the records of one score contribute."""
    totals = math.fsum(score.weights_a), math.fsum(score.weights_b)
    sides = (
        [part / total for part in deviations(values, weights)]
        for values, weights, total in zip((score.a, score.b), (score.weights_a, score.weights_b), totals, strict=True)
    )
    for i, (name, first, second) in enumerate(zip(score.ids, *sides, strict=True)):
        record = by_record.setdefault(name, _Record())
        weight = abs(share) * (score.weights_a[i] / totals[0] + score.weights_b[i] / totals[1]) / 2
        record.deviation += share * (second - first)
        record.change += math.copysign(weight, share) * (score.b[i] - score.a[i])
        record.share += weight
        record.differs |= abs(score.b[i] - score.a[i]) > NOISE
        if score.shuffled:
            record.shuffled += weight * math.sqrt(score.shuffled[i])


def _variance(records: Collection[_Record]) -> float:
    """Computes the variance of the difference in a data set."""
    clustered = math.fsum(record.deviation**2 for record in records) * len(records) / (len(records) - 1)
    return max(clustered, math.fsum(record.shuffled**2 for record in records))


def unseen_drop(share: float) -> float:
    """Computes the largest difference that is not ruled out if no record differs, in points.

    If a share d of all tasks changed, none of n records would show it with a chance of ``(1 - d) ** n``, which is below
    5% for a larger d.

    Args:
        share: Share of one record in the score: 1 / n.
    """
    return _MOST * -math.expm1(share * math.log(1 - LEVEL))


def records_without_difference(points: float) -> int:
    """Returns how many records must not differ to rule out a difference of so many points, above 0."""
    return max(1, math.ceil(math.log(1 - LEVEL) / math.log1p(-points / _MOST))) if points < _MOST else 1


def compare_column(column: Mapping[Score, float], pairs: Mapping[Score, Pairs]) -> Interval:
    """Computes the difference in a column and its 95% interval, from the error of :func:`effect_of`.

    The end towards 0 of a significant difference is that of a t interval: the interval excludes 0 exactly if a t test
    finds the difference, and :attr:`Effect.sign_chance` allows it. Other ends are wider, since the error of few records
    that differ is too small: of 100 records of which none differs it is 0. A larger difference, or one in the other
    direction, would have changed more records, by :attr:`Effect.step` each; the interval has the differences for which
    that larger error explains what was seen. Of answers that are right or wrong these are the ends of a score interval
    (Wilson 1927). They are at least :func:`unseen_drop` away: a change of few tasks may not have been seen.

    Args:
        column: As in :func:`effect_of`.
        pairs: As in :func:`effect_of`.
    """
    return interval_of(effect_of(column, pairs))


def interval_of(effect: Effect) -> Interval:
    """Computes the interval of :func:`compare_column` from an effect."""
    high = _upper_end(effect.delta, effect)
    low = -_upper_end(-effect.delta, effect)
    low, high = (round(max(-_MOST, min(_MOST, end)), _DIGITS) + 0.0 for end in (low, high))
    return Interval(effect.delta, low, high, effect.records)


def _upper_end(delta: float, effect: Effect) -> float:
    """Returns the upper end of the interval of ``delta``, which is that of the effect or its negative."""
    multiple = t_quantile(1 - ALPHA, effect.freedom)
    near, more = multiple * effect.error, multiple**2 * effect.step / 2
    if delta + near < -NOISE and effect.sign_chance <= ALPHA:
        return delta + near
    # The largest x with (gap + x)**2 == near**2 + 2 * more * x; the end is x beyond 0, or beyond a delta above 0.
    gap = max(0.0, -delta)
    root = (more - gap) ** 2 + near**2 - gap**2
    beyond = more - gap + math.sqrt(root) if root > 0 else 0.0
    return max(max(0.0, delta) + max(0.0, beyond), delta + unseen_drop(effect.largest))


def lead_of(interval: Interval | None) -> str:
    """Returns the words for the first of two scores: only an interval without 0 lets it lead.

    Up to five records are too few for any difference: if all of them differ in one direction, an exact test by signs
    has a p-value of 2 * 0.5**5 = 0.06.

    Args:
        interval: The other score minus the first; None if it is unknown.
    """
    if interval is None:
        return NO_INTERVAL
    if 0.5**interval.pairs > ALPHA:
        return TOO_FEW
    return LEADS if interval.high < 0 or interval.low > 0 else BY_MEAN


def intervals_of(pairs: Mapping[Score, Pairs]) -> dict[Score, Interval]:
    """Computes the difference and the interval of each score with :func:`compare_column`."""
    return {score: compare_column({score: 1.0}, pairs) for score in pairs}
