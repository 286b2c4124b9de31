"""Registers the data set and the evaluator of tasks on a user's own tools, and defines their dialogues."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from datasets import Dataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.agents import VERSION as AGENTS_VERSION
from opencompass_tooleval.agents.adapter import AgentDialogues, ToolEvalAgentEvaluator, task_rows
from opencompass_tooleval.agents.scoring.breakdown import settings_of
from opencompass_tooleval.agents.tasks.instructed import load_instructed
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.benchmarks.variant_kinds import SUFFIX
from opencompass_tooleval.evaluators.evaluator import ToolEvalEvaluator, as_dataset
from opencompass_tooleval.extras.tasks import VERSION
from opencompass_tooleval.extras.tasks.metrics import NAMES, TasksRow
from opencompass_tooleval.extras.tasks.opened import open_tasks, state_of
from opencompass_tooleval.extras.tasks.scoring import GoalScore, score_task_predictions
from opencompass_tooleval.extras.tasks.task_file import load_tasks
from opencompass_tooleval.models.dataset import ToolEvalDataset
from opencompass_tooleval.work_dir.data_files import shown_files


@LOAD_DATASET.register_module()
class ToolEvalTasksDataset(ToolEvalDataset):
    """The tasks of a file."""

    @staticmethod
    def load(path: str, instructions: str | None = None) -> Dataset:
        """Loads the tasks. Starts the server to list its tools and to read the state at the start.

        Args:
            path: The file, such as ``tasks.yaml``.
            instructions: A file of EasyTool instructions, which the model sees instead of the server's documentation.

        Raises:
            DataError: A file is missing or damaged, or tools have no instruction.
            UntrustedError: This user has not trusted the file.
            ServerError: The server cannot be started.
        """
        with open_tasks(path) as opened:
            tasks, file = opened.tasks, opened.file
        get_logger().info(f'data: {file.path.resolve()}: {len(tasks)} tasks')
        instructed = None
        if instructions:
            tasks, instructed = load_instructed(tasks, instructions, 'mcp', Path(file.settings['server']))
        shown = json.dumps(shown_files('data', file.path, instructed))
        return as_dataset(task_rows(tasks, f'tasks_{file.name}{SUFFIX if instructions else ""}', shown))


class TaskDialogues(AgentDialogues):
    """Starts dialogues of a loop with the server of a file of tasks; used as ``dialogues`` of the inferencer.

    Args:
        path: The file.
        loop: One of :data:`~opencompass_tooleval.agents.loops.loops.LOOPS`.
        most: Maximum number of simultaneous processes of the server.
        **options: Options of the loop.

    Raises:
        DataError: The file is missing or damaged.
        UntrustedError: This user has not trusted the file.
        TypeError: The loop does not have such an option.
        ValueError: The loop does not exist.
    """

    def __init__(self, path: str, loop: str = 'function_calling', most: int = 8, **options: Any) -> None:
        file = load_tasks(path)
        file.trustee.check()
        super().__init__(loop, live={**file.settings, 'most': most}, **options)
        assert self._environment.live is not None
        self._environment.state = state_of(file, self._environment.live)  # type: ignore[arg-type]


@ICL_EVALUATORS.register_module()
class ToolEvalTasksEvaluator(ToolEvalAgentEvaluator):
    """Scores agents on a file of tasks, without a judge.

    Args:
        path: The file of tasks, as in :meth:`ToolEvalTasksDataset.load`.
    """

    def __init__(self, path: str) -> None:
        ToolEvalEvaluator.__init__(self)
        self._path = path
        self._scores = []

    @cached_property
    def subset(self) -> TasksRow:
        """The subset row with the name of the file and the metrics."""
        return TasksRow(load_tasks(self._path).name, NAMES)

    def provenance(self) -> dict[str, Any]:
        """Returns the settings that the scores depend on."""
        return {
            'benchmark': 'tasks',
            'subset': self.subset.name,
            'version': VERSION,
            'agents_version': AGENTS_VERSION,
            **settings_of(self._scores),
        }

    def score_records(self, records: Sequence[Task], answers: Sequence[Any]) -> list[GoalScore]:
        """Scores trajectories against the tasks' goals."""
        scores = score_task_predictions(records, answers)
        self._scores += scores
        return scores
