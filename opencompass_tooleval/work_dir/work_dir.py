"""Finds and reads the files of an OpenCompass work directory. Imports no OpenCompass."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from opencompass_tooleval.catalogue.benchmark import check_parts
from opencompass_tooleval.catalogue.provenance import Provenance
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.result import with_runs
from opencompass_tooleval.core.statistics.sample import LOOK
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import MAX_RUN_BYTES, check_links, open_plain, read_plain
from opencompass_tooleval.work_dir.names import answers_in, is_of, outdated_path, predictions_of, shard_pattern
from opencompass_tooleval.work_dir.recorded import RECORDED_SHAPE
from opencompass_tooleval.work_dir.shards import read_predictions, shard_files
from opencompass_tooleval.work_dir.stored import ANSWERS, ORIGIN, OTHER_ANSWERS, bytes_digest

_ERROR = re.compile(r'(?:Error|Exception|FAILED|Killed|CANCELLED|DUE TO TIME LIMIT)\b')
_LOGGED = ' - OpenCompass - '
"""Part of each line of the logger, such as one about a repeated request."""
_TASK = ' - Task ['
"""Part of a task's first line, which names all its datasets."""
_ENDED = 'time elapsed: '
"""Part of a task's last line from the logger, failed or not."""
_RAISED = re.compile(r'(?:\[rank\d+\]:\s*)?[\w.]*(?:Error|Exception|Interrupt)\b')
_STOPPED = re.compile(r'\bKilled\b|\boom_kill\b|\bCANCELLED\b(?!.*PREEMPT)')
"""Messages of Slurm and the shell that a task was stopped. A preempted task is queued again."""
_OF_SLURM = re.compile(r'(?:srun|slurmstepd): (?:error|fatal): (?!.*PREEMPT)')
_OF_NAMES = re.compile(r'[\w.-]')
_TAIL = 1 << 20
_MOST_OF_LINE = 4_096
"""Number of characters of a line to search, since errors are at its beginning."""


