"""Estimates from several trials per record: right in at least one of k trials, and right in all k.

``pass@k`` (Chen et al. 2021, arXiv 2107.03374, section 2.1) and ``pass^k`` (Yao et al. 2024, tau-bench, arXiv
2406.12045, section 3) are estimated for each record, without bias, from all of its n trials, and then averaged over
records. With k=1 both equal the mean over all trials, ``avg@n``, if each record has n trials that count.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from opencompass_tooleval.core.scoring.aggregate import clustered_mean, in_percent

SUCCESS = 'success'
"""Name of the rule for a correct sample, if the subset has one; used like a metric's name."""

_FULL = 1 - 1e-9
"""Values from this on count as 1, because of rounding errors in sums."""

Values = Mapping[str, 'float | None']
"""Metric -> value of one sample, 0-1; None if the metric does not apply."""


def pass_at_k(trials: int, right: int, k: int) -> float:
    """Computes the chance that at least one of k trials is correct: ``1 - C(n - c, k) / C(n, k)`` (Chen et al. 2021).

    Args:
        trials: Number of trials, n.
        right: Number of correct trials, c.
        k: Number of trials drawn without replacement, 1 to ``trials``.

    Raises:
        ValueError: A number is out of range.
    """
    _check(trials, right, k)
    return 1 - math.comb(trials - right, k) / math.comb(trials, k)


def pass_hat_k(trials: int, right: int, k: int) -> float:
    """Computes the chance that all k trials are correct: ``C(c, k) / C(n, k)`` (Yao et al. 2024).

    Args:
        trials: Number of trials, n.
        right: Number of correct trials, c.
        k: Number of trials drawn without replacement, 1 to ``trials``.

    Raises:
        ValueError: A number is out of range.
    """
    _check(trials, right, k)
    return math.comb(right, k) / math.comb(trials, k)


def _check(trials: int, right: int, k: int) -> None:
    if not (0 <= right <= trials and 1 <= k <= trials):
        raise ValueError(f'{right} right of {trials} trials, {k} drawn: not 0 <= right <= trials and 1 <= k <= trials')


_ESTIMATORS: Mapping[str, Callable[[int, int, int], float]] = {'pass@': pass_at_k, 'pass^': pass_hat_k}


def drawn_numbers(trials: int) -> list[int]:
    """Returns the values of k in a result: the powers of two below ``trials``, and ``trials``."""
    powers = (2**exponent for exponent in range(trials.bit_length()))
    return [*(power for power in powers if power < trials), trials]


@dataclass(frozen=True)
class Estimate:
    """An estimate over all records.

    Attributes:
        value: 0-100; None if no record has enough trials that count.
        standard_error: 0-100, clustered by query; None for fewer than two queries.
        records: Number of records.
    """

    value: float | None
    standard_error: float | None
    records: int

    def __str__(self) -> str:
        value = '-' if self.value is None else f'{self.value:.2f}'
        return value if self.standard_error is None else f'{value} ±{self.standard_error:.2f}'


