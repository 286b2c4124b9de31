"""Plans comparisons: the smallest drop that a number of records and trials shows, and the number that a drop needs.

Power is the chance that a drop of a given size is found. The smallest detectable drop is a multiple of the standard
error of the difference (Bloom 1995, Evaluation Review 19:547-556); the variance of a paired difference is that of the
trials of both runs, and that of the change itself (Miller 2024, arXiv 2411.00640).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

from opencompass_tooleval.core.aggregate import deviations
from opencompass_tooleval.core.drop_test import ALPHA, t_chance
from opencompass_tooleval.core.paired import RecordValues, details_of, values_of
from opencompass_tooleval.core.runs import with_runs

POWER = 0.8
_MOST = 10**9


@dataclass(frozen=True)
class Noise:
    """Variance of one trial of a record, in squared points.

    Attributes:
        variance: The variance.
        is_measured: True if it is measured from repeated trials. Otherwise it is that over the records of one trial,
            which is at least as large: the answers to a record are taken to be as different as those to two records.
    """

    variance: float
    is_measured: bool

    def of_difference(self, *trials: int) -> float:
        """Computes the variance of a record's difference between two runs with these numbers of trials."""
        return self.variance * math.fsum(1 / number for number in trials)


def trials_of(result: Mapping[str, Any], metric: str) -> Iterator[RecordValues]:
    """Yields the values of all records in each trial of a result; none for a score that is no mean over records."""
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
    """Estimates the variance of one trial of a record; None for fewer than two records.

    Args:
        trials: The values of all records in each trial, 0-1, which may be from several runs of one model.
    """
    by_record: dict[str, list[float]] = {}
    for values in trials:
        total = math.fsum(weight for _, weight in values.values())
        parts = deviations(*zip(*values.values(), strict=True))
        for record, part in zip(values, parts, strict=True):
            by_record.setdefault(record, []).append(100 * part * len(values) / total)
    if len(by_record) < 2:
        return None
    repeated = [_variance(parts) for parts in by_record.values() if len(parts) > 1]
    if repeated:
        correction = len(by_record) / (len(by_record) - 1)
        return Noise(math.fsum(repeated) / len(repeated) * correction, True)
    return Noise(_variance([parts[0] for parts in by_record.values()]), False)


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def power_of(points: float, records: int, noise: float, tests: int = 1, max_drop: float = 0.0) -> float:
    """Computes the chance that a drop is found, 0-1.

    Args:
        points: The true drop, 0-100.
        records: Number of records that both runs have.
        noise: Variance of a record's difference without a drop, from :meth:`Noise.of_difference`.
        tests: Number of scores that are tested together. Each is taken to need Bonferroni's level, so that the chance
            of the scores together is at least this.
        max_drop: The drop that is allowed, 0-100.
    """
    error = math.sqrt((noise + points * (100 - points)) / records)
    if not error:
        return 0.0
    return t_chance((points - max_drop) / error - _quantile(1 - ALPHA / tests, records - 1), records - 1)


def detectable_drop(
    records: int, noise: float, tests: int = 1, power: float = POWER, max_drop: float = 0.0
) -> float | None:
    """Computes the smallest drop that is found with a chance of ``power``; None if no drop up to 100 points is.

    The solution of ``points - max_drop = multiple * sqrt((noise + points * (100 - points)) / records)``; the multiple
    is the sum of the quantiles of t for the level and for the power. ``points * (100 - points)`` is the largest
    variance that a drop adds: some records lose everything, and the others nothing.

    Args:
        records: Number of records.
        noise: As in :func:`power_of`.
        tests: As in :func:`power_of`.
        power: The wanted chance, above 0.5.
        max_drop: As in :func:`power_of`.
    """
    if 0.5**records > ALPHA / tests:  # the smallest p-value of drop_test
        return None
    multiple = _quantile(1 - ALPHA / tests, records - 1) + _quantile(power, records - 1)
    share = multiple**2 / records
    middle = max_drop + 50 * share
    drop = (middle + math.sqrt(middle**2 - (1 + share) * (max_drop**2 - share * noise))) / (1 + share)
    return drop if drop <= 100 else None


def needed_records(points: float, noise: float, tests: int = 1, max_drop: float = 0.0) -> int | None:
    """Computes the smallest number of records with which a drop of ``points`` is found; None above a billion."""
    return _smallest(lambda records: _is_found(points, records, noise, tests, max_drop))


def needed_trials(points: float, records: int, noise: Noise, tests: int = 1, max_drop: float = 0.0) -> int | None:
    """Computes the smallest number of trials of both runs with which a drop is found; None if no number is enough."""
    return _smallest(lambda trials: _is_found(points, records, noise.of_difference(trials, trials), tests, max_drop))


def _is_found(points: float, records: int, noise: float, tests: int, max_drop: float) -> bool:
    drop = detectable_drop(records, noise, tests, max_drop=max_drop)
    return drop is not None and drop <= points


def _smallest(is_enough: Callable[[int], bool]) -> int | None:
    """Finds the smallest number from 1 on that is enough, where every larger one is."""
    high = 1
    while not is_enough(high):
        high *= 2
        if high > _MOST:
            return None
    return bisect_left(range(1, high), True, key=is_enough) + 1


@cache
def _quantile(chance: float, freedom: int) -> float:
    """Returns the value that t is at most with this chance, above 0.5.

    By the expansion 26.7.5 of Abramowitz and Stegun (1964) from 30 degrees of freedom on, else by bisection.
    """
    if freedom >= 30:
        z = NormalDist().inv_cdf(chance)
        return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    low, high = 0.0, 1.0
    while t_chance(high, freedom) < chance:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_chance(middle, freedom) < chance else (low, middle)
    return high
