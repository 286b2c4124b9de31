"""Intervals of differences by a paired bootstrap, percentile method (Efron and Tibshirani, 1993, chapter 13).

Every screen uses these functions with the same number of resamples and the same seed, so that two results have the same
interval everywhere.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opencompass_tooleval.core.aggregate import standard_error

RESAMPLES = 10_000
SEED = 0
LEVEL = 0.95
FEWEST = 2
"""Minimum number of records for an interval."""

Score = tuple[str, str]
"""A data set, or a table, and its metric."""

Means = NDArray[np.float64]
"""Shape ``(2, samples)``: a score of both sides in every resample."""

_CHUNK = 1 << 18
"""Number of records drawn at once: 6 MB with their counts, for any number of records and resamples."""

_DIGITS = 9
"""Digits to which differences are rounded: 0 must not be 1e-15 on one machine and -1e-15 on another."""


@dataclass(frozen=True)
class Interval:
    """A difference of two scores with its interval.

    Attributes:
        delta: The second minus the first, in their unit.
        low: Lower end of the interval.
        high: Upper end.
        pairs: Number of records.
    """

    delta: float
    low: float
    high: float
    pairs: int


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

    Raises:
        ValueError: There is no record, the sequences differ in length, or a weight is not positive.
    """

    ids: tuple[str, ...]
    a: tuple[float, ...]
    b: tuple[float, ...]
    weights_a: tuple[float, ...]
    weights_b: tuple[float, ...]
    unshared: int = 0

    def __post_init__(self) -> None:
        lengths = {len(part) for part in (self.ids, self.a, self.b, self.weights_a, self.weights_b)}
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
        return Pairs(tuple(self.ids[i] for i in kept), a, b, weights_a, weights_b)

    def values_of(self, side: int) -> dict[str, tuple[float, float]]:
        """Record -> value and weight, of the first (0) or of the second (1)."""
        values, weights = (self.b, self.weights_b) if side else (self.a, self.weights_a)
        return dict(zip(self.ids, zip(values, weights, strict=True), strict=True))

    def errors(self) -> tuple[float | None, float | None]:
        """The standard errors of both."""
        return standard_error(self.a, self.weights_a), standard_error(self.b, self.weights_b)


def _counts(dataset: str, size: int, samples: int, seed: int) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Yields a slice of resamples, and the counts of each record in them."""
    # Not hash(): Python gives another one for the same name in every process.
    generator = np.random.default_rng([seed, zlib.crc32(dataset.encode('utf-8', 'surrogatepass'))])
    step = max(1, _CHUNK // size)
    for start in range(0, samples, step):
        number = min(step, samples - start)
        drawn = generator.integers(0, size, (number, size)) + size * np.arange(number)[:, None]
        yield slice(start, start + number), np.bincount(drawn.ravel(), minlength=number * size).reshape(number, size)


def resample(pairs: Mapping[Score, Pairs], samples: int = RESAMPLES, seed: int = SEED) -> dict[Score, Means]:
    """Computes both sides' scores over resamples of the records of each data set.

    A record is drawn for all metrics of its data set at once, since they are correlated. The draws depend on ``seed``
    and the data set's name: data sets are resampled independently, and the draws of one do not depend on the others.

    Args:
        pairs: Data set and metric -> values of the records.
        samples: Number of resamples.
        seed: Seed, not negative.

    Returns:
        Data set and metric -> scores; NaN in a resample without a record that the metric applies to.

    Raises:
        ValueError: ``samples`` is below 1, or ``seed`` is negative.
    """
    if samples < 1:
        raise ValueError(f'samples={samples} must be at least 1')
    means: dict[Score, Means] = {}
    for dataset in dict.fromkeys(dataset for dataset, _ in pairs):
        dataset_pairs = {score: score_pairs for score, score_pairs in pairs.items() if score[0] == dataset}
        position = {
            record: i
            for i, record in enumerate(
                dict.fromkeys(id for score_pairs in dataset_pairs.values() for id in score_pairs.ids)
            )
        }
        columns = np.zeros((len(position), len(dataset_pairs), 4))
        for number, score_pairs in enumerate(dataset_pairs.values()):
            a, b, in_a, in_b = map(
                np.array, (score_pairs.a, score_pairs.b, score_pairs.weights_a, score_pairs.weights_b)
            )
            columns[[position[record] for record in score_pairs.ids], number] = np.array(
                [a * in_a, b * in_b, in_a, in_b]
            ).T
        totals = np.empty((samples, len(dataset_pairs) * 4))
        for part, counts in _counts(dataset, len(position), samples, seed):
            totals[part] = counts @ columns.reshape(len(position), -1)
        by_metric = totals.reshape(samples, len(dataset_pairs), 4)
        with np.errstate(invalid='ignore'):
            means |= {score: (by_metric[:, i, :2] / by_metric[:, i, 2:]).T for i, score in enumerate(dataset_pairs)}
    return means


def compare_column(
    column: Mapping[Score, float], pairs: Mapping[Score, Pairs], means: Mapping[Score, Means], level: float = LEVEL
) -> Interval:
    """Computes the difference in a column and its percentile interval, by a bootstrap stratified by data set.

    A resample of the column is the mean of one resample of each of its data sets. A small data set counts as much as a
    large one, as it does in the table, and makes the interval wider. Scores of one data set share its resamples.

    Args:
        column: Data set and metric -> share, from :func:`~opencompass_tooleval.core.tables.columns_of`;
            ``{score: 1.0}`` for one score.
        pairs: Data set and metric -> values of the records.
        means: The result of :func:`resample` for ``pairs``.
        level: Share of the resamples in the interval.

    Raises:
        ValueError: ``level`` is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ValueError(f'level={level} must be between 0 and 1')
    both = np.sum([share * means[score] for score, share in column.items()], axis=0)
    low, high = np.nanquantile(np.round(both[1] - both[0], _DIGITS), [(1 - level) / 2, (1 + level) / 2])
    sides = [pairs[score].means() for score in column]
    delta = math.fsum(share * (b - a) for share, (a, b) in zip(column.values(), sides, strict=True))
    records = len({(score[0], record) for score in column for record in pairs[score].ids})
    return Interval(delta, float(low), float(high), records)


def intervals_of(
    pairs: Mapping[Score, Pairs], samples: int = RESAMPLES, seed: int = SEED, level: float = LEVEL
) -> dict[Score, Interval]:
    """Computes the difference and interval of each score with :func:`resample` and :func:`compare_column`."""
    means = resample(pairs, samples, seed)
    return {score: compare_column({score: 1.0}, pairs, means, level) for score in pairs}
