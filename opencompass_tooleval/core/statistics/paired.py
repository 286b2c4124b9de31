"""Compares two results of a dataset by record: scores over the records of both, and samples that differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.scoring.result import INFRA, with_runs
from opencompass_tooleval.core.statistics.intervals import FEWEST, Pairs, RecordValue, RecordValues, shuffled_variance
from opencompass_tooleval.core.text.jsonable import is_number

Result = Mapping[str, Any]
Reading = Callable[[Mapping[str, Any], str], Iterator[float]]

_NOISE = 1e-9
"""Values closer than this are equal; one record's gain is far larger."""


def metrics_of(result: Result) -> list[str]:
    """Returns the names of a result's scores."""
    return [name for name, value in result.items() if is_number(value)]


def details_of(result: Result) -> list[Mapping[str, Any]]:
    """Returns the samples of a result of this package; empty for other results, whose samples have no ids."""
    details = result.get('details')
    rows = details if isinstance(details, list) else []
    return [row for row in rows if isinstance(row, dict) and 'id' in row and isinstance(row.get('values'), dict)]


def query_of(detail: Mapping[str, Any]) -> str:
    """Returns the query of a sample; ``''`` if it is unknown or no other record has it."""
    query = detail.get('query')
    return query if isinstance(query, str) else ''


def _of_steps(detail: Mapping[str, Any], metric: str) -> Iterator[float]:
    steps = detail.get('steps')
    for step in steps if isinstance(steps, list) else ():  # an agent's `steps` is a number
        values = step.get('values') if isinstance(step, dict) else None
        value = values.get(metric) if isinstance(values, dict) else None
        if is_number(value):
            yield value


def _of_sample(detail: Mapping[str, Any], metric: str) -> Iterator[float]:
    value = detail['values'].get(metric)
    if is_number(value):
        yield value


_READINGS: tuple[Reading, ...] = (_of_steps, _of_sample)


def mean_steps(result: Result, records: Collection[str]) -> float | None:
    """Computes the mean number of an agent's steps per sample, for the given records; None if unknown."""
    counts = [row.get('steps') for row in details_of(result) if str(row['id']) in records]
    known = [count for count in counts if isinstance(count, int)]  # UltraTool's `steps` is a list
    return sum(known) / len(known) if known else None


def changed_shares(pairs: Pairs) -> tuple[float, float]:
    """Computes the shares of the records with a better and with a worse value in the second result, in percent."""
    gains = [after - before for before, after in zip(pairs.a, pairs.b, strict=True)]
    better, worse = sum(gain > _NOISE for gain in gains), sum(gain < -_NOISE for gain in gains)
    return 100 * better / len(gains), 100 * worse / len(gains)


def unanswered_records(result: Result) -> set[str]:
    """Returns the records without an answer in some trial because of an infrastructure failure."""
    return {str(row['id']) for row in details_of(result) if _lacks_answer(row)}


def has_no_answer(result: Result) -> bool:
    """Tests if no sample has an answer because of infrastructure failures."""
    details = details_of(result)
    return bool(details) and all(map(_lacks_answer, details))


def _lacks_answer(detail: Mapping[str, Any]) -> bool:
    return str(detail.get('reason')).startswith(INFRA)


def _record_values(result: Result, metric: str, reading: Reading) -> RecordValues | None:
    """Returns the values of all records; None if the score is not their mean.

    The score of several trials is the mean of the trials' means. So in a trial with fewer values, such as fewer calls,
    each value has a larger weight.
    """
    trials: dict[int, dict[str, list[float]]] = {}
    queries: dict[str, str] = {}
    for (record, trial), detail in with_runs(details_of(result), lambda detail: str(detail['id'])):
        values = list(reading(detail, metric))
        if values:
            trials.setdefault(trial, {})[record] = values
            queries[record] = query_of(detail)
    counts = {trial: sum(map(len, by_record.values())) for trial, by_record in trials.items()}
    count = sum(counts.values())
    parts: dict[str, list[tuple[float, float]]] = {}  # record -> sum and weight of the values of each trial
    for trial, by_record in trials.items():
        weight = count / len(counts) / counts[trial]
        for record, values in by_record.items():
            parts.setdefault(record, []).append((weight * math.fsum(values), weight * len(values)))
    sums = {record: tuple(map(math.fsum, zip(*weighted, strict=True))) for record, weighted in parts.items()}
    total = math.fsum(value for value, _ in sums.values())
    if not count or not math.isclose(100 * total / count, result[metric], rel_tol=1e-9, abs_tol=1e-6):
        return None
    by_trial = {
        record: tuple(value / weight for value, weight in weighted) if len(weighted) > 1 else ()
        for record, weighted in parts.items()
    }
    return {
        record: RecordValue(value / weight, weight, by_trial[record], queries[record])
        for record, (value, weight) in sums.items()
    }


