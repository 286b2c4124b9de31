"""Aggregates scores of samples to metrics on 0-100, their standard errors and reasons."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from opencompass_tooleval.core.scoring.result import INFRA, SampleScore

C = TypeVar('C', bound=Hashable)


@dataclass(frozen=True)
class Aggregate:
    """Aggregated scores of a set of samples.

    Attributes:
        metrics: Metric -> mean over all samples it applies to, 0-100; None if it applies to none.
        standard_errors: Metric -> standard error of that mean, 0-100; None for fewer than two queries. Samples of one
            query, such as its steps or several runs of a record, are correlated: the error is clustered by query.
        reasons: Reason -> number of samples, most frequent first. They add up to ``samples``.
        samples: Number of samples, failed ones included: the denominator.
        infra: Number of samples without an answer because of an infrastructure failure.
    """

    metrics: dict[str, float | None]
    standard_errors: dict[str, float | None]
    reasons: dict[str, int]
    samples: int
    infra: int


def clustered_mean(groups: Iterable[tuple[str, Sequence[float]]]) -> tuple[float | None, float | None]:
    """Computes the mean of all values and its standard error, as a ratio of sums over clusters of correlated values.

    Args:
        groups: Cluster -> values, such as one per sample, or one per step of it; a cluster may come several times. One
            without values counts as one that might have had some.

    Returns:
        Both in the values' unit; the mean is None without values, the error None for fewer than two clusters.
    """
    clusters: dict[str, list[float]] = {}
    for cluster, values in groups:
        clusters.setdefault(cluster, []).extend(values)
    count = sum(map(len, clusters.values()))
    if not count:
        return None, None
    mean = math.fsum(value for values in clusters.values() for value in values) / count
    return mean, _error([math.fsum(value - mean for value in values) for values in clusters.values()], count)


def standard_error(values: Sequence[float], weights: Sequence[float], clusters: Sequence[Hashable]) -> float | None:
    """Computes the error of :func:`clustered_mean` from the mean and the weight of each record.

    Args:
        values: One per record: the mean of its values.
        weights: One per record: the number of its values.
        clusters: One per record: its cluster.
    """
    return _error([*sums_of(clusters, deviations(values, weights)).values()], math.fsum(weights))


def sums_of(clusters: Iterable[C], parts: Iterable[float]) -> dict[C, float]:
    """Sums the parts of the records of each cluster."""
    found: dict[C, list[float]] = {}
    for cluster, part in zip(clusters, parts, strict=True):
        found.setdefault(cluster, []).append(part)
    return {cluster: math.fsum(of_records) for cluster, of_records in found.items()}


def deviations(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Computes the difference between the sum of each record and the sum that the overall mean would give it."""
    mean = math.fsum(map(float.__mul__, values, weights)) / math.fsum(weights)
    return [weight * (value - mean) for value, weight in zip(values, weights, strict=True)]


def _error(deviations: Sequence[float], count: float) -> float | None:
    size = len(deviations)
    if size < 2:
        return None
    return math.sqrt(math.fsum(deviation**2 for deviation in deviations) * size / (size - 1)) / count


def in_percent(value: float | None) -> float | None:
    """Converts 0-1 to 0-100; None stays None."""
    return None if value is None else 100 * value


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
        values = ((score.cluster, (value,)) for score in scores if (value := score.values[metric]) is not None)
        mean, error = clustered_mean(values)
        means[metric], errors[metric] = in_percent(mean), in_percent(error)
    reasons = Counter(score.reason for score in scores)
    infra = sum(count for reason, count in reasons.items() if reason.startswith(INFRA))
    ordered = dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    return Aggregate(means, errors, ordered, len(scores), infra)


def over_steps(
    total: Aggregate, metrics: Iterable[str], groups: Callable[[str], Iterable[tuple[str, Sequence[float]]]]
) -> Aggregate:
    """Replaces some metrics by means over steps: all steps of all samples have the same weight.

    Args:
        total: The result of :func:`aggregate` for the samples.
        metrics: The metrics over steps.
        groups: Metric -> cluster and values of its steps, the argument of :func:`clustered_mean`.
    """
    means, errors = dict(total.metrics), dict(total.standard_errors)
    for metric in metrics:
        means[metric], errors[metric] = map(in_percent, clustered_mean(groups(metric)))
    return replace(total, metrics=means, standard_errors=errors)