@dataclass(frozen=True)
class WorkDir:
    """A run, such as ``outputs/NAME/20260101_120000``.

    Attributes:
        path: The folder with ``predictions``, ``results``, ``logs`` and ``configs``.
    """

    path: Path

    @classmethod
    def find(cls, path: Path) -> WorkDir:
        """Finds a run: ``path`` itself, or the latest run in it.

        Raises:
            DataError: There is no run, or a link leaves the run.
        """
        if not path.exists():
            raise DataError(path, 'no such folder')
        path = path.resolve() if path.name in ('', '..') else path  # commands name the run
        runs = [folder for folder in [path, *sorted(path.glob('*/'), reverse=True)] if (folder / 'configs').is_dir()]
        if not runs:
            raise DataError(path, 'there is no run of OpenCompass here', fix='opencompass CONFIG -w DIR')
        check_links(path if runs[0].is_symlink() and runs[0] != path else runs[0])
        return cls(runs[0])

    def absolute(self) -> WorkDir:
        """Returns the same run with an absolute path."""
        return WorkDir(self.path.resolve())

    def config(self) -> Path:
        """Returns the path of the config with which the run was last started.

        Raises:
            DataError: There is no config.
        """
        files = sorted((self.path / 'configs').glob('*.py'), key=lambda file: file.stat().st_mtime)
        if not files:
            raise DataError(self.path / 'configs', 'no config is kept here')
        return files[-1]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields model and dataset of each result, sorted."""
        for file in sorted(self.path.glob('results/*/*.json')):
            if not file.name.startswith('.'):
                yield file.parent.name, file.stem

    def predictions(self, model: str, dataset: str) -> Path:
        """Returns the path of the predictions, which need not exist."""
        return self.path / 'predictions' / model / f'{dataset}.json'

    def prediction_files(self, model: str, dataset: str) -> list[Path]:
        """Returns the existing predictions files: one file, or its shards in order."""
        whole = self.predictions(model, dataset)
        return [whole] if whole.is_file() else shard_files(whole)

    def prediction_rows(self, model: str, dataset: str) -> list[dict[str, Any]]:
        """Returns all rows of the predictions in the data's order; empty if there are none yet."""
        return [row for file in self.prediction_files(model, dataset) for row in read_predictions(file)]

    def result_file(self, model: str, dataset: str) -> Path:
        """Returns the path of the result, which need not exist."""
        return self.path / 'results' / model / f'{dataset}.json'

    def result(self, model: str, dataset: str) -> dict[str, Any] | None:
        """Reads the result with its details; returns None if there is none.

        Adds :data:`OTHER_ANSWERS` if the run's predictions are not those that the result was computed from.

        Raises:
            DataError: The result is damaged.
        """
        file = self.result_file(model, dataset)
        result = read_result(file) if file.is_file() else None
        origin = result.get(ORIGIN) if result else None
        if result and isinstance(origin, Mapping) and (files := self.prediction_files(model, dataset)):
            result |= {OTHER_ANSWERS: True} if bytes_digest(files) != origin.get(ANSWERS) else {}
        return result

    def earlier_look(self, model: str, dataset: str) -> dict[str, Any] | None:
        """Reads the result of a look of ``tooleval run --within`` that the next look replaces once it is complete.

        Returns None if there is none.

        Raises:
            DataError: The result is damaged.
        """
        file = outdated_path(self.result_file(model, dataset))
        result = read_result(file) if file.is_file() else None
        return result if result and LOOK in Provenance.of(result).stored else None

    def log(self, model: str, dataset: str, stage: str) -> Path:
        """Returns the most informative log of a dataset.

        A task is logged under its first dataset. The latest log of the dataset, or of each of its shards, counts; among
        shards, one with an error comes first.

        Args:
            model: The model's abbr.
            dataset: The dataset's abbr.
            stage: ``infer`` or ``eval``.

        Returns:
            A file; the folder of the logs if no file mentions the dataset.
        """
        folder = self.path / 'logs' / stage / model
        name = re.compile(shard_pattern(dataset) + r'(?![\w-])')
        latest: dict[str, Path] = {}
        for log in sorted(folder.glob('*.out'), key=lambda file: file.stat().st_mtime):
            for part in name.finditer(text := f' {log.stem} {tail(log)}'):
                # 'tooleval-teval-plan' does not mention 'teval-plan'. The blank before the text is for this check.
                if not _OF_NAMES.match(text[part.start() - 1]):
                    latest[part.group()] = log
        logs = list(dict.fromkeys(reversed(latest.values())))
        if not logs:  # a task that ends before it logs its datasets is logged only under the first
            newest = sorted(folder.glob('*.out'), key=lambda file: file.stat().st_mtime, reverse=True)
            logs = [log for log in newest if _TASK not in tail(log) and last_error(log, dataset)]
        return next((log for log in logs if last_error(log, dataset)), logs[0] if logs else folder)


def read_result(file: Path) -> dict[str, Any] | None:
    """Reads a result with its details; returns None if it is not an object.

    Raises:
        DataError: The result is damaged.
    """
    try:
        result = load_json(read_plain(file, MAX_RUN_BYTES))
        if not isinstance(result, dict):
            return None
        check_parts(result)
    except ValueError as error:
        fix = 'delete it and run again with -r'
        raise DataError(file, f'the result cannot be read ({error})', fix=fix) from error
    return result


def tail(log: Path) -> str:
    """Reads the last megabyte of a log. It is cached until it changes, since many datasets search the same logs."""
    stat = log.stat()
    return _read_tail(log, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=256)
def _read_tail(log: Path, _changed: int, size: int) -> str:
    with open_plain(log, None) as stream:
        stream.seek(max(0, size - _TAIL))
        return stream.read().decode('utf-8', 'replace')


@lru_cache(maxsize=8)  # a model's datasets are searched in the same logs, one after the other
def _latest_run(text: str) -> Sequence[str]:
    """Returns the lines of a task's last run: Slurm appends to the log when it runs a task again."""
    lines = [line[:_MOST_OF_LINE] for line in text.splitlines()]
    start, ended = 0, False
    for number, line in enumerate(lines):
        if ended and _LOGGED in line:
            start, ended = number, False
        ended = ended or _ENDED in line or (_LOGGED not in line and bool(_STOPPED.search(line)))
    return lines[start:]


