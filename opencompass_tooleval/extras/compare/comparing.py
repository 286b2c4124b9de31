"""Compares two models of a sweep: scores, tables, and the samples that differ. Imports no OpenCompass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from opencompass_tooleval.catalogue.benchmark import part_in_words
from opencompass_tooleval.catalogue.comparable import decides, result_provenance
from opencompass_tooleval.catalogue.subset_names import nearest_first
from opencompass_tooleval.catalogue.tables import (
    column_error,
    correlations_of,
    errors_of,
    published_columns,
)
from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.core.statistics.intervals import Pairs, Score, compare_column, deviations_of
from opencompass_tooleval.core.statistics.paired import (
    Difference,
    Result,
    details_of,
    differences,
    metrics_of,
    over_shared,
    pairs_of,
    unanswered_records,
    why_unpaired,
)
from opencompass_tooleval.core.statistics.trials import trials_of_result
from opencompass_tooleval.extras.compare.paired_trials import paired_estimates
from opencompass_tooleval.findings.finding import Finding, found
from opencompass_tooleval.findings.of_results import findings_of_run, of_comparisons
from opencompass_tooleval.results.result_row import Results, valid_result

_some = partial(first_of, most=8)


@dataclass(frozen=True)
class Side:
    """One of the two models.

    Attributes:
        work: The run or baseline with the model's results.
        model: The model's abbr.
        datasets: The data sets that have results of the model.
        name: The model's name in notes, for models with the same abbr; by default the abbr.
    """

    work: Results
    model: str
    datasets: frozenset[str]
    name: str = ''

    def __str__(self) -> str:
        return self.name or self.model

    @classmethod
    def find(cls, work: Results, model: str, pattern: str = '*') -> Side:
        """Finds a model's results on data sets whose abbrs match a pattern.

        Raises:
            DataError: The model has no such results; the message lists the existing ones.
        """
        pairs = list(work.pairs())
        model_datasets = [dataset for name, dataset in pairs if name == model]
        if not model_datasets:
            models = nearest_first(model, sorted({name for name, _ in pairs}))
            raise DataError(work.path, f'there is no result of a model {model!r}; the models here: {models}')
        chosen = frozenset(dataset for dataset in model_datasets if fnmatchcase(dataset, pattern))
        if not chosen:
            there = nearest_first(pattern, model_datasets, most=5)
            raise DataError(work.path, f'no data set of {model} matches {pattern!r}; there are: {there}')
        return cls(work, model, chosen)

    def result(self, dataset: str) -> Result | None:
        """Returns the result of a data set; None if it is missing or an error."""
        return valid_result(self.work, self.model, dataset)


@dataclass(frozen=True)
class Row:
    """One score, or one column of a table, for both models.

    Attributes:
        name: The data set or the table.
        metric: The metric or the column.
        a: The first model's score, 0-100, over the records that both models have.
        error_a: Standard error of ``a``, in points; None if it is unknown.
        b: The second model's score.
        error_b: Standard error of ``b``.
        delta: ``b`` - ``a``, in points.
        low: Lower end of the interval of ``delta``; None if the score is not a mean over records. Each score then
            covers all records of its own model.
        high: Upper end.
        records: Number of records that both have.
    """

    name: str
    metric: str
    a: float
    error_a: float | None
    b: float
    error_b: float | None
    delta: float
    low: float | None = None
    high: float | None = None
    records: int | None = None


@dataclass
class Comparison:
    """Result of a comparison.

    Attributes:
        tables: The columns of tables for which both models have every data set.
        datasets: The scores of data sets.
        records: Data set -> number of records that both models have.
        differing: Data set -> samples that differ, largest difference first.
        findings: Findings on the results of both models, then on their comparison.
    """

    tables: list[Row] = field(default_factory=list)
    datasets: list[Row] = field(default_factory=list)
    records: dict[str, int] = field(default_factory=dict)
    differing: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def sample_row(dataset: str, difference: Difference, *keys: str) -> dict[str, Any]:
    """Formats a sample as a row: data set, record, run, and for each side the ``keys`` of its detail."""
    sides = {name: {key: side.get(key) for key in keys} for name, side in (('a', difference.a), ('b', difference.b))}
    return {'dataset': dataset, 'id': difference.id, 'run': difference.run, **sides}


class Comparer:
    """Compares data sets one after the other, and keeps the values that the tables need.

    Attributes:
        comparison: The result so far.
        columns: Table and column -> shares of the scores of data sets.
        pairs: Data set and metric -> values of the records that both models have.
        unpaired: Data set and metric -> the reason why the score has no pairs.
        unanswered: Data set -> records that lack an answer of at least one model.
        lacking: Data set -> number of the first model's records that the second lacks.
    """

    def __init__(self) -> None:
        self.comparison = Comparison()
        self.columns = published_columns()
        self._rows: dict[Score, Row] = {}
        self._errors: tuple[dict[Score, float], dict[Score, float]] = {}, {}
        self.pairs: dict[Score, Pairs] = {}
        self.unpaired: dict[Score, str] = {}
        self.unanswered: dict[str, set[str]] = {}
        self.lacking: dict[str, int] = {}

    def add(self, dataset: str, first: Result, second: Result) -> list[Difference]:
        """Compares the results of a data set; returns the samples that differ, in the data's order."""
        metrics = [metric for metric in metrics_of(first) if metric in metrics_of(second)]
        paired = {(dataset, metric): pairs for metric in metrics if (pairs := pairs_of(first, second, metric))}
        estimates = list(paired_estimates(first, second))
        paired |= {(dataset, estimate.metric): estimate.pairs for estimate in estimates if estimate.pairs}
        self.pairs |= paired
        unpaired: dict[str, list[str]] = {}
        for metric in metrics:
            score = dataset, metric
            if score not in paired:
                self.unpaired[score] = why_unpaired(first, second, metric)
                unpaired.setdefault(self.unpaired[score], []).append(metric)
            known = errors_of(first).get(metric), errors_of(second).get(metric)
            values, errors = over_shared(paired.get(score), (first[metric], second[metric]), known)
            self._rows[score] = self._one(score, values, errors)
        for estimate in estimates:
            self._one((dataset, estimate.metric), estimate.values, estimate.errors)
        partly = [metric for (_, metric), pairs in paired.items() if pairs.unshared]
        if partly and _ids(first) == _ids(second):
            self.note('interval', dataset, f'{_some(partly)}: over the records to which they apply in both')
        self.note('interval', dataset, *(f'no interval of {_some(those)}: {why}' for why, those in unpaired.items()))
        different = differences(first, second)
        self.comparison.records[dataset] = len(_ids(first) & _ids(second))
        self.lacking[dataset] = len(_ids(first) - _ids(second))
        self.unanswered[dataset] = unanswered_records(first) | unanswered_records(second)
        self.comparison.differing[dataset] = [
            sample_row(dataset, difference, 'values', 'reason')
            for difference in sorted(different, key=lambda difference: -difference.size)
        ]
        return different

    def note(self, kind: str, about: str, *texts: str) -> None:
        """Adds findings of the kind ``compare:KIND`` about a data set, a score or a table."""
        self.comparison.findings += [found(f'compare:{kind}', about, text) for text in texts]

    def _one(self, score: Score, values: tuple[float, float], errors: tuple[float | None, float | None]) -> Row:
        """Adds and returns the row of one score."""
        for known, error in zip(self._errors, errors, strict=True):
            if error is not None:
                known[score] = error
        row = self._row(score, {score: 1.0}, values)
        self.comparison.datasets.append(row)
        return row

    def _row(self, name: Score, column: Mapping[Score, float], scores: tuple[float, float]) -> Row:
        a, b = scores
        error_a, error_b = (self._error(side, column) for side in (0, 1))
        unpaired = [f'{dataset} {metric}' for dataset, metric in column if (dataset, metric) not in self.pairs]
        if unpaired:
            if name not in column:
                self.note('interval', ' '.join(name), f'no interval, since there is none for {_some(unpaired)}')
            return Row(*name, a, error_a, b, error_b, b - a)
        interval = compare_column(column, self.pairs)
        return Row(*name, a, error_a, b, error_b, interval.delta, interval.low, interval.high, interval.pairs)

    def _error(self, side: int, column: Mapping[Score, float]) -> float | None:
        """Computes the standard error of a column for one model: 0 for the first, 1 for the second."""
        scores = [score for score in column if len(column) > 1 and score in self.pairs]
        deviations = {score: deviations_of(self.pairs[score].values_of(side), score[0]) for score in scores}
        return column_error(column, self._errors[side], correlations_of(deviations, [column]))

    def _column(self, name: Score, column: Mapping[Score, float]) -> Row:
        rows = [self._rows[score] for score in column]
        if len(rows) == 1:
            return replace(rows[0], name=name[0], metric=name[1])
        shares = list(column.values())
        a = math.fsum(share * row.a for share, row in zip(shares, rows, strict=True))
        b = math.fsum(share * row.b for share, row in zip(shares, rows, strict=True))
        return self._row(name, column, (a, b))

    def add_tables(self) -> None:
        """Compares the tables, after all data sets have been added."""
        lacking: dict[str, set[str]] = {}
        for name, column in self.columns.items():
            missing = {dataset for dataset, metric in column if (dataset, metric) not in self._rows}
            lacking.setdefault(name[0], set()).update(missing)
            if not missing:
                self.comparison.tables.append(self._column(name, column))
        for table in dict.fromkeys(row.name for row in self.comparison.tables):
            if lacking[table]:
                what = f'some columns are left out, since not both models have {_some(sorted(lacking[table]))}'
                self.note('missing', table, what)


