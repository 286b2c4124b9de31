"""Reads the results of work directories, for reports and the final screen of a run.

Samples are left out; missing results are listed. Imports no OpenCompass.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from opencompass_tooleval.catalogue.benchmark import OUR_PREFIX, record_count
from opencompass_tooleval.catalogue.comparable import deciding_settings, unlike
from opencompass_tooleval.catalogue.provenance import Provenance
from opencompass_tooleval.catalogue.tables import (
    CORRELATIONS,
    column_error,
    errors_of,
    published_columns,
    without_samples,
)
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.sampling_settings import SAMPLING
from opencompass_tooleval.core.statistics.intervals import Score
from opencompass_tooleval.core.text.jsonable import is_number
from opencompass_tooleval.findings.of_results import caveats_of
from opencompass_tooleval.plugin import USERS
from opencompass_tooleval.work_dir.names import is_unfinished_of_opencompass, whole_of
from opencompass_tooleval.work_dir.progress import left_out_pairs
from opencompass_tooleval.work_dir.shards import numbered_shards
from opencompass_tooleval.work_dir.work_dir import WorkDir, last_error, tail

_TASK = re.compile(r'\bTask \[([^\[\]\n]*)\]')
"""Matches ``MODEL/DATASET``, separated by commas, at the start of an OpenCompass log."""


@dataclass(frozen=True)
class ModelResult:
    """One result.

    Attributes:
        model: The model's name in the report.
        dataset: Abbr of the data set.
        run: The run.
        folder: The model's abbr in the run.
        result: Content of the file, reduced by :func:`~opencompass_tooleval.catalogue.tables.without_samples`.
        is_earlier: True if it is of an earlier look, since the latest one is not complete.
    """

    model: str
    dataset: str
    run: WorkDir
    folder: str
    result: Mapping[str, Any]
    is_earlier: bool = False

    def whole(self) -> Mapping[str, Any] | None:
        """Reads the result again, with its samples; None if it is missing."""
        return (self.run.earlier_look if self.is_earlier else self.run.result)(self.folder, self.dataset)

    def number(self, metric: str) -> float | None:
        """Returns a score, 0-100; None if it is missing or not a usable number."""
        value = self.result.get(metric)
        return float(value) if is_number(value) else None

    @cached_property
    def provenance(self) -> Provenance:
        """The provenance of the result."""
        return Provenance.of(self.result)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Everything that is equal in a repetition: settings that decide comparisons, sampling settings, records."""
        stored = {SAMPLING: self.provenance.stored.get(SAMPLING), 'records': record_count(self.result)}
        return {**deciding_settings(self.result), **stored}

    @cached_property
    def date(self) -> str:
        """When the run began, by its name; for other names, when the result was written."""
        try:
            time = datetime.strptime(self.run.path.resolve().name, '%Y%m%d_%H%M%S')
        except ValueError:
            file = self.run.result_file(self.folder, self.dataset)
            time = datetime.fromtimestamp((file if file.is_file() else self.run.path).stat().st_mtime)
        return f'{time:%Y-%m-%d %H:%M:%S}'

    @property
    def caveats(self) -> tuple[str, ...]:
        """Reasons why the scores are not comparable with published ones; empty if they are."""
        return caveats_of(self.dataset, self.result)

    def part(self, name: str) -> Mapping[str, Any]:
        """Returns a nested dict of the result, such as ``samples``; empty if it is missing.

        For a data set with several runs, numbers are means over the runs.
        """
        part = self.result.get(name)
        if isinstance(part, list):
            part = _combine([run for run in part if isinstance(run, dict)])
        return part if isinstance(part, dict) else {}


def _combine(values: Sequence[Any]) -> Any:
    """Combines the values of several runs: averages numbers, merges dicts by key, otherwise takes the first value."""
    given = [value for value in values if value is not None]
    if given and all(isinstance(value, dict) for value in given):
        keys = dict.fromkeys(key for value in given for key in value)
        return {key: _combine([value.get(key) for value in given]) for key in keys}
    if given and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in given):
        return math.fsum(given) / len(given)
    return given[0] if given else None


@dataclass(frozen=True)
class Missing:
    """A missing result of a model on a data set.

    Attributes:
        model: The model's name.
        dataset: Abbr of the data set.
        error: The error that ended the task; '' if no file reports one.
        log: Path of the task's log; it says so if the log does not exist.
        is_answered: True if there are predictions.
    """

    model: str
    dataset: str
    error: str = ''
    log: str = ''
    is_answered: bool = False

    @property
    def why(self) -> str:
        """The error, or the progress of the task."""
        return self.error or ('answered, not scored' if self.is_answered else 'no answers')

    @property
    def what(self) -> str:
        """The first clause of the error, without the names of its class and of the data set."""
        return re.split(r' \(|[;,.:] ', re.sub(rf'^\w+: (?:{re.escape(self.dataset)}: )?', '', self.why), maxsplit=1)[0]


