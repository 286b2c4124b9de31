"""Ranks models by each score, and tests if the leader's lead is significant, with paired intervals over samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.core.statistics.intervals import (
    Interval,
    Pairs,
    RecordValues,
    Score,
    compare_column,
    lead_of,
)
from opencompass_tooleval.core.statistics.paired import metrics_of, pair_up, record_values
from opencompass_tooleval.report.figure import mean

_NOISE = 1e-5
"""Scores that differ by fewer points are equal: the difference is a rounding error."""

Shares = Mapping[Score, float]
"""Data set and metric -> its share in a score."""


@dataclass
class Digest:
    """Data from the samples for the first page, collected while each result is read once.

    Attributes:
        values: Model and data set -> metric -> values by record.
        lost: Model and data set -> reason -> lost score; 1 is a whole sample.
        scores: Model and data set -> score of each sample, 0-1 or None, in the data's order.
        ids: Model and data set -> record ids, in the same order.
    """

    values: dict[tuple[str, str], dict[str, tuple[RecordValues | None, ...]]] = field(default_factory=dict)
    lost: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    scores: dict[tuple[str, str], list[float | None]] = field(default_factory=dict)
    ids: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def add(self, model: str, dataset: str, result: Mapping[str, Any], index: Mapping[str, Any]) -> None:
        """Adds a result.

        Args:
            model: The model's name in the report.
            dataset: Abbr of the data set.
            result: The result with ``details``.
            index: The result of :func:`~opencompass_tooleval.report.samples.index_of`.
        """
        key = model, dataset
        self.values[key] = {metric: record_values(result, metric) for metric in metrics_of(result)}
        columns = [index['values'][index['metrics'].index(name)] for name in index['main']]
        rows = zip(*columns, strict=True) if columns else ((),) * len(index['ids'])
        scores = [mean(values) for values in rows]
        self.scores[key], self.ids[key] = scores, index['ids']
        lost = self.lost[key] = {}
        for number, score in zip(index['reason'], scores, strict=True):
            if score is not None and index['reasons'][number] != OK:
                reason = index['reasons'][number]
                lost[reason] = lost.get(reason, 0.0) + 1 - score


@dataclass(frozen=True)
class Standing:
    """The ranking of models by one score.

    Attributes:
        order: Models that have the score, the best first.
        scores: Model -> score, 0-100.
        behind: Model -> its difference from the first, in points; None if there is no interval, such as for models with
            different records.
    """

    order: tuple[str, ...]
    scores: Mapping[str, float]
    behind: Mapping[str, Interval | None]

    @property
    def leader(self) -> str:
        return self.order[0]

    @property
    def equal(self) -> list[str]:
        """Returns the other models with the first model's score, within rounding errors."""
        return [model for model in self.order[1:] if math.isclose(self.behind_by(model), 0, abs_tol=_NOISE)]

    def behind_by(self, model: str) -> float:
        """Returns the score of a model minus that of the first, in points."""
        return self.scores[model] - self.scores[self.leader]

    def others(self, lead: str) -> list[str]:
        """Returns the models over which the first model has this kind of lead (:func:`lead_of`)."""
        return [model for model in self.order[1:] if lead_of(self.behind.get(model)) == lead]


def standings(
    columns: Mapping[str, Shares], scores: Mapping[str, Mapping[str, float]], digest: Digest
) -> dict[str, Standing]:
    """Computes the standing for every score, over the models that have it.

    Args:
        columns: Name of a score -> its parts, with their shares.
        scores: Name of a score -> model -> score, 0-100.
        digest: The digest of all results.
    """
    standing_of = {}
    paired = cache(partial(_paired, digest))
    for name, shares in columns.items():
        order = tuple(sorted(scores[name], key=lambda model: -scores[name][model]))
        if order:
            behind = {other: _interval(shares, scores[name], paired, order[0], other) for other in order[1:]}
            standing_of[name] = Standing(order, scores[name], behind)
    return standing_of


def _paired(digest: Digest, score: Score, first: str, second: str) -> Pairs | None:
    """Pairs the records of two models in one score."""
    dataset, metric = score
    a, b = (digest.values.get((model, dataset), {}).get(metric) for model in (first, second))
    return None if a is None or b is None else pair_up(a, b)


def _interval(
    shares: Shares,
    scores: Mapping[str, float],
    paired: Callable[[Score, str, str], Pairs | None],
    first: str,
    second: str,
) -> Interval | None:
    """Returns the interval of two models' difference; None unless all parts are means over the same records."""
    pairs = {score: pairs_of_score for score in shares if (pairs_of_score := paired(score, first, second))}
    if len(pairs) < len(shares):
        return None
    interval = compare_column(shares, pairs)
    # The first model may lead over all of its records, but not over the records that both models have.
    is_whole = math.isclose(interval.delta, scores[second] - scores[first], abs_tol=_NOISE)
    return interval if is_whole else None
