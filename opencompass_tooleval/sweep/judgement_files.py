"""Files of judgements in place of a judge: which is for which model, and whose answers it judged.

What was judged of one model's answers is never used for another's. Imports no OpenCompass.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.verdicts import J, is_silent
from opencompass_tooleval.sweep.recorded import load_recorded
from opencompass_tooleval.sweep.result_place import ResultPlace

logger = logging.getLogger(__name__)

MODEL = '{model}'
_OWN_ENDING = '_judgements'
_PUBLISHED_ENDING = '_eval'


class JudgementFiles:
    """The files of judgements that a config names.

    Args:
        setting: One file; a path with ``{model}``, which stands for the model's abbr; or abbr -> file.
    """

    def __init__(self, setting: str | Mapping[str, str]) -> None:
        by_model = setting if isinstance(setting, Mapping) else {}
        self._path = None if isinstance(setting, Mapping) else setting
        self._by_model = {str(model): str(file) for model, file in by_model.items()}

    @property
    def name(self) -> str:
        """How a result names the judge: the setting, which is the same for every model."""
        return self._path if self._path is not None else 'a file of judgements per model'

    def file_for(self, model: str | None) -> Path:
        """The file for a model's answers.

        Raises:
            ValueError: The mapping lacks the model, or it is not known which model it is.
        """
        if self._path is not None and MODEL not in self._path:
            return Path(self._path)
        if model is None:
            raise ValueError('judgements per model need a model: only a task of OpenCompass says which one it is')
        if self._path is not None:
            return Path(self._path.replace(MODEL, model))
        if model not in self._by_model:
            raise ValueError(f'judgements= names no file for model {model}; it has {", ".join(self._by_model)}')
        return Path(self._by_model[model])

    def check(self, model: str) -> Path:
        """The same, if it is there; asked before inference.

        Raises:
            ValueError: As :meth:`file_for`.
            DataError: It is not there.
        """
        file = self.file_for(model)
        if not file.is_file():
            raise DataError(file, f'the file of judgements for model {model} is missing')
        return file

    def check_owner(self, place: ResultPlace) -> None:
        """Checks that a file that does not say what it judged is for one model only.

        Raises:
            ValueError: It would serve several.
        """
        file = self.file_for(place.model)
        if self._path is None:
            others = [model for model, other in self._by_model.items() if model != place.model and Path(other) == file]
        else:
            others = [] if MODEL in self._path else place.other_models()
        if others:
            raise ValueError(
                f'{file} does not say which answers it judged, so it cannot serve {place.model} and '
                f'{", ".join(others)}: give each model its own, judgements={{"{place.model}": FILE}} or a path with '
                f'{MODEL}'
            )


def _predictions_beside(file: Path) -> list[Path]:
    """Where the answers lie that a file of judgements is of.

    That is ``predictions/MODEL/DATASET.json`` for ``results/MODEL/DATASET_judgements.jsonl`` of a run, and
    ``planning.json`` for the authors' ``eval/planning_eval.json``.
    """
    folder, stem = file.parent, file.stem
    if stem.endswith(_OWN_ENDING) and folder.parent.name == 'results':
        place = ResultPlace.at(folder / stem.removesuffix(_OWN_ENDING))
        return place.work.prediction_files(place.model, place.dataset) if place else []
    if stem.endswith(_PUBLISHED_ENDING) and folder.name == 'eval':
        answers = folder.parent / f'{stem.removesuffix(_PUBLISHED_ENDING)}.json'
        return [answers] if answers.is_file() else []
    return []


def completed(
    judgements: list[J],
    file: Path,
    record_ids: Sequence[str],
    complete: Callable[[list[J], Mapping[str, str]], list[J]],
) -> list[J]:
    """Judgements of a file, with what the predictions beside it say of those that do not say what they judged.

    Args:
        judgements: What the file holds.
        file: It.
        record_ids: The records, in the data's order.
        complete: Judgements and what :func:`judged_answers` says -> judgements that say more.
    """
    return complete(judgements, judged_answers(file, record_ids)) if any(map(is_silent, judgements)) else judgements


def judged_answers(file: Path, record_ids: Sequence[str]) -> dict[str, str]:
    """Record id -> the answer that a file of judgements is of, from the predictions beside it; empty without any."""
    answers: dict[str, str] = {}
    for part in _predictions_beside(file.absolute()):
        try:
            recorded = load_recorded(part)
        except DataError as error:
            logger.warning('which answers %s judged is not known: %s', file, error)
            return {}
        by_id = recorded.by_id or {
            record_ids[position]: answer
            for position, answer in recorded.by_position.items()
            if position < len(record_ids)
        }
        answers.update(by_id)
    return answers
