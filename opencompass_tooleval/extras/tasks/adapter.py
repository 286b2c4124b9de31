"""The registered data set and evaluator of task sets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from datasets import Dataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.agents import VERSION as AGENTS_VERSION
from opencompass_tooleval.agents.adapter import ToolEvalAgentEvaluator, task_rows
from opencompass_tooleval.agents.scoring.breakdown import settings_of
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.evaluators.evaluator import ToolEvalEvaluator, as_dataset
from opencompass_tooleval.extras.tasks import VERSION
from opencompass_tooleval.extras.tasks.metrics import NAMES, TaskSetRow
from opencompass_tooleval.extras.tasks.scoring import GoalScore, kinds_of, score_task_predictions
from opencompass_tooleval.extras.tasks.task_set import TASKS_FILE, TaskSet, load_set
from opencompass_tooleval.models.dataset import ToolEvalDataset
from opencompass_tooleval.work_dir.data_files import shown_files


@LOAD_DATASET.register_module()
class ToolEvalTasksDataset(ToolEvalDataset):
    """The tasks of a task set."""

    @staticmethod
    def load(path: str) -> Dataset:
        """Loads the tasks.

        Args:
            path: Folder of the set, such as ``data/tasks/notes``.

        Raises:
            DataError: The set is missing or damaged.
        """
        found = load_set(path)
        file = found.folder / TASKS_FILE
        get_logger().info(f'data: {file.resolve()}: {len(found.tasks)} tasks')
        shown = json.dumps(shown_files('data', file, None))
        return as_dataset(task_rows(found.tasks, f'tasks_{found.name}', shown))


@ICL_EVALUATORS.register_module()
class ToolEvalTasksEvaluator(ToolEvalAgentEvaluator):
    """Scores agents on a task set, without a judge.

    Args:
        path: As in :meth:`ToolEvalTasksDataset.load`.
    """

    def __init__(self, path: str) -> None:
        ToolEvalEvaluator.__init__(self)
        self._path = path
        self._scores = []

    @cached_property
    def _set(self) -> TaskSet:
        return load_set(self._path)

    @cached_property
    def subset(self) -> TaskSetRow:
        """The row with the name of the set and the metrics."""
        return TaskSetRow(self._set.name, NAMES)

    def provenance(self) -> dict[str, Any]:
        """Returns the settings that the scores depend on."""
        return {
            'benchmark': 'tasks',
            'subset': self._set.name,
            'version': VERSION,
            'agents_version': AGENTS_VERSION,
            **settings_of(self._scores),
        }

    def breakdown(self, scores: Sequence[Any]) -> dict[str, Any]:
        """Adds the tasks by kind to the breakdown of :class:`ToolEvalAgentEvaluator`."""
        return {**super().breakdown(scores), 'kinds': kinds_of(scores)}

    def score_records(self, records: Sequence[Task], answers: Sequence[Any]) -> list[GoalScore]:
        """Scores trajectories against the tasks' goals."""
        scores = score_task_predictions(records, answers)
        self._scores += scores
        return scores
