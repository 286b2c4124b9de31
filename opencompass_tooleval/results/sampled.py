"""Estimates the scores of all records from a sample of the records, with intervals. Imports no OpenCompass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.catalogue.benchmark import is_sampled, record_count
from opencompass_tooleval.catalogue.metrics import OVERALL, main_metrics
from opencompass_tooleval.catalogue.provenance import Provenance
from opencompass_tooleval.catalogue.tables import CORRELATIONS, column_error
from opencompass_tooleval.core.scoring.usage_summary import spending_of
from opencompass_tooleval.core.statistics.intervals import ALPHA, Score, score_interval
from opencompass_tooleval.core.statistics.paired import Result, metrics_of, values_of
from opencompass_tooleval.core.statistics.sample import LOOK, LOOKS, UNSEEN
from opencompass_tooleval.core.text.jsonable import is_number

INTERVALS = 'intervals'
"""Key of a result whose records are a sample: metric -> both ends of its interval, 0-100."""


def intervals_of_sample(result: Result, is_greedy: bool) -> dict[str, list[float]]:
    """Computes the intervals of a result's scores; empty if its records are not a sample.

    Scores that are not means over records are left out.

    Args:
        result: A result with ``details``.
        is_greedy: True if a record gets the same answer each time, so that asking all records leaves no uncertainty.
    """
    if not is_sampled(result):
        return {}
    (asked, total), about = _counts(result), Provenance.of(result).stored
    alpha, unseen = ALPHA / LOOKS if about.get(LOOK) else ALPHA, about.get(UNSEEN)
    read = {metric: values_of(result, metric) for metric in metrics_of(result)}
    share = asked / total if is_greedy and total else 0.0
    hidden = min(unseen, total) / total if type(unseen) is int and total else 0.0
    return {metric: [*score_interval(values, share, alpha, hidden)] for metric, values in read.items() if values}


def _counts(result: Result) -> tuple[int, int]:
    """Returns the number of records that were asked, and the number of all records."""
    asked, samples = record_count(result) or 0, result.get('samples')
    total = samples.get('of') if isinstance(samples, Mapping) else None
    return asked, total if type(total) is int and total > asked else asked


@dataclass(frozen=True)
class Estimate:
    """A main score of a model, estimated from a sample.

    Attributes:
        name: The table or data set.
        metric: The main metric.
        value: The score, 0-100.
        low: Lower end of the interval; None if the score has no interval.
        high: Upper end.
        counts: Data set of the score -> number of records that were asked, and of all records.
        cost_of_rest: Estimated cost of the records that were not asked; None without prices.
    """

    name: str
    metric: str
    value: float
    low: float | None
    high: float | None
    counts: Mapping[str, tuple[int, int]]
    cost_of_rest: float | None

    @property
    def half(self) -> float:
        """Half of the width of the interval, in points; infinite without an interval."""
        return math.inf if self.low is None or self.high is None else (self.high - self.low) / 2

    def is_within(self, points: float) -> bool:
        """Tests if half of the width of the interval is at most ``points``, or all records were asked."""
        return self.half <= points or all(asked >= total for asked, total in self.counts.values())

    @property
    def cells(self) -> tuple[str, ...]:
        """Score, low and high end, asked records, all records and the cost of the rest, as text; '' if unknown."""
        value, low, high = ('' if end is None else f'{end:.2f}' for end in (self.value, self.low, self.high))
        asked, total = (f'{sum(numbers):,}' for numbers in zip(*self.counts.values(), strict=True))
        return value, low, high, asked, total, f'{self.cost_of_rest:,.2f}' if self.cost_of_rest else ''

    def __str__(self) -> str:
        value, low, high, asked, total, cost = self.cells
        interval = f' [{low}, {high}]' if low else ''
        if (self.low, self.high) == (0, 100):
            interval = ' (no interval: one query has too many of the records; take a larger sample)'
        return f'{value}{interval}, {asked} of {total} records' + (f'; the rest costs about {cost}' if cost else '')


def estimates_of(results: Mapping[str, Result], columns: Mapping[Score, Mapping[Score, float]]) -> Iterator[Estimate]:
    """Yields the main scores that are based on samples: overall scores of complete tables, and other data sets' scores.

    Args:
        results: Data set -> result of one model, from :func:`~opencompass_tooleval.catalogue.tables.without_samples`.
        columns: Table and column -> the shares of its scores.
    """
    in_tables: set[str] = set()
    for (name, metric), shares in columns.items():
        if metric == OVERALL and all(_number(results, score) is not None for score in shares):
            in_tables |= {dataset for dataset, _ in shares}
            yield from _estimate(results, name, metric, shares)
    for dataset, result in results.items():
        if dataset not in in_tables:
            for metric in main_metrics(metrics_of(result)):
                yield from _estimate(results, dataset, metric, {(dataset, metric): 1.0})


def _estimate(
    results: Mapping[str, Result], name: str, metric: str, shares: Mapping[Score, float]
) -> Iterator[Estimate]:
    datasets = tuple(dict.fromkeys(dataset for dataset, _ in shares))
    of_score = [results[dataset] for dataset in datasets]
    if not any(map(is_sampled, of_score)):
        return
    parts = [*map(_counts, of_score)]
    values = {score: _number(results, score) or 0.0 for score in shares}
    value = math.fsum(share * values[score] for score, share in shares.items())
    low, high = _ends(results, shares, values, value)
    costs = [_cost_of_rest(result, *part) for result, part in zip(of_score, parts, strict=True)]
    known = [cost for cost in costs if cost is not None]
    counts = dict(zip(datasets, parts, strict=True))
    yield Estimate(name, metric, value, low, high, counts, math.fsum(known) if known else None)


def _ends(
    results: Mapping[str, Result], shares: Mapping[Score, float], values: Mapping[Score, float], value: float
) -> tuple[float | None, float | None]:
    """Combines the intervals of the scores (MOVER, Zou and Donner 2008); the distance to each end acts as an error.

    If all records of a data set were asked, both ends of its interval are its score.
    """
    correlations = {dataset: results[dataset].get(CORRELATIONS, {}) for dataset, _ in shares}
    ends = {score: _interval(results[score[0]], score[1], values[score]) for score in shares}
    distances = []
    for side in (0, 1):
        errors = {score: abs(both[side] - values[score]) for score, both in ends.items() if both}
        distances.append(column_error(shares, errors, correlations))
    if distances[0] is None or distances[1] is None:
        return None, None
    return max(0.0, value - distances[0]), min(100.0, value + distances[1])


def _interval(result: Result, metric: str, value: float) -> tuple[float, float] | None:
    if not is_sampled(result):
        return value, value
    known = result.get(INTERVALS)
    ends: Any = known.get(metric) if isinstance(known, Mapping) else None
    if not isinstance(ends, Sequence) or len(ends) != 2 or not all(map(is_number, ends)):
        return None
    return ends[0], ends[1]


def _number(results: Mapping[str, Result], score: Score) -> float | None:
    value = results.get(score[0], {}).get(score[1])
    return value if is_number(value) else None


def _cost_of_rest(result: Result, asked: int, total: int) -> float | None:
    """Estimates the cost of the records that were not asked from the cost of the others."""
    spending = spending_of(result.get('usage'))
    cost = spending.cost if spending else None
    return None if cost is None or not asked else cost * (total - asked) / asked
