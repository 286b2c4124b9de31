"""Paired differences of two results, their error over queries, and their 95% intervals; intervals of sampled scores.

Every screen uses these functions, so that a difference has the same interval everywhere, and ``tooleval gate`` tests
with the same error.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from opencompass_tooleval.core.scoring.aggregate import deviations, standard_error, sums_of

LEVEL = 0.95
ALPHA = (1 - LEVEL) / 2
"""Chance of a false alarm that a test of one side allows: one tail of the intervals."""
FEWEST = 2
"""Minimum number of records for an interval."""
LEADS, BY_MEAN, TOO_FEW, NO_INTERVAL = (
    'leads',
    'ahead, may be chance',
    'too few to rank',
    'ahead, no interval',
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

Cluster = tuple[str, str]
"""Name of the records that are correlated: ``('', query)`` for a query, which several data sets may ask; else the data
set and the only record."""


@dataclass(frozen=True)
class Interval:
    """A difference of two scores with its interval.

    Attributes:
        delta: The second minus the first, in points.
        low: Lower end of the interval.
        high: Upper end.
        pairs: Number of records.
        queries: Number of clusters, which are independent.
    """

    delta: float
    low: float
    high: float
    pairs: int
    queries: int


class RecordValue(NamedTuple):
    """The values of one record in one score, 0-1.

    Attributes:
        value: Their mean.
        weight: Their number.
        trials: The mean of each trial; empty for a single one.
        query: Its query; ``''`` if no other record has it.
    """

    value: float
    weight: float
    trials: tuple[float, ...] = ()
    query: str = ''


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
        queries: The query of each record; ``''`` or missing if no other record has it.

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
    queries: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lengths = {len(part) for part in (self.ids, self.a, self.b, self.weights_a, self.weights_b)}
        lengths |= {len(self.shuffled), len(self.queries)} - {0}
        if not self.ids or len(lengths) > 1 or min(*self.weights_a, *self.weights_b) <= 0:
            raise ValueError('pairs are of at least one record, each with two values and two weights above 0')

    def clusters(self, dataset: str = '') -> list[Cluster]:
        """Returns the cluster of each record."""
        return list(map(cluster_of, [dataset] * len(self.ids), self.ids, self.queries or [''] * len(self.ids)))

    def means(self) -> tuple[float, float]:
        """Both scores over these records."""
        sides = (self.a, self.weights_a), (self.b, self.weights_b)
        first, second = (math.fsum(map(float.__mul__, *side)) / math.fsum(side[1]) for side in sides)
        return first, second

    def without(self, records: Collection[str]) -> Pairs | None:
        """Returns the pairs of all other records; None if they have fewer than :data:`FEWEST` queries."""
        clusters = self.clusters()
        kept = [i for i, record in enumerate(self.ids) if record not in records]
        if len({clusters[i] for i in kept}) < FEWEST:
            return None
        a, b, weights_a, weights_b = (
            tuple(part[i] for i in kept) for part in (self.a, self.b, self.weights_a, self.weights_b)
        )
        shuffled = tuple(self.shuffled[i] for i in kept) if self.shuffled else ()
        queries = tuple(self.queries[i] for i in kept) if self.queries else ()
        return Pairs(tuple(self.ids[i] for i in kept), a, b, weights_a, weights_b, 0, shuffled, queries)

    def values_of(self, side: int) -> RecordValues:
        """Record -> value and weight, of the first (0) or of the second (1)."""
        values, weights = (self.b, self.weights_b) if side else (self.a, self.weights_a)
        queries = self.queries or [''] * len(self.ids)
        return {
            record: RecordValue(value, weight, query=query)
            for record, value, weight, query in zip(self.ids, values, weights, queries, strict=True)
        }

    def errors(self) -> tuple[float | None, float | None]:
        """The standard errors of both."""
        clusters = self.clusters()
        return standard_error(self.a, self.weights_a, clusters), standard_error(self.b, self.weights_b, clusters)


def cluster_of(dataset: str, record: str, query: str) -> Cluster:
    """Returns the cluster of a record; ``query`` is ``''`` if no other record has it."""
    return ('', query) if query else (dataset, record)


def deviations_of(values: RecordValues, dataset: str = '') -> dict[Cluster, float]:
    """Computes :func:`~opencompass_tooleval.core.scoring.aggregate.deviations`, summed over the records of a cluster.

    Args:
        values: The values of a data set.
        dataset: Its name, if clusters of several data sets are compared.
    """
    records = values.values()
    parts = deviations([record.value for record in records], [record.weight for record in records])
    return sums_of((cluster_of(dataset, name, record.query) for name, record in values.items()), parts)


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
        error: Its standard error, over clusters.
        freedom: Degrees of freedom of the error.
        differing: Number of clusters with different values.
        records: Number of records.
        queries: Number of clusters.
        step: Points of the score that a cluster which differs changes: the mean of the changes, weighted by their
            squares. Many small changes do not hide a few large ones, which are most of the error.
        largest: The largest share of one cluster in the score.
    """

    delta: float
    error: float
    freedom: int
    differing: int
    records: int
    queries: int
    step: float
    largest: float

    @property
    def sign_chance(self) -> float:
        """The smallest p-value that an exact test by signs could find (Fisher 1935)."""
        return 0.5**self.differing