def record_values(result: Result, metric: str) -> tuple[RecordValues | None, ...]:
    """Returns a score's values by record, as a mean over steps and over samples; None where it is not such a mean.

    :func:`pair_up` needs only these values, not the whole result.
    """
    return tuple(_record_values(result, metric, reading) for reading in _READINGS)


def values_of(result: Result, metric: str) -> RecordValues | None:
    """Returns the first value of :func:`record_values` that is not None."""
    return next(filter(None, record_values(result, metric)), None)


def pair_up(first: Iterable[RecordValues | None], second: Iterable[RecordValues | None]) -> Pairs | None:
    """Returns the result of :func:`pairs_of`, given :func:`record_values` of both results."""
    for before, after in zip(first, second, strict=True):
        if not before or not after:
            continue
        shared = [record for record in before if record in after]
        sides = [[side[record] for record in shared] for side in (before, after)]
        queries = tuple(record.query for record in sides[0])
        if len({query or record for query, record in zip(queries, shared, strict=True)}) >= FEWEST:
            return Pairs(
                tuple(shared),
                tuple(100 * record.value for record in sides[0]),
                tuple(100 * record.value for record in sides[1]),
                tuple(record.weight for record in sides[0]),
                tuple(record.weight for record in sides[1]),
                len(before) + len(after) - 2 * len(shared),
                _shuffled(*sides),
                queries if any(queries) else (),
            )
    return None


def _shuffled(first: Sequence[RecordValue], second: Sequence[RecordValue]) -> tuple[float, ...]:
    """Returns ``Pairs.shuffled``."""
    trials = [
        [[100 * value for value in record.trials or (record.value,)] for record in side] for side in (first, second)
    ]
    if list(map(len, trials[0])) == list(map(len, trials[1])):
        return ()
    return tuple(map(shuffled_variance, *trials))


def over_shared(
    pairs: Pairs | None, scores: tuple[float, float], errors: tuple[float | None, float | None]
) -> tuple[tuple[float, float], tuple[float | None, float | None]]:
    """Returns a score of two results, and its standard errors, over the records that both have.

    Args:
        pairs: The result of :func:`pairs_of`. If it is None, ``scores`` and ``errors`` are returned.
        scores: Scores of the two results.
        errors: Standard errors of the two results; None if unknown.
    """
    if pairs is None:
        return scores, errors
    shared_errors = pairs.errors()
    if pairs.unshared:
        return pairs.means(), shared_errors
    return scores, (
        shared_errors[0] if errors[0] is None else errors[0],
        shared_errors[1] if errors[1] is None else errors[1],
    )


def pairs_of(first: Result, second: Result, metric: str) -> Pairs | None:
    """Returns one score of two results by shared record; None for the reasons of :func:`why_unpaired`.

    Most scores are means over samples. UltraTool's local scores are means over the steps of all samples; there, the
    weight of a record is its number of steps that count, which may differ between the results. If a record has several
    trials, all of them are compared with all of its trials in the other result. Other scores, and those with fewer than
    two records or queries, have no pairs.

    Args:
        first: A result with ``details``.
        second: Another result of the same dataset.
        metric: A metric of both results.
    """
    return pair_up(record_values(first, metric), record_values(second, metric))


def why_unpaired(first: Result, second: Result, metric: str) -> str:
    """Returns why :func:`pairs_of` returns None."""
    for name, result in (('first', first), ('second', second)):
        if not details_of(result):
            return f'the {name} has no samples of this package'
        if not any(_record_values(result, metric, reading) for reading in _READINGS):
            return f'the score of the {name} is not the mean of its samples'
    return f'fewer than {FEWEST} records, or queries, are in both'


@dataclass(frozen=True)
class Difference:
    """A sample that two results score differently.

    Attributes:
        id: Id of the record.
        run: Run of the record, from 0.
        a: The sample's detail in the first result.
        b: The sample's detail in the second result.
        size: Sum over the metrics of the distance between the values, each 0-1.
    """

    id: str
    run: int
    a: Mapping[str, Any]
    b: Mapping[str, Any]
    size: float


def _by_sample(details: Iterable[Mapping[str, Any]]) -> dict[tuple[str, int], Mapping[str, Any]]:
    return dict(with_runs(details, lambda detail: str(detail['id'])))


def _apart(a: Any, b: Any) -> float:
    """Returns the distance of two values; 1 if the metric applies to only one of them."""
    if not is_number(a) or not is_number(b):
        return float(is_number(a) is not is_number(b))
    return float(abs(b - a))


def differences(first: Result, second: Result) -> list[Difference]:
    """Returns the samples whose values differ between the results in some metric, in the data's order.

    Samples that are wrong in different ways but have equal values do not differ.
    """
    different = []
    others = _by_sample(details_of(second))
    for (record, run), a in _by_sample(details_of(first)).items():
        b = others.get((record, run))
        if b is None:
            continue
        size = math.fsum(_apart(value, b['values'][name]) for name, value in a['values'].items() if name in b['values'])
        if size > _NOISE:
            different.append(Difference(record, run, a, b, size))
    return different
