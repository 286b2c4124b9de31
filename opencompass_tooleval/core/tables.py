"""Scores and tables over several data sets: what a column is the mean of, and its standard error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from opencompass_tooleval.core.intervals import Score as Score


def columns_of(groups: Iterable[Mapping[str, Any]]) -> dict[Score, dict[Score, float]]:
    """Resolves tables down to the scores of data sets.

    Args:
        groups: Summary groups of OpenCompass with ``name``, ``metric``, ``subsets`` and perhaps ``weights`` (by data
            set); a group may use those before it.

    Returns:
        Table and column -> data set and metric -> its share; the shares of a column add up to 1.
    """
    columns: dict[Score, dict[Score, float]] = {}
    for group in groups:
        parts = [(str(name), str(metric)) for name, metric in group['subsets']]
        weights = [group.get('weights', {}).get(name, 1) for name, _ in parts]
        shares: dict[Score, float] = {}
        for part, weight in zip(parts, weights, strict=True):
            for score, share in columns.get(part, {part: 1.0}).items():
                shares[score] = shares.get(score, 0.0) + share * weight / sum(weights)
        columns[str(group['name']), str(group['metric'])] = shares
    return columns


def errors_of(result: Mapping[str, Any]) -> dict[str, float]:
    """Standard errors of a result's scores, 0-100, without those that are not known.

    An old result of several runs has a list, of the error of each run: it does not say that of their mean.
    """
    errors = result.get('standard_errors')
    items = errors.items() if isinstance(errors, Mapping) else ()
    return {metric: float(error) for metric, error in items if isinstance(error, (int, float))}


def column_error(shares: Mapping[Score, float], errors: Mapping[Score, float]) -> float | None:
    """The standard error of a column of a table, 0-100; None if that of a score is not known.

    Errors of different data sets are independent; those of scores of one data set are taken to move together, which is
    the most that they can add up to.

    Args:
        shares: Data set and metric -> share, as :func:`columns_of` has it.
        errors: Data set and metric -> standard error.
    """
    if not all(score in errors for score in shares):
        return None
    by_dataset: dict[str, float] = {}
    for score, share in shares.items():
        by_dataset[score[0]] = by_dataset.get(score[0], 0.0) + share * errors[score]
    return math.hypot(*by_dataset.values())
