"""Scores and tables over several data sets: what a column is the mean of, and how sure a difference in it is."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opencompass_tooleval.core.bootstrap import Interval
from opencompass_tooleval.core.paired import Pairs

Score = tuple[str, str]
"""A data set, or a table, and its metric."""

Means = NDArray[np.float64]
"""Shape ``(2, samples)``: a score of both models in every resample, 0-100."""

_DIGITS = 9
"""Differences are rounded to as many: one of 0 must not be 1e-15 on one machine and -1e-15 on another."""


def columns_of(groups: Iterable[Mapping[str, Any]]) -> dict[Score, dict[Score, float]]:
    """Resolves tables down to the scores of data sets.

    Args:
        groups: Summary groups of OpenCompass with ``name``, ``metric``, ``subsets`` and perhaps ``weights`` (by data
            set); a group may use those before it.

    Returns:
        Table and column -> data set and metric -> its share; the shares of a column add up to 1.
    """
    columns: dict[Score, dict[Score, float]] = {}
    for group in groups:
        parts = [(str(name), str(metric)) for name, metric in group['subsets']]
        weights = [group.get('weights', {}).get(name, 1) for name, _ in parts]
        shares: dict[Score, float] = {}
        for part, weight in zip(parts, weights, strict=True):
            for score, share in columns.get(part, {part: 1.0}).items():
                shares[score] = shares.get(score, 0.0) + share * weight / sum(weights)
        columns[str(group['name']), str(group['metric'])] = shares
    return columns


def errors_of(result: Mapping[str, Any]) -> dict[str, float]:
    """Standard errors of a result's scores, 0-100, without those that are not known.

    An old result of several runs has a list, of the error of each run: it does not say that of their mean.
    """
    errors = result.get('standard_errors')
    known = errors.items() if isinstance(errors, Mapping) else ()
    return {metric: float(error) for metric, error in known if isinstance(error, (int, float))}


def column_error(shares: Mapping[Score, float], errors: Mapping[Score, float]) -> float | None:
    """The standard error of a column of a table, 0-100; None if that of a score is not known.

    Errors of different data sets are independent; those of scores of one data set are taken to move together, which is
    the most that they can add up to.

    Args:
        shares: Data set and metric -> share, as :func:`columns_of` has it.
        errors: Data set and metric -> standard error.
    """
    if not all(score in errors for score in shares):
        return None
    by_dataset: dict[str, float] = {}
    for score, share in shares.items():
        by_dataset[score[0]] = by_dataset.get(score[0], 0.0) + share * errors[score]
    return math.hypot(*by_dataset.values())


def resample(dataset: str, pairs: Mapping[str, Pairs], samples: int, seed: int) -> dict[str, Means]:
    """Both models' scores on a data set, in every metric, over resamples of its records.

    A record is drawn for all metrics at once, since they hang together.

    Args:
        dataset: Its abbr; with ``seed`` it decides what is drawn. So data sets are resampled independently, and what is
            drawn of one does not depend on which others are looked at.
        pairs: Metric -> values of the records.
        samples: Number of resamples.
        seed: Not negative.

    Returns:
        Metric -> scores; NaN in a resample without a record that the metric applies to.
    """
    position: dict[str, int] = {}
    for mine in pairs.values():
        for record in mine.ids:
            position.setdefault(record, len(position))
    size = len(position)
    columns = np.zeros((size, len(pairs), 4))
    for number, mine in enumerate(pairs.values()):
        at = [position[record] for record in mine.ids]
        a, b, in_a, in_b = map(np.array, (mine.a, mine.b, mine.weights_a, mine.weights_b))
        columns[at, number] = np.array([a * in_a, b * in_b, in_a, in_b]).T
    flat = columns.reshape(size, -1)
    generator = np.random.default_rng([seed, zlib.crc32(dataset.encode('utf-8', 'surrogatepass'))])
    totals = np.empty((samples, flat.shape[1]))
    for row in totals:
        row[:] = np.bincount(generator.integers(0, size, size), minlength=size) @ flat
    by_metric = totals.reshape(samples, len(pairs), 4)
    with np.errstate(invalid='ignore'):
        return {metric: (by_metric[:, i, :2] / by_metric[:, i, 2:]).T for i, metric in enumerate(pairs)}


@dataclass(frozen=True)
class ColumnDifference:
    """A score, or a column of a table, as two models have it over the records of both.

    Attributes:
        error_a: Bootstrap standard error of the first's score, 0-100.
        error_b: The same of the second's.
        interval: Their difference in points.
    """

    error_a: float
    error_b: float
    interval: Interval


def compare_column(
    column: Mapping[Score, float], pairs: Mapping[Score, Pairs], means: Mapping[Score, Means], level: float = 0.95
) -> ColumnDifference:
    """The difference in a column and its percentile interval: a stratified bootstrap, whose strata are the data sets.

    A resample of the column is the mean of one resample of each of its data sets. A small data set counts as much as a
    large one, as it does in the table, and makes the interval wider. Scores of one data set share its resamples.

    Args:
        column: Data set and metric -> share, as :func:`columns_of` has it; ``{score: 1.0}`` for one score.
        pairs: Data set and metric -> values of the records.
        means: Data set and metric -> :func:`resample`.
        level: Share of the resamples that lie in the interval.
    """
    both = np.sum([share * means[score] for score, share in column.items()], axis=0)
    low, high = np.nanquantile(np.round(both[1] - both[0], _DIGITS), [(1 - level) / 2, (1 + level) / 2])
    sides = [pairs[score].means() for score in column]
    delta = math.fsum(share * (b - a) for share, (a, b) in zip(column.values(), sides, strict=True))
    records = len({(score[0], record) for score in column for record in pairs[score].ids})
    error_a, error_b = np.nanstd(both, axis=1)
    return ColumnDifference(float(error_a), float(error_b), Interval(delta, float(low), float(high), records))