@dataclass(frozen=True)
class Cell:
    """A score.

    Attributes:
        value: 0-100; None if it is missing.
        error: Its standard error, in points; None if it is unknown.
        best: True if every other measured model has a worse score.
        caveats: Reasons why it is not comparable with published scores.
        lacks: Data sets, or scores of them, that the score needs and the run lacks.
    """

    value: float | None = None
    error: float | None = None
    best: bool = False
    caveats: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


def cell_of(model: str, shares: Mapping[Score, float], scored: Mapping[tuple[str, str], ModelResult]) -> Cell:
    """Computes a model's score on a data set or in a column of a table.

    Args:
        model: The model's name.
        shares: Data set and metric -> its share in the score.
        scored: Model and data set -> result.
    """
    lacks = tuple(dict.fromkeys(dataset for dataset, _ in shares if (model, dataset) not in scored))
    parts = {score: scored[model, score[0]] for score in shares if score[0] not in lacks}
    values = {score: entry.number(score[1]) for score, entry in parts.items()}
    unmeasured = tuple(f'{score[0]} {score[1]}' for score, value in values.items() if value is None)
    caveats = tuple(dict.fromkeys(caveat for entry in parts.values() for caveat in entry.caveats))
    if lacks or unmeasured:
        return Cell(caveats=caveats if parts else (), lacks=(*lacks, *unmeasured))
    errors = {score: of[score[1]] for score, entry in parts.items() if score[1] in (of := errors_of(entry.result))}
    value = math.fsum(share * float(values[score] or 0) for score, share in shares.items())
    correlations = {score[0]: entry.result.get(CORRELATIONS, {}) for score, entry in parts.items()}
    return Cell(value, column_error(shares, errors, correlations), caveats=caveats)


