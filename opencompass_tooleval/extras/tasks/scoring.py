"""Scores trajectories on tasks with goals, without a judge. docs/explanation/tasks.md defines each metric. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from opencompass_tooleval.agents.scoring.scoring import AgentScore, score_predictions, score_trajectory
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.call_evidence import without_call_in_text
from opencompass_tooleval.core.calls.trajectory import NOT_FINISHED, Trajectory
from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.extras.tasks.goal import GoalResult, check_goal, parse_goal
from opencompass_tooleval.extras.tasks.metrics import FORBIDDEN_RATE, NAMES, SOLVED


@dataclass(frozen=True)
class GoalScore(AgentScore):
    """The score of one task with a goal.

    Attributes:
        result: Result of the goal check.
    """

    result: GoalResult = field(default_factory=lambda: GoalResult(NOT_FINISHED))

    def to_detail(self) -> dict[str, Any]:
        """Adds the missing and wrong parts of the goal to :meth:`AgentScore.to_detail`."""
        return {**super().to_detail(), 'goal': {key: value for key, value in asdict(self.result).items() if value}}


def score_task(task: Task, trajectory: Trajectory) -> GoalScore:
    """Scores the trajectory of one task, which must have a goal."""
    trajectory = without_call_in_text(trajectory, task.tools)
    score = score_trajectory(replace(task, gold=None), trajectory)
    return _with_goal(task, score, check_goal(parse_goal(task.goal or {}), trajectory))


def _with_goal(task: Task, score: AgentScore, result: GoalResult) -> GoalScore:
    forbids = bool(parse_goal(task.goal or {}).forbidden) and score.trajectory is not None
    more = {
        SOLVED: float(result.is_solved),
        FORBIDDEN_RATE: float(bool(result.forbidden_calls)) if forbids else None,
    }
    values = {name: value for name, value in {**score.values, **more}.items() if name in NAMES}
    return GoalScore(**{**vars(score), 'values': values, 'reason': result.reason or OK}, result=result)


def score_task_predictions(tasks: Sequence[Task], predictions: Sequence[Answer]) -> list[GoalScore]:
    """Scores tasks: one score per task, in the same order.

    Args:
        tasks: The tasks.
        predictions: The JSON of one trajectory each; a prediction with an ``infra:`` reason counts as wrong.

    Raises:
        ValueError: The numbers of tasks and predictions differ, or a prediction is not a trajectory.
    """
    scores = score_predictions(tasks, predictions, score_task)
    return [
        score if isinstance(score, GoalScore) else _with_goal(task, score, GoalResult(score.reason))
        for task, score in zip(tasks, scores, strict=True)
    ]