@dataclass(slots=True)
class _Part:
    """The part of one cluster in a difference in a column, in points, summed over scores.

    Attributes:
        deviation: Its part of the error.
        change: Its part of the difference.
        share: Its share in the score, 0-1.
        differs: True if its values differ in some metric.
    """

    deviation: float = 0.0
    change: float = 0.0
    share: float = 0.0
    differs: bool = False


def effect_of(column: Mapping[Score, float], pairs: Mapping[Score, Pairs]) -> Effect:
    """Computes the difference in a column and its standard error, clustered by query.

    A score is a ratio of sums over clusters, so that its error is that of its linear approximation
    (``deviations``). Scores of one data set share its records, and data sets that ask the same queries share clusters;
    other data sets are independent. The degrees of freedom of several independent errors are Satterthwaite's (1946);
    of data sets that share clusters, the one with the fewest counts.

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
    parts: dict[str, set[Cluster]] = {}
    clusters: defaultdict[Cluster, _Part] = defaultdict(_Part)
    shuffled: dict[str, defaultdict[str, float]] = {}
    for (dataset, metric), share in column.items():
        score = pairs[dataset, metric]
        a, b = score.means()
        deltas.append(share * (b - a))
        names = score.clusters(dataset)
        parts.setdefault(dataset, set()).update(names)
        of_records = shuffled.setdefault(dataset, defaultdict(float))
        for record, deviation in zip(score.ids, _add(clusters, names, score, share), strict=True):
            of_records[record] += deviation  # metrics are taken to vary together
    strata = _strata(parts)
    sizes = [min(len(parts[dataset]) for dataset in stratum) for stratum in strata]
    variances = [
        _variance(
            [clusters[name].deviation for name in set().union(*(parts[dataset] for dataset in stratum))],
            size,
            [deviation for dataset in stratum for deviation in shuffled[dataset].values()],
        )
        for stratum, size in zip(strata, sizes, strict=True)
    ]
    total = math.fsum(variances)
    freedom = sum(sizes) - len(sizes)
    if total:
        shares = (variance**2 / (size - 1) for variance, size in zip(variances, sizes, strict=True))
        freedom = int(total**2 / math.fsum(shares) + NOISE)
    changes = [abs(part.change) for part in clusters.values() if part.differs]
    squares = math.fsum(change**2 for change in changes)
    return Effect(
        math.fsum(deltas),
        math.sqrt(total),
        max(1, freedom),
        len(changes),
        sum(map(len, shuffled.values())),
        len(clusters),
        math.fsum(change**3 for change in changes) / squares if squares else 0.0,
        max(part.share for part in clusters.values()),
    )


def _strata(parts: Mapping[str, Collection[Cluster]]) -> list[list[str]]:
    """Groups data sets so that those with a common cluster are together."""
    strata: list[list[str]] = []
    for dataset, clusters in parts.items():
        joined = [stratum for stratum in strata if any(not set(parts[one]).isdisjoint(clusters) for one in stratum)]
        strata = [stratum for stratum in strata if stratum not in joined]
        strata.append([*(one for stratum in joined for one in stratum), dataset])
    return strata


def _add(
    clusters: defaultdict[Cluster, _Part], names: Sequence[Cluster], score: Pairs, share: float
) -> Iterator[float]:
    """Adds the parts of one score's records to their clusters.

    Yields:
        The standard deviation of each record's part if its trials were shuffled.
    """
    totals = math.fsum(score.weights_a), math.fsum(score.weights_b)
    sides = (
        [part / total for part in deviations(values, weights)]
        for values, weights, total in zip((score.a, score.b), (score.weights_a, score.weights_b), totals, strict=True)
    )
    for i, (name, first, second) in enumerate(zip(names, *sides, strict=True)):
        part = clusters[name]
        weight = abs(share) * (score.weights_a[i] / totals[0] + score.weights_b[i] / totals[1]) / 2
        part.deviation += share * (second - first)
        part.change += math.copysign(weight, share) * (score.b[i] - score.a[i])
        part.share += weight
        part.differs |= abs(score.b[i] - score.a[i]) > NOISE
        yield weight * math.sqrt(score.shuffled[i]) if score.shuffled else 0.0


def _variance(deviations: Iterable[float], size: int, shuffled: Iterable[float]) -> float:
    """Computes the variance of the difference in data sets that share clusters."""
    clustered = math.fsum(deviation**2 for deviation in deviations) * size / (size - 1)
    return max(clustered, math.fsum(deviation**2 for deviation in shuffled))


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
    finds the difference, and :attr:`Effect.sign_chance` allows it. Other ends are wider, since the error of few queries
    that differ is too small: of 100 queries of which none differs it is 0. A larger difference, or one in the other
    direction, would have changed more queries, by :attr:`Effect.step` each; the interval has the differences for which
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
    return Interval(effect.delta, low, high, effect.records, effect.queries)


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


def score_interval(values: RecordValues, asked: float, alpha: float = ALPHA) -> tuple[float, float]:
    """Computes the interval of a score on all records of a data set, from a random sample of its queries.

    The ends are those of Wilson's score interval (1927) with a continuity correction. It is computed from the effective
    number of records, with which right and wrong answers would have the clustered error of these, divided by the share
    of the records that were not asked: the finite-population correction. To that error, two queries of average size are
    added, one with all values 0 and one with all 1, since a few queries do not show how much others vary. Of graded
    values this is the t interval, wider where they are near 0 or 1.

    Args:
        values: The values of the records that were asked.
        asked: Their share in all records, 0-1; 0 without the correction, where other answers could have been drawn.
        alpha: Chance that the score lies above the interval, and that it lies below.

    Returns:
        Both ends, 0-100.
    """
    sums: defaultdict[Cluster, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for name, record in values.items():
        of_cluster = sums[cluster_of('', name, record.query)]
        of_cluster[0] += record.weight * record.value
        of_cluster[1] += record.weight
    total, count = (math.fsum(parts) for parts in zip(*sums.values(), strict=True))
    mean = min(1.0, max(0.0, total / count))
    if asked >= 1:
        return _MOST * mean, _MOST * mean
    if len(sums) < FEWEST:
        return 0.0, _MOST
    added = count / len(sums)
    centre, weight = (total + added) / (count + 2 * added), count + 2 * added
    squares = [(value - centre * size) ** 2 for value, size in (*sums.values(), (0.0, added), (added, added))]
    variance = math.fsum(squares) * len(squares) / (len(squares) - 1) / weight**2
    effective = centre * (1 - centre) / variance * count / weight / (1 - asked)
    multiple, correction = t_quantile(1 - alpha, len(sums) - 1), 1 / (2 * len(values))
    low = _wilson_end(max(0.0, mean - correction), effective, -multiple)
    high = _wilson_end(min(1.0, mean + correction), effective, multiple)
    return _MOST * max(0.0, low), _MOST * min(1.0, high)


def _wilson_end(share: float, count: float, multiple: float) -> float:
    """Returns the upper end of Wilson's interval, or with a negative multiple the lower one."""
    more = multiple**2 / count
    root = math.sqrt(share * (1 - share) / count + more / count / 4)
    return (share + more / 2 + multiple * root) / (1 + more)


def lead_of(interval: Interval | None) -> str:
    """Returns the words for the first of two scores: only an interval without 0 lets it lead.

    Up to five queries are too few for any difference: if all of them differ in one direction, an exact test by signs
    has a p-value of 2 * 0.5**5 = 0.06.

    Args:
        interval: The other score minus the first; None if it is unknown.
    """
    if interval is None:
        return NO_INTERVAL
    if 0.5**interval.queries > ALPHA:
        return TOO_FEW
    return LEADS if interval.high < 0 or interval.low > 0 else BY_MEAN


def intervals_of(pairs: Mapping[Score, Pairs]) -> dict[Score, Interval]:
    """Computes the difference and the interval of each score with :func:`compare_column`."""
    return {score: compare_column({score: 1.0}, pairs) for score in pairs}


def t_chance(value: float, freedom: int) -> float:
    """Computes the chance that Student's t with these degrees of freedom is at most ``value``."""
    from scipy.special import stdtr  # most commands need none

    return float(stdtr(freedom, value))


@cache
def t_quantile(chance: float, freedom: int) -> float:
    """Returns the value that Student's t with these degrees of freedom is at most with this chance."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, chance))
