"""Compares pass@k and pass^k of two results by record."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from opencompass_tooleval.core.statistics.intervals import FEWEST, Pairs
from opencompass_tooleval.core.statistics.paired import Result, details_of, over_shared, query_of
from opencompass_tooleval.core.statistics.trials import (
    Estimate,
    TrialsOfResult,
    chance,
    chances,
    rights_by_record,
    trials_of_result,
)

Rights = Mapping[str, Sequence[bool]]
"""Record id -> whether each of its trials is right."""


@dataclass(frozen=True)
class PairedEstimate:
    """An estimate from several trials, in two results.

    Attributes:
        metric: Metric and estimate, such as ``success pass@2``.
        values: Values in both results, 0-100, over the records of both.
        errors: Standard errors of the values.
        pairs: The estimate of each record in both results, 0-100; None for fewer than two queries.
    """

    metric: str
    values: tuple[float, float]
    errors: tuple[float | None, float | None]
    pairs: Pairs | None


def paired_estimates(first: Result, second: Result) -> Iterator[PairedEstimate]:
    """Yields the estimates of each k that both results have, from k=2, since those with k=1 equal the score.

    ``pass@1`` of ``success`` is included, since ``success`` has no separate score.

    Args:
        first: A result with ``details``.
        second: Another result of the same dataset, which may have another number of trials.
    """
    sides = trials_of_result(first), trials_of_result(second)
    if sides[0] is None or sides[1] is None:
        return
    details = details_of(first), details_of(second)
    samples = [[(str(row['id']), row['values']) for row in rows] for rows in details]
    queries = {str(row['id']): query for rows in details for row in rows if (query := query_of(row))}
    if sides[0].rule.success != sides[1].rule.success:
        return
    for name in sides[0].estimates:
        estimates, other = (_reported(side, name) for side in sides if side)
        kinds = [kind for kind in estimates if kind in other]
        if not kinds:
            continue
        rights = [rights_by_record(rows, name, side.rule) for rows, side in zip(samples, sides, strict=True) if side]
        for kind in kinds:
            pairs = _pairs(rights[0], rights[1], kind, queries)
            a, b = estimates[kind], other[kind]
            if a.value is not None and b.value is not None:
                values, errors = over_shared(pairs, (a.value, b.value), (a.standard_error, b.standard_error))
                yield PairedEstimate(f'{name} {kind}', values, errors, pairs)


def estimate_names(result: Result) -> list[str]:
    """Returns the names of the estimates that :func:`paired_estimates` can pair; empty for a single trial."""
    side = trials_of_result(result)
    if side is None:
        return []
    return [
        f'{name} {kind}'
        for name in side.estimates
        for kind, estimate in _reported(side, name).items()
        if estimate.value is not None
    ]


def _reported(side: TrialsOfResult, name: str) -> dict[str, Estimate]:
    """Returns the estimates of a metric that do not repeat its score; empty for a graded metric."""
    estimates = side.estimates.get(name, {})
    first = () if name in side.rule.metrics else ('pass@1',)
    return {
        kind: estimate
        for kind, estimate in estimates.items()
        if len(estimates) > 1 and kind.startswith('pass') and (kind in first or not kind.endswith(('@1', '^1')))
    }


def _pairs(before: Rights, after: Rights, kind: str, queries: Mapping[str, str]) -> Pairs | None:
    chances_of = chances(before, kind), chances(after, kind)
    shared = [record for record in chances_of[0] if record in chances_of[1]]
    if len({queries.get(record, record) for record in shared}) < FEWEST:
        return None
    ones = (1.0,) * len(shared)
    values = [tuple(100 * side[record] for record in shared) for side in chances_of]
    unshared = len(chances_of[0]) + len(chances_of[1]) - 2 * len(shared)
    outcomes = [(before[record], after[record]) for record in shared]
    shuffled: tuple[float, ...] = ()
    if any(len(first) != len(second) for first, second in outcomes):
        shuffled = tuple(_shuffled(first, second, kind) for first, second in outcomes)
    those = tuple(queries.get(record, '') for record in shared) if queries else ()
    return Pairs(tuple(shared), values[0], values[1], ones, ones, unshared, shuffled, those)


def _shuffled(before: Sequence[bool], after: Sequence[bool], kind: str) -> float:
    """Returns a record's value in ``Pairs.shuffled``, over all possible numbers of right trials in the first result."""
    trials, of_first, right = len(before) + len(after), len(before), sum(before) + sum(after)
    total, squares = math.comb(trials, of_first), []
    for number in range(max(0, right - len(after)), min(of_first, right) + 1):
        ways = math.comb(right, number) * math.comb(trials - right, of_first - number)
        sides = (number, of_first), (right - number, len(after))
        first, second = (chance(kind, count, right_of_side) for right_of_side, count in sides)
        squares.append(ways / total * (100 * (second - first)) ** 2)
    return math.fsum(squares)