@dataclass(frozen=True)
class Material:
    """Input of a report.

    Attributes:
        runs: The work directories.
        scored: Results, sorted by model and data set.
        missing: Results that are missing, although the run has or started the data set for this model or another one.
        older: Results that do not count, since a newer one has the same model, data set and settings.
        private: Number of results on a user's own tools that are left out.
    """

    runs: tuple[WorkDir, ...]
    scored: tuple[ModelResult, ...]
    missing: tuple[Missing, ...]
    older: tuple[ModelResult, ...] = ()
    private: int = 0

    @property
    def results(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        """The results by model and data set."""
        return {(entry.model, entry.dataset): entry.result for entry in self.scored}

    @property
    def models(self) -> tuple[str, ...]:
        """The models with results, in order."""
        return tuple(dict.fromkeys(entry.model for entry in self.scored))

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets with results, in order."""
        return tuple(sorted({entry.dataset for entry in self.scored}))

    def by_pair(self) -> dict[tuple[str, str], ModelResult]:
        """Returns model and data set -> result."""
        return {(entry.model, entry.dataset): entry for entry in self.scored}


def run_names(runs: Sequence[WorkDir]) -> dict[WorkDir, str]:
    """Returns the names of runs: the shortest unique ends of their paths."""
    depth = 1
    while len({run.path.parts[-depth:] for run in runs}) < len(set(runs)):
        depth += 1
    return {run: str(Path(*run.path.parts[-depth:])) for run in runs}


def _begun(run: WorkDir) -> Iterator[tuple[str, str]]:
    """Yields model and data set (or shard) for each predictions file, each log and each task named in a log."""
    for file in run.path.glob('predictions/*/*.json'):
        if not (file.name.startswith('.') or is_unfinished_of_opencompass(file)):
            yield file.parent.name, file.stem
    for log in run.path.glob('logs/*/*/*.out'):
        yield log.parent.name, log.stem
        for task in (task for tasks in _TASK.findall(tail(log)) for task in tasks.split(',')):
            model, _, dataset = task.strip().rpartition('/')
            if model and dataset:
                yield model, dataset


def _whole(name: str, names: set[str]) -> str:
    """Returns the data set of a shard; other names are returned unchanged."""
    whole = whole_of(name)
    return whole if whole and (whole in names or f'{whole}_0' in names) else name


def begun_pairs(run: WorkDir) -> set[tuple[str, str]]:
    """Returns model and data set of all results, predictions and started tasks."""
    done, begun = set(run.pairs()), set(_begun(run))
    datasets = {dataset for _, dataset in done}
    names = datasets | {dataset for _, dataset in begun}
    return done | {(model, name if name in datasets else _whole(name, names)) for model, name in begun}


def results_of(
    run: WorkDir, models: Sequence[str], datasets: Sequence[str], *, earlier: bool = False
) -> tuple[list[ModelResult], list[Missing]]:
    """Reads the results of models on data sets; returns them, and the missing ones that the config does not leave out.

    Pass all data sets of a table together, since errors of its columns need the correlations between them.

    Args:
        run: The run.
        models: Abbrs of the models.
        datasets: Abbrs of the data sets.
        earlier: True to read the result of the look before one that is not complete. It is among both.
    """
    scored: list[ModelResult] = []
    missing: list[Missing] = []
    columns = list(published_columns().values())
    for model in models:
        bare = without_samples(_results(run, model, datasets, missing, earlier), columns)
        late = {one.dataset for one in missing if one.model == model}
        scored += (ModelResult(model, name, run, model, result, name in late) for name, result in bare.items())
    left_out = left_out_pairs(run) if missing else set()
    return scored, [one for one in missing if (one.model, one.dataset) not in left_out]


def _results(
    run: WorkDir, model: str, datasets: Sequence[str], missing: list[Missing], earlier: bool
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the valid results of a model; adds the other ones to ``missing``."""
    for dataset in datasets:
        try:
            result = run.result(model, dataset)
            look = run.earlier_look(model, dataset) if earlier and result is None else None
        except DataError as error:
            missing.append(Missing(model, dataset, f'damaged: {error}'))
            continue
        if result is not None and 'error' not in result:
            yield dataset, result
        else:
            missing.append(find_missing(run, model, dataset))
        if look:
            what = 'the latest look is not complete and the scores are those of the one before'
            missing[-1] = replace(missing[-1], error=f'{what}. {missing[-1].why}')
            yield dataset, look


def find_missing(run: WorkDir, model: str, dataset: str) -> Missing:
    """Finds out from the log why a result is missing."""
    whole = run.predictions(model, dataset)
    is_answered = whole.exists() or bool(numbered_shards(whole))
    log = run.log(model, dataset, 'eval' if is_answered else 'infer')
    shown = str(log) if log.is_file() else f'{log} (no log: the task never started)'
    return Missing(model, dataset, last_error(log, dataset), shown, is_answered)


def read(paths: Sequence[Path], include_private: bool = False) -> Material:
    """Reads work directories.

    Of the results of a model on a data set with the same settings, the newest counts. A model with results of other
    settings in two work directories is named ``MODEL (RUN)``.

    Args:
        paths: The work directories.
        include_private: True to keep results on a user's own tools if there are several work directories.

    Raises:
        DataError: A path is not a run of OpenCompass.
    """
    runs = tuple(dict.fromkeys(WorkDir.find(path).absolute() for path in paths))
    begun = {run: begun_pairs(run) for run in runs}
    read_runs = {
        run: results_of(run, *(sorted({pair[side] for pair in pairs}) for side in (0, 1)), earlier=True)
        for run, pairs in begun.items()
    }
    users = USERS if len(runs) > 1 and not include_private else ()
    found = [entry for scored, _ in read_runs.values() for entry in scored]
    private = {entry.dataset for entry in found if entry.provenance.benchmark in users}
    public = [entry for entry in found if entry.dataset not in private]
    counting, older = _newest(public)
    doubled = {model for (model, _), entries in counting.items() if len(entries) > 1}
    names = run_names(runs)

    def named(one: Any, run: WorkDir) -> Any:
        return replace(one, model=f'{one.model} ({names[run]})') if one.model in doubled else one

    scored = [named(entry, entry.run) for entries in counting.values() for entry in entries]
    whole = {(entry.model, entry.dataset) for entry in scored if not entry.is_earlier}
    lacking = {
        (gap.model, gap.dataset): gap
        for run, (_, missing) in read_runs.items()
        for gap in (named(one, run) for one in missing if one.dataset not in private)
        if not gap.dataset.startswith(tuple(f'{OUR_PREFIX}{user}' for user in users))
    }
    return Material(
        runs,
        tuple(sorted(scored, key=lambda entry: (entry.model, entry.dataset))),
        tuple(gap for pair, gap in lacking.items() if pair not in whole),
        tuple(named(entry, entry.run) for entry in older),
        len(found) - len(public),
    )


def _newest(found: Sequence[ModelResult]) -> tuple[dict[tuple[str, str], list[ModelResult]], list[ModelResult]]:
    """Returns model and data set -> the newest result of each settings, and the older results.

    Results of other packages do not tell their settings, so each counts.
    """
    counting: dict[tuple[str, str], list[ModelResult]] = {}
    older: list[ModelResult] = []
    for entry in sorted(found, key=lambda entry: entry.date, reverse=True):
        newer = counting.setdefault((entry.model, entry.dataset), [])
        alike = (one for one in newer if not any(unlike({'': entry.settings, 'newer': one.settings}, True)))
        (older if entry.provenance.stored and any(alike) else newer).append(entry)
    return counting, older
