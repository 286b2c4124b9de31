"""Paired differences of two results, with errors clustered by query and 95% intervals; intervals of sampled scores.

Every screen uses these functions, so that a difference has the same interval everywhere. ``tooleval gate`` tests with
the same error.
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
"""Chance of a false alarm in a one-sided test: one tail of the intervals."""
FEWEST = 2
"""Minimum number of records for an interval."""
LEADS, BY_MEAN, TOO_FEW, NO_INTERVAL = (
    'leads',
    'ahead, may be chance',
    'too few to rank',
    'ahead, no interval',
)
"""Texts for the first of two scores, the same on every screen and page; see :func:`lead_of`."""

_MOST_OF_ONE, _DECIDES = 0.1, 0.5
"""If one query has a larger share of a sample, and that share times the ratio of its size to the average is larger, the
sample is no basis for an interval."""

NOISE = 1e-7
"""Values that differ by less (in points) count as equal, because of rounding errors."""

_DIGITS = 9
"""Digits of an interval's ends, so that 0 is not 1e-15 on one machine and -1e-15 on another."""

_MOST = 100.0
"""The largest difference of two scores, in points."""

Score = tuple[str, str]
"""A dataset (or a table) and its metric."""

Cluster = tuple[str, str]
"""Identifies correlated records: ``('', query)`` for a query, which several datasets may share; else the dataset and
the only record."""


@dataclass(frozen=True)
class Interval:
    """The difference of two scores, with its interval.

    Attributes:
        delta: The second score minus the first, in points.
        low: Lower end of the interval, in points.
        high: Upper end, in points.
        pairs: Number of records.
        queries: Number of independent clusters.
    """

    delta: float
    low: float
    high: float
    pairs: int
    queries: int


class RecordValue(NamedTuple):
    """The values of one record in one score.

    Attributes:
        value: The mean of the values, 0-1.
        weight: The number of values.
        trials: The mean of each trial, 0-1; empty for a single trial.
        query: The record's query; ``''`` if no other record has it.
    """

    value: float
    weight: float
    trials: tuple[float, ...] = ()
    query: str = ''


RecordValues = dict[str, RecordValue]
"""Values by record id."""


@dataclass(frozen=True)
class Pairs:
    """One score in two results, over the records that both have.

    Attributes:
        ids: Ids of the records.
        a: Values of the records in the first result, 0-100.
        b: Values of the records in the second result, 0-100.
        weights_a: Weight of each record in the first result: the number of values in its mean.
        weights_b: Weight of each record in the second result.
        unshared: Number of records that only one result has.
        shuffled: For each record, the variance of its difference if its trials were shuffled between the two results
            (:func:`shuffled_variance`); empty if each record has the same number of trials in both.
        queries: The query of each record; ``''`` or missing if no other record has it.

    Raises:
        ValueError: There are no records, the sequences differ in length, or a weight is not positive.
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
        """Returns both scores over these records."""
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
        """Returns values and weights by record, of the first result (0) or the second (1)."""
        values, weights = (self.b, self.weights_b) if side else (self.a, self.weights_a)
        queries = self.queries or [''] * len(self.ids)
        return {
            record: RecordValue(value, weight, query=query)
            for record, value, weight, query in zip(self.ids, values, weights, queries, strict=True)
        }

    def errors(self) -> tuple[float | None, float | None]:
        """Returns the standard errors of both scores."""
        clusters = self.clusters()
        return standard_error(self.a, self.weights_a, clusters), standard_error(self.b, self.weights_b, clusters)


def cluster_of(dataset: str, record: str, query: str) -> Cluster:
    """Returns the cluster of a record. ``query`` is ``''`` if no other record has it."""
    return ('', query) if query else (dataset, record)


def deviations_of(values: RecordValues, dataset: str = '') -> dict[Cluster, float]:
    """Computes :func:`~opencompass_tooleval.core.scoring.aggregate.deviations`, summed by cluster.

    Args:
        values: The values of a dataset.
        dataset: Name of the dataset, if clusters of several datasets are compared.
    """
    records = values.values()
    parts = deviations([record.value for record in records], [record.weight for record in records])
    return sums_of((cluster_of(dataset, name, record.query) for name, record in values.items()), parts)


def shuffled_variance(first: Sequence[float], second: Sequence[float]) -> float:
    """Computes the variance of the difference of two means if their values were shuffled between them."""
    values = [*first, *second]
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return variance * (1 / len(first) + 1 / len(second))


@dataclass(frozen=True)
class Effect:
    """A paired difference, with its error.

    Attributes:
        delta: The second score minus the first, in points.
        error: Standard error of the difference, over clusters.
        freedom: Degrees of freedom of the error.
        differing: Number of clusters with different values.
        records: Number of records.
        queries: Number of clusters.
        step: Points by which a cluster that differs changes the score: the mean of the changes, weighted by their
            squares. So a few large changes, which cause most of the error, count more than many small ones.
        largest: The largest share of one cluster in the score, 0-1.
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
        """The smallest possible p-value of an exact sign test (Fisher 1935)."""
        return 0.5**self.differing


