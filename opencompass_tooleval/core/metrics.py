"""Metrics: a row for each in the benchmark that has it, and what readers of results look up in these rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from opencompass_tooleval.core.benchmark import BENCHMARKS, USERS, find_description
from opencompass_tooleval.core.labels import Words


@dataclass(frozen=True)
class Metric:
    """A metric of data sets, or a column of a table.

    Attributes:
        name: Name in results.
        label: Its name for people.
        sentence: A sentence on its meaning.
        higher_is_better: True if a higher value is better.
        binary: True if a sample has 0 or 1, and 1 is right; other metrics are graded, or means over steps.
        rank: Of those that say whether the tasks of a data set are solved: the lowest stands for the data set,
            several of one rank together. 0: it never does.
        judged: The metric that stands for the data set in its place where a judge is asked; '' if there is none.
    """

    name: str
    label: str
    sentence: str
    higher_is_better: bool = True
    binary: bool = False
    rank: int = 0
    judged: str = ''

    @property
    def words(self) -> Words:
        """Its name on a screen, and a sentence on its meaning."""
        return Words(self.label, self.sentence if self.higher_is_better else f'{self.sentence}; lower is better')


def halves(columns: Iterable[Metric], ending: str, label: str, sentence: str) -> Iterator[Metric]:
    """Columns of a table again, each for a part of what it is about: ``plan_json`` beside ``plan``."""
    for column in columns:
        yield Metric(column.name + ending, f'{column.label}, {label}', f'{column.sentence}; {sentence}')


OVERALL = 'overall'
"""The score of a table, or of a data set, as a whole."""

ACCURACY = Metric('accuracy', 'Accuracy', 'share of right answers', binary=True, rank=4)
SUCCESS_RATE = Metric('success_rate', 'Success', 'share of runs that the judge calls a success', binary=True, rank=4)
TOOL_ERROR_RATE = Metric('tool_error_rate', 'Tool errors', 'share of questions with a call that failed', False)
TOOL_NAME_ERROR_RATE = Metric('tool_name_error_rate', 'Name errors', 'share with a tool that does not exist', False)
PARAMETER_ERROR_RATE = Metric(
    'parameter_error_rate', 'Parameter errors', 'share with a call of wrong parameters', higher_is_better=False
)
_OVERALL = Metric(OVERALL, 'Overall', 'the mean of the abilities, as the paper takes it', rank=1)


@cache
def _rows(benchmarks: tuple[str, ...]) -> dict[str, Metric]:
    rows = {OVERALL: _OVERALL}
    for metric in (metric for name in benchmarks for metric in find_description(name).metrics):
        rows.setdefault(metric.name, metric)
    return rows


def all_metrics() -> dict[str, Metric]:
    """Name -> row, of every metric of every benchmark; of a name that several have, the first."""
    return _rows((*BENCHMARKS, *USERS))


def words_of_metric(metric: str) -> Words:
    """The words for a metric or for a column of a table; of one that is not known: its name with blanks."""
    row = all_metrics().get(metric)
    return row.words if row else Words(metric.replace('_', ' '), '')


def lower_is_better(metric: str) -> bool:
    """Tests if a lower value of a metric, or of the column ``DATASET METRIC`` of a table, is better."""
    row = all_metrics().get(metric.rpartition(' ')[2])
    return not row.higher_is_better if row else metric.endswith(('error', 'error_rate'))


def main_metrics(metrics: Sequence[str]) -> tuple[str, ...]:
    """Those of a data set's metrics, or of a table's columns, that stand for it; of others than ours the first."""
    ranked = [row for row in all_metrics().values() if row.rank and row.name in metrics]
    best = min((row.rank for row in ranked), default=0)
    return tuple(row.name for row in ranked if row.rank == best) or tuple(metrics[:1])


def main_first(metrics: Sequence[str]) -> list[str]:
    """Metrics with those that stand for the data set before the others."""
    main = main_metrics(metrics)
    return [*main, *(metric for metric in metrics if metric not in main)]


def judged_metrics() -> dict[str, str]:
    """Returns the main metric without a judge -> the metric that replaces it if a judge graded the answers."""
    return {row.name: row.judged for row in all_metrics().values() if row.judged}
