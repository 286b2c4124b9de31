"""Plans comparisons: the smallest drop that some records and trials can show, and the numbers that a drop needs.

Power is the chance that a drop of a given size is found. The smallest detectable drop is a multiple of the standard
error of the difference (Bloom 1995, Evaluation Review 19:547-556). The variance of a paired difference is the sum of
the variance of the trials in both runs and of the change itself (Miller 2024, arXiv 2411.00640).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.scoring.result import with_runs
from opencompass_tooleval.core.statistics.intervals import (
    ALPHA,
    Cluster,
    RecordValues,
    deviations_of,
    t_chance,
    t_quantile,
)
from opencompass_tooleval.core.statistics.paired import details_of, values_of

POWER = 0.8
_MOST = 10**9


@dataclass(frozen=True)
class Noise:
    """Variance of one trial of a query (whose records are correlated), in squared points.

    Attributes:
        variance: The variance.
        is_measured: True if it is measured from repeated trials. Otherwise it is the variance over the queries in one
            trial, which is at least as large: it assumes that two answers to a query differ as much as answers to two
            queries.
        is_graded: True if values are between 0 and 1 and vary between trials. A drop then adds no variance to theirs.
    """

    variance: float
    is_measured: bool
    is_graded: bool = False

    def of_difference(self, *trials: int) -> float:
        """Returns the variance of a query's difference between runs with these numbers of trials."""
        return self.variance * math.fsum(1 / number for number in trials)


def trials_of(result: Mapping[str, Any], metric: str) -> Iterator[RecordValues]:
    """Yields the values of all records in each trial of a result; nothing if the score is not a mean over records."""
    runs = result.get('runs')
    if not isinstance(runs, list) or len(runs) < 2:
        if values := values_of(result, metric):
            yield values
        return
    details: dict[int, list[Mapping[str, Any]]] = {}
    for (_, trial), detail in with_runs(details_of(result), lambda detail: str(detail['id'])):
        details.setdefault(trial, []).append(detail)
    for trial, rows in details.items():
        score = runs[trial].get(metric) if trial < len(runs) and isinstance(runs[trial], Mapping) else None
        if isinstance(score, (int, float)) and (values := values_of({metric: score, 'details': rows}, metric)):
            yield values


def noise_of(trials: Sequence[RecordValues]) -> Noise | None:
    """Estimates the variance of one trial of a query; returns None for fewer than two queries.

    If all values are 0 or 1, they count as right or wrong.

    Args:
        trials: The values of all records in each trial, 0-1, which may come from several runs of one model.
    """
    by_query: dict[Cluster, list[float]] = {}
    for values in trials:
        total = math.fsum(record.weight for record in values.values())
        parts_of_trial = deviations_of(values)
        for query, part in parts_of_trial.items():
            by_query.setdefault(query, []).append(100 * part * len(parts_of_trial) / total)
    if len(by_query) < 2:
        return None
    is_graded = any(0 < record.value < 1 for values in trials for record in values.values())
    repeated = [_variance(parts) for parts in by_query.values() if len(parts) > 1]
    if repeated:
        correction = len(by_query) / (len(by_query) - 1)
        variance, is_measured = math.fsum(repeated) / len(repeated) * correction, True
    else:
        variance, is_measured = _variance([parts[0] for parts in by_query.values()]), False
    return Noise(variance, is_measured, is_graded and variance > 0)


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def power_of(
    points: float, queries: int, noise: float, tests: int = 1, max_drop: float = 0.0, is_graded: bool = False
) -> float:
    """Computes the chance that a drop is found, 0-1.

    Args:
        points: The true drop in points, 0-100.
        queries: Number of queries in both runs.
        noise: Variance of a query's difference without a drop, from :meth:`Noise.of_difference`.
        tests: Number of scores that are tested together. Bonferroni's level is used for each, so the chance for all
            scores together is at least as large.
        max_drop: The allowed drop in points, 0-100.
        is_graded: As in :class:`Noise`.
    """
    error = math.sqrt((noise + (0 if is_graded else points * (100 - points))) / queries)
    if not error:
        return 0.0
    return t_chance((points - max_drop) / error - t_quantile(1 - ALPHA / tests, queries - 1), queries - 1)


def detectable_drop(
    queries: int,
    noise: float,
    tests: int = 1,
    power: float = POWER,
    max_drop: float = 0.0,
    is_graded: bool = False,
) -> float | None:
    """Computes the smallest drop, in points, that is found with a chance of ``power``; None if it is above 100.

    Solves ``points - max_drop = multiple * sqrt((noise + points * (100 - points)) / queries)``, where the multiple is
    the sum of the t quantiles for the level and for the power. ``points * (100 - points)`` is the largest variance that
    a drop adds: some queries lose everything, the others nothing. Graded values have no such term.

    Args:
        queries: Number of queries.
        noise: As in :func:`power_of`.
        tests: As in :func:`power_of`.
        power: The wanted chance, above 0.5.
        max_drop: As in :func:`power_of`.
        is_graded: As in :class:`Noise`.
    """
    if 0.5**queries > ALPHA / tests:  # the smallest p-value of drop_test
        return None
    multiple = t_quantile(1 - ALPHA / tests, queries - 1) + t_quantile(power, queries - 1)
    share = multiple**2 / queries
    middle = max_drop + 50 * share
    if is_graded:
        drop = max_drop + math.sqrt(share * noise)
    else:
        drop = (middle + math.sqrt(middle**2 - (1 + share) * (max_drop**2 - share * noise))) / (1 + share)
    return drop if drop <= 100 else None


def needed_queries(
    points: float, noise: float, tests: int = 1, max_drop: float = 0.0, is_graded: bool = False
) -> int | None:
    """Returns the smallest number of queries that shows a drop of ``points``; None above a billion."""
    return _smallest(lambda queries: _is_found(points, queries, noise, tests, max_drop, is_graded))


def needed_trials(points: float, queries: int, noise: Noise, tests: int = 1, max_drop: float = 0.0) -> int | None:
    """Returns the smallest number of trials (in both runs) that shows a drop of ``points``; None if no number does."""
    return _smallest(
        lambda trials: _is_found(points, queries, noise.of_difference(trials, trials), tests, max_drop, noise.is_graded)
    )


def _is_found(points: float, queries: int, noise: float, tests: int, max_drop: float, is_graded: bool) -> bool:
    drop = detectable_drop(queries, noise, tests, max_drop=max_drop, is_graded=is_graded)
    return drop is not None and drop <= points


def _smallest(is_enough: Callable[[int], bool]) -> int | None:
    """Returns the smallest number from 1 that is enough, if all larger ones are; None above a billion."""
    high = 1
    while not is_enough(high):
        high *= 2
        if high > _MOST:
            return None
    return bisect_left(range(1, high), True, key=is_enough) + 1