@dataclass(slots=True)
class _Part:
    """One cluster's part of a difference in a column, in points, summed over scores.

    Attributes:
        deviation: The cluster's part of the error.
        change: The cluster's part of the difference.
        share: The cluster's share in the score, 0-1.
        differs: True if the cluster's values differ in some metric.
    """

    deviation: float = 0.0
    change: float = 0.0
    share: float = 0.0
    differs: bool = False


def effect_of(column: Mapping[Score, float], pairs: Mapping[Score, Pairs]) -> Effect:
    """Computes the difference in a column and its standard error, clustered by query.

    A score is a ratio of sums over clusters, so its error is that of its linear approximation (``deviations``). Scores
    of one dataset share its records, and datasets with the same queries share clusters; other datasets are independent.
    The degrees of freedom for several independent errors are Satterthwaite's (1946); among datasets that share
    clusters, the one with the fewest clusters counts.

    If records have more trials in one result than in the other, the difference is skewed. For example, take 30 records
    that are right in 98% of all trials: most are right in the only trial of one result, but several have a failure
    among the 16 trials of the other. This gives small differences in one direction, with a small error. Therefore the
    variance of such a dataset is at least the variance if each record's trials were shuffled between the results.

    Args:
        column: Dataset and metric -> share, from :func:`~opencompass_tooleval.catalogue.tables.columns_of`;
            ``{score: 1.0}`` for a single score.
        pairs: Dataset and metric -> values of the records.
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
            of_records[record] += deviation  # assumes that metrics vary together
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
    """Groups datasets so that those with a common cluster are together."""
    strata: list[list[str]] = []
    for dataset, clusters in parts.items():
        joined = [stratum for stratum in strata if any(not set(parts[one]).isdisjoint(clusters) for one in stratum)]
        strata = [stratum for stratum in strata if stratum not in joined]
        strata.append([*(one for stratum in joined for one in stratum), dataset])
    return strata


def _add(
    clusters: defaultdict[Cluster, _Part], names: Sequence[Cluster], score: Pairs, share: float
) -> Iterator[float]:
    """Adds one score's records to their clusters.

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
    """Computes the variance of the difference over datasets that share clusters."""
    clustered = math.fsum(deviation**2 for deviation in deviations) * size / (size - 1)
    return max(clustered, math.fsum(deviation**2 for deviation in shuffled))


def unseen_drop(share: float) -> float:
    """Returns the largest true difference, in points, that is not ruled out if no record differs.

    If a share d of all tasks changed, none of n records would show it with a chance of ``(1 - d) ** n``. For larger d
    this chance is below 5%.

    Args:
        share: Share of one record in the score: 1 / n.
    """
    return _MOST * -math.expm1(share * math.log(1 - LEVEL))


def records_without_difference(points: float) -> int:
    """Returns how many records without a difference rule out a difference of ``points``, above 0."""
    return max(1, math.ceil(math.log(1 - LEVEL) / math.log1p(-points / _MOST))) if points < _MOST else 1


def compare_column(column: Mapping[Score, float], pairs: Mapping[Score, Pairs]) -> Interval:
    """Computes the difference in a column and its 95% interval, from the error of :func:`effect_of`.

    If a difference is significant, the end of its interval towards 0 is that of a t interval: the interval excludes 0
    exactly if a t test finds the difference and :attr:`Effect.sign_chance` allows it. Other ends are wider, since the
    error is too small if few queries differ: it is 0 if none of 100 queries differ. A larger difference, or one in the
    other direction, would have changed more queries, by :attr:`Effect.step` each, and so would have a larger error. The
    interval contains a difference if the observed one lies within this error of it. For right-or-wrong answers this is
    a score interval (Wilson 1927). The ends are at least :func:`unseen_drop` away, since a change of few tasks may go
    unseen.

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
    """Returns the upper end of the interval of ``delta``, which is the effect's delta or its negative."""
    multiple = t_quantile(1 - ALPHA, effect.freedom)
    near, more = multiple * effect.error, multiple**2 * effect.step / 2
    if delta + near < -NOISE and effect.sign_chance <= ALPHA:
        return delta + near
    # The largest x with (gap + x)**2 == near**2 + 2 * more * x; the end is x beyond 0, or beyond a delta above 0.
    gap = max(0.0, -delta)
    root = (more - gap) ** 2 + near**2 - gap**2
    beyond = more - gap + math.sqrt(root) if root > 0 else 0.0
    return max(max(0.0, delta) + max(0.0, beyond), delta + unseen_drop(effect.largest))