def _notes_on_records(*results: Result, parts: Mapping[str, str]) -> Iterator[str]:
    """Yields how many records and trials are compared; ``parts`` has the part of the data of each side, in words."""
    (first, second), shown = map(_ids, results), list[str]()
    for part in dict.fromkeys(filter(None, parts.values())):
        shown.append(f'{" and ".join(name for name in parts if parts[name] == part)}: {part}')
    if first != second:
        both, of = f'{len(first & second)} of {len(first | second)}', f' ({"; ".join(shown)})' if shown else ''
        yield f'{both} records are in both; scores and differences are over these{of}'
    else:
        yield from (f'only a part of all records: {part}' for part in shown)
    counts = [read.trials if (read := trials_of_result(result)) else 1 for result in results]
    if counts[0] != counts[1]:
        yield f'{counts[0]} trials of each record in one and {counts[1]} in the other'


def _ids(result: Result) -> set[str]:
    return {str(detail['id']) for detail in details_of(result)}


def _noted(first: Result, second: Result) -> Iterator[str]:
    """Yields the differences of two provenances that do not make results incomparable."""
    a, b = ({'wire': 'chat', **result_provenance(one)} for one in (first, second))  # this wire is not stored
    for key in dict.fromkeys([*a, *b]):
        if not decides(key) and a.get(key) != b.get(key):
            yield f'{key} is {a.get(key)!r} of one and {b.get(key)!r} of the other'


