"""Made sets as OpenCompass sees them: glue only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from datasets import Dataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.agents import VERSION as AGENTS_VERSION
from opencompass_tooleval.agents.adapter import ToolEvalAgentEvaluator, task_rows
from opencompass_tooleval.agents.scoring.breakdown import settings_of
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.evaluators.evaluator import ToolEvalEvaluator, as_dataset
from opencompass_tooleval.extras.making import VERSION
from opencompass_tooleval.extras.making.made_set import MadeSet, load_set
from opencompass_tooleval.extras.making.made_task import TASKS_FILE
from opencompass_tooleval.extras.making.metrics import NAMES, MadeRow
from opencompass_tooleval.extras.making.scoring import MadeScore, check_order, kinds_of, score_made_predictions
from opencompass_tooleval.extras.making.scripted_agents import scripted_scores
from opencompass_tooleval.models.gpus import ToolEvalDataset
from opencompass_tooleval.work_dir.data_files import shown_files
from opencompass_tooleval.work_dir.work_dir import ResultPath

FIX = 'make it with: tooleval make'


def find_set(path: str) -> MadeSet:
    """Reads a made set.

    Args:
        path: Its folder; looked for as data is.

    Raises:
        DataError: It is missing or damaged, has no task, or the order of a goal cannot be kept.
    """
    made = load_set(Path(resolve_data_path(path, FIX)))
    file = made.folder / TASKS_FILE
    if not made.tasks:
        raise DataError(file, 'the set has no task')
    for task in made.tasks:
        try:
            check_order(task.goal)
        except ValueError as error:
            raise DataError(file, str(error), task.task.id) from error
    return made


@LOAD_DATASET.register_module()
class ToolEvalMadeDataset(ToolEvalDataset):
    """The tasks of a made set."""

    @staticmethod
    def load(path: str) -> Dataset:
        """Loads the tasks.

        Args:
            path: Folder of the set, such as ``data/made/notes``.

        Raises:
            DataError: The set is missing or damaged.
        """
        made = find_set(path)
        file = made.folder / TASKS_FILE
        get_logger().info(f'data: {file.resolve()}: {len(made.tasks)} tasks')
        shown = json.dumps(shown_files('data', file, None))
        return as_dataset(task_rows([task.task for task in made.tasks], f'made_{made.name}', shown))


@ICL_EVALUATORS.register_module()
class ToolEvalMadeEvaluator(ToolEvalAgentEvaluator):
    """Scores agents on a made set, without a judge.

    Args:
        path: As in :meth:`ToolEvalMadeDataset.load`.
    """

    def __init__(self, path: str) -> None:
        ToolEvalEvaluator.__init__(self)
        self._path = path
        self._scores = []

    @cached_property
    def _made(self) -> MadeSet:
        return find_set(self._path)

    @cached_property
    def subset(self) -> MadeRow:
        """The row with the name of the set and the metrics."""
        return MadeRow(self._made.name, NAMES)

    def provenance(self) -> dict[str, Any]:
        """Returns what the numbers depend on, who made the set, and what share of it a person has looked at.

        ``model_made_it`` is there, and true, where the model under test is one of those that made the set.
        """
        made, result_path = self._made, ResultPath.of(self)
        is_maker = result_path is not None and made_by(made.models, result_path.model)
        return {
            'benchmark': 'made',
            'subset': made.name,
            'version': min(VERSION, made.version),  # sets of version 1 score as they did
            'agents_version': AGENTS_VERSION,
            'made_with_version': made.version,
            'made_by': ', '.join(dict.fromkeys(made.models.values())),
            'reviewed': sum(task.is_reviewed for task in made.tasks) / len(made.tasks),
            **({'model_made_it': True} if is_maker else {}),
            **settings_of(self._scores),
        }

    def breakdown(self, scores: Sequence[Any]) -> dict[str, Any]:
        """Adds the tasks by kind, and the scores of scripted agents, to what :class:`ToolEvalAgentEvaluator` says."""
        kinds = kinds_of(scores)
        scripted = scripted_scores(self._made.tasks, self._made.scripted)
        return {**super().breakdown(scores), 'kinds': kinds, **({'scripted': scripted} if scripted else {})}

    def score_records(self, records: Sequence[Task], answers: Sequence[Any]) -> list[MadeScore]:
        """Scores trajectories against the tasks' goals."""
        reviewed = {task.task.id: task.is_reviewed for task in self._made.tasks}
        scores = score_made_predictions(records, answers, reviewed)
        self._scores += scores
        return scores


def made_by(models: Mapping[str, str], model: str) -> bool:
    """Returns whether a model is one of those that made a set; case and the owner before a slash do not count."""
    plain = {name.casefold().rpartition('/')[2] for name in models.values()}
    return model.casefold().rpartition('/')[2] in plain
