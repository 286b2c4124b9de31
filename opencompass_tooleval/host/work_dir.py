"""What lies in a working directory of OpenCompass, read without importing OpenCompass."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.host.shards import read_predictions, shard_files

_ERROR = re.compile(r'(?:\w*Error|\w*Exception|FAILED|Killed|CANCELLED|DUE TO TIME LIMIT)\b.*')
_TAIL = 1 << 20


@dataclass(frozen=True)
class WorkDir:
    """One run: ``outputs/NAME/20260101_120000``.

    Attributes:
        path: The folder with ``predictions``, ``results``, ``logs`` and ``configs``.
    """

    path: Path

    @classmethod
    def find(cls, path: Path) -> WorkDir:
        """Takes a run, or a folder of runs, of which it takes the latest.

        Raises:
            DataError: There is no run.
        """
        runs = [folder for folder in [path, *sorted(path.glob('*/'), reverse=True)] if (folder / 'configs').is_dir()]
        if not runs:
            raise DataError(path, 'there is no run of OpenCompass here', cure='opencompass CONFIG -w DIR')
        return cls(runs[0])

    def absolute(self) -> WorkDir:
        """The same, wherever a process is started."""
        return WorkDir(self.path.resolve())

    def config(self) -> Path:
        """The config that the run was last started with.

        Raises:
            DataError: There is none.
        """
        files = sorted((self.path / 'configs').glob('*.py'), key=lambda file: file.stat().st_mtime)
        if not files:
            raise DataError(self.path / 'configs', 'no config is kept here')
        return files[-1]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Model and data set of every result, sorted."""
        for file in sorted(self.path.glob('results/*/*.json')):
            if not file.name.startswith('.'):
                yield file.parent.name, file.stem

    def predictions(self, model: str, dataset: str) -> Path:
        """Where the predictions are, or will be."""
        return self.path / 'predictions' / model / f'{dataset}.json'

    def prediction_files(self, model: str, dataset: str) -> list[Path]:
        """The predictions that are there: one file, or its shards in order."""
        whole = self.predictions(model, dataset)
        return [whole] if whole.is_file() else shard_files(whole)

    def prediction_rows(self, model: str, dataset: str) -> list[dict[str, Any]]:
        """All rows in the data's order; empty if there are none yet."""
        return [row for file in self.prediction_files(model, dataset) for row in read_predictions(file)]

    def result(self, model: str, dataset: str) -> dict[str, Any] | None:
        """The result with its details; None if there is none.

        Raises:
            DataError: It is damaged.
        """
        file = self.path / 'results' / model / f'{dataset}.json'
        if not file.is_file():
            return None
        try:
            result = json.loads(file.read_bytes())
        except ValueError as error:
            cure = 'delete it and run again with -r'
            raise DataError(file, f'the result cannot be read ({error})', cure=cure) from error
        return result if isinstance(result, dict) else None

    def log(self, model: str, dataset: str, stage: str) -> Path:
        """The log that tells most of a data set: one that speaks of it and of errors.

        A task is logged under the first of its data sets.

        Args:
            model: Its abbr.
            dataset: Its abbr.
            stage: ``infer`` or ``eval``.

        Returns:
            A file; the folder of the logs where no file speaks of the data set.
        """
        folder = self.path / 'logs' / stage / model
        name = re.compile(re.escape(dataset) + r'(_\d+)?(?![\w-])')
        logs = {log: _tail(log) for log in sorted(folder.glob('*.out'))}
        speaking = [log for log, text in logs.items() if name.fullmatch(log.stem) or name.search(text)]
        if not speaking:
            return folder
        return next((log for log in speaking if 'Error' in logs[log]), speaking[0])


def _tail(log: Path) -> str:
    with log.open('rb') as stream:
        stream.seek(max(0, log.stat().st_size - _TAIL))
        return stream.read().decode('utf-8', 'replace')


def last_error(log: Path, dataset: str = '') -> str:
    """The last line of a log that speaks of an error, of ``dataset`` if one does; '' if none does."""
    if not log.is_file():
        return ''
    errors = [line.strip() for line in _tail(log).splitlines() if _ERROR.search(line)]
    return next((line for line in reversed(errors) if dataset and dataset in line), errors[-1] if errors else '')