def score_interval(
    values: RecordValues, asked: float, alpha: float = ALPHA, unseen: float = 0.0
) -> tuple[float, float]:
    """Computes the interval of the score on all records of a dataset, from a random sample of its queries.

    The ends are those of Wilson's score interval (1927) with a continuity correction. The interval uses the effective
    number of records: the number of right-or-wrong answers that would have the observed clustered error, divided by the
    share of records outside the sample (the finite-population correction). For the error, two queries of average size
    are added, one with all values 0 and one with all 1, since a few queries do not show how much others vary. For
    graded values the result is the t interval, wider near 0 and 1.

    The interval is that of the records except the ``unseen`` ones, which may all be wrong, or all right. It is 0 to 100
    if one query has so many of the sampled records that it decides: more than a tenth, and more than half divided by
    the ratio of its size to the average.

    Args:
        values: The values of the sampled records.
        asked: Share of all records in the sample, 0-1. Use 0 for no correction, if answers are random too.
        alpha: Chance that the score lies above the interval; the same for below.
        unseen: Share of all records in large queries that the sample says nothing about, 0-1.

    Returns:
        Lower and upper end, 0-100.
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
    largest = max(size for _, size in sums.values()) / count
    if len(sums) < FEWEST or largest > max(_MOST_OF_ONE, _DECIDES / (largest * len(sums))):
        return 0.0, _MOST
    added = count / len(sums)
    centre, weight = (total + added) / (count + 2 * added), count + 2 * added
    squares = [(value - centre * size) ** 2 for value, size in (*sums.values(), (0.0, added), (added, added))]
    variance = math.fsum(squares) * len(squares) / (len(squares) - 1) / weight**2
    effective = centre * (1 - centre) / variance * count / weight / (1 - asked)
    multiple, correction = t_quantile(1 - alpha, len(sums) - 1), 1 / (2 * len(values))
    low = _wilson_end(max(0.0, mean - correction), effective, -multiple)
    high = _wilson_end(min(1.0, mean + correction), effective, multiple)
    return _MOST * max(0.0, low) * (1 - unseen), _MOST * (1 - max(0.0, 1 - high) * (1 - unseen))


def _wilson_end(share: float, count: float, multiple: float) -> float:
    """Returns the upper end of Wilson's interval, or the lower one if ``multiple`` is negative."""
    more = multiple**2 / count
    root = math.sqrt(share * (1 - share) / count + more / count / 4)
    return (share + more / 2 + multiple * root) / (1 + more)


def lead_of(interval: Interval | None) -> str:
    """Returns the text for the first of two scores. It "leads" only if the interval excludes 0.

    Five queries are too few for any difference: if all of them differ in one direction, an exact sign test has a
    p-value of 2 * 0.5**5 = 0.06.

    Args:
        interval: The other score minus the first; None if unknown.
    """
    if interval is None:
        return NO_INTERVAL
    if 0.5**interval.queries > ALPHA:
        return TOO_FEW
    return LEADS if interval.high < 0 or interval.low > 0 else BY_MEAN


def intervals_of(pairs: Mapping[Score, Pairs]) -> dict[Score, Interval]:
    """Returns the difference and the interval of each score, from :func:`compare_column`."""
    return {score: compare_column({score: 1.0}, pairs) for score in pairs}


def t_chance(value: float, freedom: int) -> float:
    """Returns the chance that Student's t with ``freedom`` degrees of freedom is at most ``value``."""
    from scipy.special import stdtr  # most commands do not need SciPy

    return float(stdtr(freedom, value))


@cache
def t_quantile(chance: float, freedom: int) -> float:
    """Returns the ``chance`` quantile of Student's t with ``freedom`` degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, chance))


def in_words(interval: Interval | None) -> str:
    """Formats a difference with its interval: ``-3.20 [-5.10, -1.30]``."""
    if interval is None:
        return ''
    return f'{interval.delta:+.2f} [{interval.low + 0.0:+.2f}, {interval.high + 0.0:+.2f}]'
