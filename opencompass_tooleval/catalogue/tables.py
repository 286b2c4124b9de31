"""Scores and tables over several data sets: the columns that summarizers define, their shares and standard errors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import Any

from opencompass_tooleval import plugin
from opencompass_tooleval.core.statistics.intervals import RecordValues, Score, deviations_of
from opencompass_tooleval.core.statistics.paired import metrics_of, values_of
from opencompass_tooleval.core.text.bounds import is_number


def columns_of(groups: Iterable[Mapping[str, Any]]) -> dict[Score, dict[Score, float]]:
    """Resolves tables to shares of the scores of data sets.

    Args:
        groups: Summary groups of OpenCompass with ``name``, ``metric``, ``subsets`` and perhaps ``weights`` (by data
            set); a group may use earlier ones. Groups without a metric, or of complete data sets, are left out, since
            OpenCompass selects their scores from the results.

    Returns:
        Table and column -> data set and metric -> its share; the shares of a column add up to 1.
    """
    columns: dict[Score, dict[Score, float]] = {}
    for group in groups:
        if 'metric' not in group or any(isinstance(subset, str) for subset in group['subsets']):
            continue
        parts = [(str(name), str(metric)) for name, metric in group['subsets']]
        weights = [group.get('weights', {}).get(name, 1) for name, _ in parts]
        shares: dict[Score, float] = {}
        for part, weight in zip(parts, weights, strict=True):
            for score, share in columns.get(part, {part: 1.0}).items():
                shares[score] = shares.get(score, 0.0) + share * weight / sum(weights)
        columns[str(group['name']), str(group['metric'])] = shares
    return columns


def errors_of(result: Mapping[str, Any]) -> dict[str, float]:
    """Returns the known standard errors of a result's scores, 0-100."""
    errors = result.get('standard_errors')
    items = errors.items() if isinstance(errors, Mapping) else ()
    return {metric: float(error) for metric, error in items if is_number(error)}


Correlations = Mapping[tuple[str, str], float]
"""Two metrics of a data set, sorted by name -> correlation of their errors, -1 to 1."""

CORRELATIONS = 'correlations'
"""Key of the correlations in results of :func:`without_samples`."""


def correlations_of(values: Mapping[str, RecordValues]) -> dict[tuple[str, str], float]:
    """Computes the correlation of the errors of one data set's scores: 0 for scores of different records.

    Args:
        values: Metric -> its values by record.
    """
    parts = {
        metric: dict(zip(record_values, deviations_of(record_values), strict=True))
        for metric, record_values in values.items()
        if record_values
    }
    return {(a, b): _correlation(parts[a], parts[b]) for a, b in combinations(sorted(parts), 2)}


def _correlation(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    squares = math.fsum(part**2 for part in first.values()) * math.fsum(part**2 for part in second.values())
    if not squares:
        return 0.0  # one of them has no error
    shared = math.fsum(part * second[record] for record, part in first.items() if record in second)
    return max(-1.0, min(1.0, shared / math.sqrt(squares)))


def metrics_together(columns: Iterable[Mapping[Score, float]]) -> dict[str, set[str]]:
    """Returns data set -> its metrics that share a column with others of it."""
    together: dict[str, set[str]] = {}
    for shares in columns:
        for dataset, count in Counter(dataset for dataset, _ in shares).items():
            if count > 1:
                together.setdefault(dataset, set()).update(metric for name, metric in shares if name == dataset)
    return together


def without_samples(result: Mapping[str, Any], together: Collection[str] = ()) -> dict[str, Any]:
    """Removes ``details`` from a result, and adds ``correlations``, which :func:`column_error` needs.

    Args:
        result: The content of its file.
        together: Its metrics that share a column, from :func:`metrics_together`.
    """
    values = {
        metric: record_values
        for metric in sorted(together)
        if metric in metrics_of(result) and (record_values := values_of(result, metric))
    }
    bare = {key: value for key, value in result.items() if key != 'details'}
    return {**bare, CORRELATIONS: correlations_of(values)} if values else bare


def column_error(
    shares: Mapping[Score, float], errors: Mapping[Score, float], correlations: Mapping[str, Correlations]
) -> float | None:
    """Computes the standard error of a score or of a column of a table, 0-100, for every screen.

    Errors of different data sets are independent. Errors of scores of one data set are correlated through their
    records: two formats with different records are not.

    Args:
        shares: Data set and metric -> share, from :func:`columns_of`; ``{score: 1.0}`` for one score.
        errors: Data set and metric -> standard error.
        correlations: Data set -> :func:`correlations_of` its scores, if several of them are in the column.

    Returns:
        None if the error of a score is unknown, or a correlation of two scores of one data set.
    """
    if not all(score in errors for score in shares):
        return None
    variance = math.fsum((share * errors[score]) ** 2 for score, share in shares.items())
    for (dataset, a), (other, b) in combinations(sorted(shares), 2):
        if dataset == other:
            correlation = correlations.get(dataset, {}).get((a, b))
            if correlation is None:
                return None
            parts = (shares[dataset, metric] * errors[dataset, metric] for metric in (a, b))
            variance += 2 * correlation * math.prod(parts)
    return math.sqrt(max(0.0, variance))


def published_columns() -> dict[Score, dict[Score, float]]:
    """Returns table and column -> data set and metric -> share, for every benchmark with tables and its variants."""
    return columns_of(group for entry in plugin.TABLES.values() for group in plugin.load(entry))
