"""Scores of samples -> metrics on 0-100, their standard errors and the reasons."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from opencompass_tooleval.core.result import INFRA, SampleScore


@dataclass(frozen=True)
class Aggregate:
    """What a set of samples scored.

    Attributes:
        metrics: Metric -> mean over all samples it applies to, 0-100; None if it applies to none.
        standard_errors: Metric -> standard error of that mean, 0-100; None for fewer than two samples.
        reasons: Reason -> number of samples, most frequent first. They add up to ``samples``.
        samples: Number of samples: the denominator, whatever went wrong with them.
        infra: How many of them got no answer through no fault of the model.
    """

    metrics: dict[str, float | None]
    standard_errors: dict[str, float | None]
    reasons: dict[str, int]
    samples: int
    infra: int


def _standard_error(values: Sequence[float], mean: float) -> float | None:
    if len(values) < 2:
        return None
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return math.sqrt(variance / len(values))


def aggregate(scores: Sequence[SampleScore], metrics: Sequence[str]) -> Aggregate:
    """Aggregates ``scores`` over the named ``metrics``, in that order.

    Raises:
        ValueError: There is no sample, or one lacks a metric.
    """
    if not scores:
        raise ValueError('no samples to aggregate')
    means: dict[str, float | None] = {}
    errors: dict[str, float | None] = {}
    for metric in metrics:
        missing = [score.id for score in scores if metric not in score.values]
        if missing:
            raise ValueError(f'metric {metric!r} is missing in record {missing[0]!r}')
        values = [value for score in scores if (value := score.values[metric]) is not None]
        mean = math.fsum(values) / len(values) if values else None
        error = None if mean is None else _standard_error(values, mean)
        means[metric] = None if mean is None else 100 * mean
        errors[metric] = None if error is None else 100 * error
    reasons = Counter(score.reason for score in scores)
    infra = sum(count for reason, count in reasons.items() if reason.startswith(INFRA))
    ordered = dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    return Aggregate(means, errors, ordered, len(scores), infra)