def _last_words(lines: Sequence[str]) -> str:
    """Returns the line that says why a task ended (Slurm's, an exception, or ``srun``'s); '' if there is none."""
    logged = max((number for number, line in enumerate(lines) if _LOGGED in line), default=-1)
    after = lines[logged + 1 :]
    caught = logged >= 0 and 'FAILED ' in lines[logged]
    raised = not caught and any('Traceback (most recent call last)' in line for line in after)
    reasons = (line for line in reversed(after) if _STOPPED.search(line) or (raised and _RAISED.match(line)))
    return (next(reasons, '') or next(filter(_OF_SLURM.match, reversed(after)), '')).strip()


def last_error(log: Path, dataset: str = '', ended: bool = True) -> str:
    """Returns the last line of a log that reports an error; '' if there is none.

    Args:
        log: The log of a task.
        dataset: The dataset to report on: an error counts if it names the dataset or ended the task. By default, any
            error counts.
        ended: False if the task may still run; then an error counts only if it names the dataset.
    """
    if not log.is_file():
        return ''
    if not dataset:
        heads = [line[:_MOST_OF_LINE] for line in tail(log).splitlines()]
        is_error = (_ERROR.search, _OF_SLURM.match)
        return next((head.strip() for of in is_error for head in reversed(heads) if of(head)), '')
    lines = _latest_run(tail(log))
    name = re.compile(r'(?:^|\bFAILED )' + shard_pattern(dataset) + ': ')
    about = (line for line in reversed(lines) if dataset in line)
    named = (line.strip() for line in about if name.search(line) and _ERROR.search(line))
    return next(named, '') or (_last_words(lines) if ended else '')


@dataclass(frozen=True)
class ResultPath:
    """Path of a result: ``WORK_DIR/results/MODEL/DATASET.json``.

    Attributes:
        work: The run.
        model: The model's abbr.
        dataset: The dataset's abbr.
    """

    work: WorkDir
    model: str
    dataset: str

    @classmethod
    def at(cls, path: Path) -> ResultPath | None:
        """Returns the path of a result, given the file without extension; None if it is not in a run."""
        return cls(WorkDir(path.parents[2]), path.parent.name, path.name) if len(path.parents) > 2 else None

    @classmethod
    def of(cls, evaluator: object) -> ResultPath | None:
        """Returns the path of an evaluator's result; None outside OpenCompass's task, which sets it."""
        path = getattr(evaluator, '_out_dir', None)
        return cls.at(Path(path)) if path else None

    def recorded_shapes(self) -> list[str | None]:
        """Returns the published format of each recorded answer, in the data's order; None for a model's answers."""
        rows = self.work.prediction_rows(self.model, self.dataset)
        return [row.get(RECORDED_SHAPE) if isinstance(row, dict) else None for row in rows]

    def rows_with(self, *members: str) -> dict[tuple[str, int], Any]:
        """Returns the rows of predictions by record and trial; empty if no file has one of these members."""
        files = self.work.prediction_files(self.model, self.dataset)
        texts = (read_plain(file, MAX_RUN_BYTES) for file in files)
        if not any(f'"{member}"'.encode() in text for text in texts for member in members):
            return {}  # avoids parsing all rows
        rows = self.work.prediction_rows(self.model, self.dataset)
        return dict(with_runs(rows, lambda row: str(row.get('record_id'))))

    def other_models(self) -> list[str]:
        """Returns the other models of the run that answer the same dataset, completely or in part."""
        folder = self.work.path / 'predictions'
        files = [*folder.glob('*/*.json'), *(file for one in folder.glob('*') for file in answers_in(one))]
        names = {file.parent.name for file in files if is_of(predictions_of(file).stem, self.dataset)}
        return sorted(names - {self.model})
