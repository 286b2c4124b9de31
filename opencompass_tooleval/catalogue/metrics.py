"""Metrics: rows in the tables of benchmarks, and look-ups in these rows for readers of results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from opencompass_tooleval.catalogue.benchmark import find_description
from opencompass_tooleval.catalogue.labels import Metric, Words
from opencompass_tooleval.plugin import BENCHMARKS, USERS


def halves(columns: Iterable[Metric], ending: str, label: str, sentence: str) -> Iterator[Metric]:
    """Yields a copy of each column of a table for a part of its data sets: ``plan_json`` for ``plan``."""
    for column in columns:
        yield Metric(column.name + ending, f'{column.label}, {label}', f'{column.sentence}; {sentence}')


OVERALL = 'overall'
"""The score of a complete table or data set."""

_OVERALL = Metric(OVERALL, 'Overall', 'mean of the abilities, as in the paper', rank=1)


@cache
def _rows(benchmarks: tuple[str, ...]) -> dict[str, Metric]:
    rows = {OVERALL: _OVERALL}
    for metric in (metric for name in benchmarks for metric in find_description(name).metrics):
        rows.setdefault(metric.name, metric)
    return rows


def all_metrics(names: Iterable[str] | None = None) -> dict[str, Metric]:
    """Returns name -> row for the metrics of all benchmarks; for a shared name, the first row.

    Args:
        names: Metrics to look up. Descriptions of extras are loaded only if the plugin's benchmarks lack such a metric.
    """
    rows = _rows(tuple(BENCHMARKS))
    is_complete = names is not None and all(name in rows for name in names)
    return rows if is_complete else _rows((*BENCHMARKS, *USERS))


def words_of_metric(metric: str) -> Words:
    """Returns the words for a metric or a column of a table; for an unknown one, its name with blanks."""
    row = all_metrics([metric]).get(metric)
    return row.words if row else Words(metric.replace('_', ' '), '')


def lower_is_better(metric: str) -> bool:
    """Tests if a lower value of a metric, or of the column ``DATASET METRIC`` of a table, is better."""
    name = metric.rpartition(' ')[2]
    row = all_metrics([name]).get(name)
    return not row.higher_is_better if row else metric.endswith(('error', 'error_rate'))


def main_metrics(metrics: Sequence[str], rows: Iterable[Metric] | None = None) -> tuple[str, ...]:
    """Returns the main metrics of a data set or columns of a table; for other packages' metrics, the first.

    Args:
        metrics: Names of the metrics.
        rows: Rows of the benchmark; by default, the rows of all benchmarks are loaded.
    """
    rows = all_metrics(metrics).values() if rows is None else (_OVERALL, *rows)
    ranked = [row for row in rows if row.rank and row.name in metrics]
    best = min((row.rank for row in ranked), default=0)
    return tuple(row.name for row in ranked if row.rank == best) or tuple(metrics[:1])


def main_first(metrics: Sequence[str], rows: Iterable[Metric] | None = None) -> list[str]:
    """Sorts metrics with the main ones first; the arguments are those of :func:`main_metrics`."""
    main = main_metrics(metrics, rows)
    return [*main, *(metric for metric in metrics if metric not in main)]


def judged_metrics() -> dict[str, str]:
    """Returns the main metric without a judge -> the metric that replaces it if a judge graded the answers.

    Only the plugin's benchmarks have such metrics.
    """
    return {row.name: row.judged for row in all_metrics(()).values() if row.judged}


def empty_metrics(result: Mapping[str, Any]) -> list[str]:
    """Returns the names of a result's metrics without a value, such as those of a judge if none was asked."""
    empty = [name for name, value in result.items() if value is None]
    return [name for name in empty if name in all_metrics(empty)]
