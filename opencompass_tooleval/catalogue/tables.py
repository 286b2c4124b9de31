"""Scores and tables over several data sets: the columns that summarizers define, their shares and standard errors."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import Any

from opencompass_tooleval import plugin
from opencompass_tooleval.catalogue.metrics import OVERALL
from opencompass_tooleval.core.statistics.intervals import Cluster, Score, deviations_of
from opencompass_tooleval.core.statistics.paired import metrics_of, values_of
from opencompass_tooleval.core.text.jsonable import is_number


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


def with_omitted(
    main: Iterable[str], parts: Mapping[str, Collection[Score]], measured: Iterable[Collection[str]]
) -> list[str]:
    """Returns the main columns of a table, then the columns for scores that a model's main columns leave out.

    For example, a model without ``plan_str`` has neither plan nor overall, so ``plan_json`` is added.

    Args:
        main: The main columns.
        parts: Column -> the scores that it averages.
        measured: For each model, the columns that it has.
    """
    shown = list(main)
    for names in measured:
        left = set(parts.get(OVERALL, ())).difference(*(parts[name] for name in main if name in names))
        for name in sorted(names, key=lambda name: -len(parts[name])):
            if left.intersection(parts[name]):
                left.difference_update(parts[name])
                shown += [name] * (name not in shown)
    return shown


def errors_of(result: Mapping[str, Any]) -> dict[str, float]:
    """Returns the known standard errors of a result's scores, 0-100."""
    errors = result.get('standard_errors')
    items = errors.items() if isinstance(errors, Mapping) else ()
    return {metric: float(error) for metric, error in items if is_number(error)}


Correlations = Mapping[tuple[str, str, str], float]
"""Metric of a data set, a data set that follows it in sorted order or the same, and its metric -> correlation of the
errors of both scores, -1 to 1."""

CORRELATIONS = 'correlations'
"""Key of the correlations in results of :func:`without_samples`."""

Deviations = Mapping[Score, Mapping[Cluster, float]]
"""Data set and metric -> deviation of each cluster, from
:func:`~opencompass_tooleval.core.statistics.intervals.deviations_of`."""


def correlations_of(deviations: Deviations, columns: Iterable[Mapping[Score, float]]) -> dict[str, Correlations]:
    """Computes the correlations of the errors of scores that share a column: 0 for scores of different queries.

    Args:
        deviations: The deviations of one model.
        columns: The shares of each column.

    Returns:
        The first data set -> correlations; those of 0 between two data sets are left out.
    """
    found: dict[str, dict[tuple[str, str, str], float]] = {}
    for a, b in {pair for shares in columns for pair in combinations(sorted(shares), 2)}:
        if a in deviations and b in deviations:
            correlation = _correlation(deviations[a], deviations[b])
            if correlation or a[0] == b[0]:
                found.setdefault(a[0], {})[a[1], b[0], b[1]] = correlation
    return dict(found)


def _correlation(first: Mapping[Cluster, float], second: Mapping[Cluster, float]) -> float:
    shared = math.fsum(part * second[cluster] for cluster, part in first.items() if cluster in second)
    if not shared:
        return 0.0
    squares = math.fsum(part**2 for part in first.values()) * math.fsum(part**2 for part in second.values())
    return max(-1.0, min(1.0, shared / math.sqrt(squares)))


def without_samples(
    results: Iterable[tuple[str, Mapping[str, Any]]], columns: Collection[Mapping[Score, float]]
) -> dict[str, dict[str, Any]]:
    """Removes ``details`` from the results of one model, and adds ``correlations``, which :func:`column_error` needs.

    Args:
        results: Data set and content of its file, read one at a time.
        columns: The shares of each column.

    Returns:
        Data set -> result.
    """
    together = {score for shares in columns if len(shares) > 1 for score in shares}
    bare: dict[str, dict[str, Any]] = {}
    deviations: dict[Score, Mapping[Cluster, float]] = {}
    for dataset, result in results:
        for metric in metrics_of(result):
            if (dataset, metric) in together and (values := values_of(result, metric)):
                deviations[dataset, metric] = deviations_of(values, dataset)
        bare[dataset] = {key: value for key, value in result.items() if key != 'details'}
    for dataset, correlations in correlations_of(deviations, columns).items():
        bare[dataset][CORRELATIONS] = correlations
    return bare


def column_error(
    shares: Mapping[Score, float], errors: Mapping[Score, float], correlations: Mapping[str, Correlations]
) -> float | None:
    """Computes the standard error of a score or of a column of a table, 0-100, for every screen.

    Errors are correlated between scores with common queries: scores of one data set, and of data sets that ask the same
    queries. Other errors are independent.

    Args:
        shares: Data set and metric -> share, from :func:`columns_of`; ``{score: 1.0}`` for one score.
        errors: Data set and metric -> standard error.
        correlations: Returned by :func:`correlations_of`.

    Returns:
        The error; None if the error of a score, or the correlation of two scores of one data set, is unknown.
    """
    if not all(score in errors for score in shares):
        return None
    variance = math.fsum((share * errors[score]) ** 2 for score, share in shares.items())
    for a, b in combinations(sorted(shares), 2):
        correlation = correlations.get(a[0], {}).get((a[1], *b), None if a[0] == b[0] else 0.0)
        if correlation is None:
            return None
        variance += 2 * correlation * math.prod(shares[score] * errors[score] for score in (a, b))
    return math.sqrt(max(0.0, variance))


def published_columns() -> dict[Score, dict[Score, float]]:
    """Returns table and column -> data set and metric -> share, for every benchmark with tables and its variants."""
    return columns_of(group for entry in plugin.TABLES.values() for group in plugin.load(entry))
