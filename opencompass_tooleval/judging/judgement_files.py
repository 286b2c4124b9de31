"""Reads files of judgements, which replace a judge, and checks that each belongs to the model's answers.

Judgements of one model's answers are never used for another model. A file has one JSON object per line: ``{"id",
"step", "status", "answer_digest", "reference", "fault"}`` without empty members, and the verdict in the benchmark's
format. The digest identifies the judged answer; without digests, a file can only serve one model. This module does not
import OpenCompass.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError, Fault, naming_record
from opencompass_tooleval.judging.judgement import F, Judgement
from opencompass_tooleval.work_dir.work_dir import ResultPath

logger = logging.getLogger(__name__)

MODEL = '{model}'


class JudgementFiles:
    """The files of judgements that a config names.

    Args:
        setting: One file; a path with ``{model}``, a placeholder for the model's abbr; or abbr -> file.
    """

    def __init__(self, setting: str | Mapping[str, str]) -> None:
        by_model = setting if isinstance(setting, Mapping) else {}
        self._path = None if isinstance(setting, Mapping) else setting
        self._by_model = {str(model): str(file) for model, file in by_model.items()}

    @property
    def name(self) -> str:
        """Name of the judge in results: the setting, which is the same for all models."""
        return self._path if self._path is not None else 'a file of judgements per model'

    def file_for(self, model: str | None) -> Path:
        """Returns the file of judgements for a model's answers.

        Raises:
            ValueError: The mapping lacks the model, or the model is unknown.
        """
        if self._path is not None and MODEL not in self._path:
            return Path(self._path)
        if model is None:
            raise ValueError('judgements per model only work in a task of OpenCompass, which names the model')
        if self._path is not None:
            return Path(self._path.replace(MODEL, model))
        if model not in self._by_model:
            raise ValueError(f'judgements= names no file for model {model}; it has {", ".join(self._by_model)}')
        return Path(self._by_model[model])

    def check(self, model: str) -> Path:
        """Returns the file for a model's answers if it exists; called before inference.

        Raises:
            ValueError: The mapping lacks the model, or the model is unknown.
            DataError: The file does not exist.
        """
        file = self.file_for(model)
        if not file.is_file():
            raise DataError(file, f'the file of judgements for model {model} is missing')
        return file

    def check_owner(self, result: ResultPath) -> None:
        """Checks that a file which does not identify the judged answers serves only one model.

        Raises:
            ValueError: The file would serve several models.
        """
        file = self.file_for(result.model)
        if self._path is None:
            others = [model for model, other in self._by_model.items() if model != result.model and Path(other) == file]
        else:
            others = [] if MODEL in self._path else result.other_models()
        if others:
            raise ValueError(
                f'{file} does not identify the answers that it judged, so it cannot serve {result.model} and '
                f'{", ".join(others)}: give each model its own file, judgements={{"{result.model}": FILE}}, or use a '
                f'{MODEL}'
            )


def read_judgements(
    file: Path, rows: Iterable[tuple[str, Any]], read: Callable[[str, Mapping[str, Any]], Judgement[F]]
) -> list[Judgement[F]]:
    """Reads the judgements of a file.

    Args:
        file: The file, for messages.
        rows: Names and values of the file's rows.
        read: Converts name and value of a row to a judgement; raises :class:`Fault` if it is not one.

    Raises:
        DataError: A row is not a judgement, or an answer is judged twice.
    """
    judgements: dict[tuple[str, str, str], Judgement[F]] = {}
    for name, row in rows:
        with naming_record(file, str(row.get('id', name) if isinstance(row, dict) else name)):
            if not isinstance(row, dict):
                raise Fault('the judgement is not an object')
            judgement = read(name, row)
            key = judgement.id, judgement.step, judgement.answer_digest
            if key in judgements:
                raise Fault('it is judged twice' + (f' (step {judgement.step!r})' if judgement.step else ''))
        judgements[key] = judgement
    if not judgements:
        raise DataError(file, 'the file contains no judgements')
    return list(judgements.values())