def compare(
    sides: tuple[Side, Side],
    *,
    sink: Callable[[str, Sequence[Difference]], None],
    progress: Callable[[Sequence[str]], Iterable[str]] = iter,
    accept: Callable[[str, Result | None, Result | None], bool] = lambda *_: True,
) -> Comparer:
    """Compares two models on the data sets that both have; the result is the ``comparison`` of the returned object.

    Args:
        sides: The models.
        sink: Called with each data set and its differing samples, in the data's order; they are not kept in full.
        progress: Wraps the data sets to show progress.
        accept: Called with each data set and both results, None for an error; returns False to leave it out.

    Raises:
        DataError: The models share no data set, or a result is damaged.
    """
    a, b = sides
    both = sorted(a.datasets & b.datasets)
    if not both:
        what = ' and '.join(f'{side} has {_some(sorted(side.datasets))}' for side in sides)
        raise DataError(a.work.path, f'the models share no data set: {what}')
    comparer, results = Comparer(), dict[tuple[str, str], Result]()
    names = (str(a), str(b)) if str(a) != str(b) else (f'{a} (A)', f'{b} (B)')  # one model in two runs
    for side, other in ((a, b), (b, a)):
        for dataset in sorted(side.datasets - other.datasets):
            comparer.note('missing', dataset, f'only {side} has a result')
    for dataset in progress(both):
        first, second = a.result(dataset), b.result(dataset)
        if not accept(dataset, first, second):
            continue
        if first is None or second is None:
            failed = ' and '.join(str(side) for side, result in ((a, first), (b, second)) if result is None)
            comparer.note('missing', dataset, f'the result of {failed} is an error')
            continue
        sink(dataset, comparer.add(dataset, first, second))
        both_results = dict(zip(names, (first, second), strict=True))
        for name, result in both_results.items():
            results[name, dataset] = {key: value for key, value in result.items() if key != 'details'}
        parts = {name: part_in_words(dataset, result) for name, result in both_results.items()}
        comparer.note('records', dataset, *_notes_on_records(first, second, parts=parts))
        comparer.note('package', dataset, *_noted(first, second))
    comparer.add_tables()
    findings = comparer.comparison.findings
    findings[:0] = of_comparisons(findings_of_run(results))
    return comparer