@dataclass(frozen=True)
class BinaryMetrics:
    """The rule for a correct sample.

    Attributes:
        metrics: Metrics with values 0 and 1, where 1 is correct. Other metrics are graded, and have only a mean.
        success: Metrics that must all be 1, if they apply, for a correct sample; empty if there is no such rule, or if
            it is a separate metric.
    """

    metrics: Sequence[str] = ()
    success: Sequence[str] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of right-or-wrong values: the metrics, and ``success`` if there is a rule for it."""
        return (*self.metrics, *((SUCCESS,) if self.success else ()))

    def is_right(self, name: str, values: Values) -> bool | None:
        """Tests if a sample is correct in one of :attr:`names`; None if the name does not apply to it.

        Raises:
            ValueError: A binary metric has another value than 0 or 1, which is a bug of this package.
        """
        if name == SUCCESS:
            given = [value for metric in self.success if (value := values.get(metric)) is not None]
            return all(value >= _FULL for value in given) if given else None
        value = values.get(name)
        if value not in (None, 0, 1):
            raise ValueError(f'{name} is said to be right or wrong, and a sample has {value}')
        return None if value is None else bool(value)


def rights_by_record(
    samples: Iterable[tuple[str, Values]], name: str, rule: BinaryMetrics
) -> dict[str, tuple[bool, ...]]:
    """Returns, by record id, whether each trial is correct, in order, without trials to which ``name`` does not apply.

    Args:
        samples: Record id and values of each trial of each record.
        name: One of the rule's names.
        rule: The rule for a correct sample.
    """
    rights: dict[str, list[bool]] = {}
    for record_id, values in samples:
        right = rule.is_right(name, values)
        if right is not None:
            rights.setdefault(record_id, []).append(right)
    return {record_id: tuple(outcomes) for record_id, outcomes in rights.items()}


def chances(rights: Mapping[str, Sequence[bool]], name: str) -> dict[str, float]:
    """Returns ``pass@2`` or ``pass^4`` by record id, 0-1, without records that have too few trials.

    Raises:
        ValueError: The name is invalid.
    """
    _, k = parse_name(name)
    return {
        record_id: chance(name, len(outcomes), sum(outcomes))
        for record_id, outcomes in rights.items()
        if len(outcomes) >= k
    }


def chance(name: str, trials: int, right: int) -> float:
    """Computes ``pass@2`` or ``pass^4`` of one record, 0-1.

    Raises:
        ValueError: The name is invalid, or needs more trials.
    """
    kind, k = parse_name(name)
    return _ESTIMATORS[kind](trials, right, k)


def parse_name(name: str) -> tuple[str, int]:
    """Splits a name, such as ``pass@2`` into ``('pass@', 2)``.

    Raises:
        ValueError: The name is neither ``pass@K`` nor ``pass^K``.
    """
    kind, number = name[:5], name[5:]
    # Not isdigit alone: it accepts '²'. Nine digits exceed any number of trials.
    if (
        kind not in _ESTIMATORS
        or not (number.isascii() and number.isdigit() and 0 < len(number) < 10)
        or not int(number)
    ):
        raise ValueError(f'{name[:40]!r} is neither pass@K nor pass^K')
    return kind, int(number)


def names_of(trials: int) -> list[str]:
    """Returns the names of the estimates for ``trials`` trials: ``pass@1``, ``pass@2``, ..., ``pass^1``, ..."""
    return [f'{kind}{k}' for kind in _ESTIMATORS for k in drawn_numbers(trials)]


def _estimate(values: Mapping[str, float], clusters: Mapping[str, str]) -> Estimate:
    mean, error = clustered_mean((clusters.get(record_id, record_id), (value,)) for record_id, value in values.items())
    return Estimate(in_percent(mean), in_percent(error), len(values))


def _mean_of(rights: Mapping[str, Sequence[bool]], clusters: Mapping[str, str]) -> Estimate:
    mean, error = clustered_mean(
        (clusters.get(record_id, record_id), [float(right) for right in outcomes])
        for record_id, outcomes in rights.items()
    )
    return Estimate(in_percent(mean), in_percent(error), len(rights))


def of_trials(
    samples: Sequence[tuple[str, Values]],
    trials: int,
    averages: Mapping[str, Estimate],
    rule: BinaryMetrics,
    clusters: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, dict[str, Estimate]]:
    """Computes the estimates of several trials.

    Args:
        samples: Record id and values of each trial of each record.
        trials: Number of trials of each record.
        averages: Mean of each metric over all trials, from the result.
        rule: The rule for a correct sample.
        clusters: Record id -> its query. A missing record is its own cluster.

    Returns:
        Metric, or ``success`` -> ``avg@n``, and for binary metrics also ``pass@1`` to ``pass^n`` -> estimate. Trials to
        which a metric does not apply, such as those without a judgement, do not count.

    Raises:
        ValueError: A binary metric has another value than 0 or 1.
    """
    average = f'avg@{trials}'
    estimates = {metric: {average: estimate} for metric, estimate in averages.items()}
    for name in rule.names:
        rights = rights_by_record(samples, name, rule)
        by_kind = estimates.setdefault(name, {average: _mean_of(rights, clusters)})
        by_kind.update((kind, _estimate(chances(rights, kind), clusters)) for kind in names_of(trials))
    return estimates


def estimate_of(row: Any) -> Estimate | None:
    """Reads an estimate from a result's file; returns None if it is invalid."""
    if not isinstance(row, Mapping):
        return None
    value, error, records = (row.get(key) for key in ('value', 'standard_error', 'records'))
    number, error_number = _number(value), _number(error)
    if number is None or (error is not None and error_number is None) or type(records) is not int:
        return None
    return Estimate(number, error_number, records)


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) <= sys.float_info.max else None


@dataclass(frozen=True)
class TrialsOfResult:
    """The part ``trials`` of a result.

    Attributes:
        trials: Number of trials of each record; 1 without repeats.
        rule: The rule for a correct sample.
        estimates: Metric -> name (such as ``pass^4``) -> estimate.
        all_the_same: True if all trials of each record have equal answers.
    """

    trials: int
    rule: BinaryMetrics
    estimates: Mapping[str, Mapping[str, Estimate]]
    all_the_same: bool = False


def trials_of_result(result: Mapping[str, Any]) -> TrialsOfResult | None:
    """Reads the part ``trials`` of a result; returns None if it is invalid, or missing, as after a single trial."""
    part = result.get('trials')
    if not isinstance(part, Mapping):
        return None
    trials, metrics, success = part.get('n'), part.get('metrics'), part.get('success')
    if type(trials) is not int or trials < 2 or not isinstance(metrics, Mapping):
        return None
    names = [f'avg@{trials}', *names_of(trials)]
    estimates = {
        str(metric): {name: read for name in names if (read := estimate_of(rows.get(name)))}
        for metric, rows in metrics.items()
        if isinstance(rows, Mapping)
    }
    binary_metrics = [name for name, by_kind in estimates.items() if len(by_kind) > 1 and name != SUCCESS]
    parts = [str(metric) for metric in success] if isinstance(success, list) else []
    samples = result.get('samples')
    count = samples.get('all') if isinstance(samples, Mapping) else None
    same = type(count) is int and part.get('same_answers') == count // trials
    return TrialsOfResult(trials, BinaryMetrics(binary_metrics, parts), estimates, same)
