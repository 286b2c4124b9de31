"""Aggregates sample scores to metrics on 0-100, with standard errors and counts of reasons."""

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
        metrics: Metric -> mean over all samples to which it applies, 0-100; None if there are none.
        standard_errors: Metric -> standard error of the mean, 0-100; None for fewer than two queries. It is clustered
            by query, since samples of one query (its steps, or several runs of a record) are correlated.
        reasons: Reason -> number of samples, most frequent first. The counts add up to ``samples``.
        samples: Number of samples, including failed ones: the denominator.
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
        groups: Cluster -> values, such as one per sample or one per step of a sample. A cluster may occur several
            times. A cluster without values counts, because it might have had some.

    Returns:
        Mean and standard error, in the unit of the values. The mean is None without values, the error is None for
        fewer than two clusters.
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
        values: Mean of the values of each record.
        weights: Number of values of each record.
        clusters: Cluster of each record.
    """
    return _error([*sums_of(clusters, deviations(values, weights)).values()], math.fsum(weights))


def sums_of(clusters: Iterable[C], parts: Iterable[float]) -> dict[C, float]:
    """Returns the sum of the records' parts by cluster."""
    found: dict[C, list[float]] = {}
    for cluster, part in zip(clusters, parts, strict=True):
        found.setdefault(cluster, []).append(part)
    return {cluster: math.fsum(of_records) for cluster, of_records in found.items()}


def deviations(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Computes, for each record, its sum minus its sum if all its values equalled the overall mean."""
    mean = math.fsum(map(float.__mul__, values, weights)) / math.fsum(weights)
    return [weight * (value - mean) for value, weight in zip(values, weights, strict=True)]


def _error(deviations: Sequence[float], count: float) -> float | None:
    size = len(deviations)
    if size < 2:
        return None
    return math.sqrt(math.fsum(deviation**2 for deviation in deviations) * size / (size - 1)) / count


def in_percent(value: float | None) -> float | None:
    """Converts 0-1 to 0-100; returns None for None."""
    return None if value is None else 100 * value


def aggregate(scores: Sequence[SampleScore], metrics: Sequence[str]) -> Aggregate:
    """Aggregates ``scores`` for the given ``metrics``, in their order.

    Raises:
        ValueError: There are no samples, or a sample lacks a metric.
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
    """Replaces some metrics by means over steps, in which all steps of all samples have the same weight.

    Args:
        total: The result of :func:`aggregate` for the samples.
        metrics: The metrics over steps.
        groups: Returns clusters and values of a metric's steps, the argument of :func:`clustered_mean`.
    """
    means, errors = dict(total.metrics), dict(total.standard_errors)
    for metric in metrics:
        means[metric], errors[metric] = map(in_percent, clustered_mean(groups(metric)))
    return replace(total, metrics=means, standard_errors=errors)
