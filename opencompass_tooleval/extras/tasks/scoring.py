"""Scores trajectories on tasks with goals, without a judge. docs/explanation/task-sets.md defines each metric. Pure.

``check_goal`` decides if a task is solved. The metrics of calls compare with the nearest of the solutions that the goal
allows: of each call the alternative that was made, in the allowed order that is nearest to that of the calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

import networkx as nx

from opencompass_tooleval.agents.scoring.matching import largest_matching, same_calls, spare_calls
from opencompass_tooleval.agents.scoring.scoring import AgentScore, score_predictions, score_trajectory
from opencompass_tooleval.agents.tasks.goal import RESTRAINT, Goal
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.trajectory import NOT_FINISHED, AnsweredCall, Trajectory
from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.extras.tasks.goal_check import GoalResult, check_goal, made_calls
from opencompass_tooleval.extras.tasks.metrics import FORBIDDEN_RATE, RESTRAINT_RATE, SOLVED
from opencompass_tooleval.extras.tasks.task_set import check_order, order_of


@dataclass(frozen=True)
class GoalScore(AgentScore):
    """The score of one task with a goal.

    Attributes:
        kind: The kind of the task.
        result: How far its goal was reached.
    """

    kind: str = ''
    result: GoalResult = field(default_factory=lambda: GoalResult(NOT_FINISHED))

    def to_detail(self) -> dict[str, Any]:
        """Adds the kind, and the missing parts of the goal, to :meth:`AgentScore.to_detail`."""
        goal = {name: list(value) for name, value in asdict(self.result).items() if name != 'reason'}
        return {**super().to_detail(), 'kind': self.kind, 'goal': goal}


def nearest_gold(goal: Goal, calls: Sequence[AnsweredCall]) -> tuple[GoldCall, ...]:
    """Returns the solution that is nearest to the calls that were made, of those that the goal allows.

    Of each wanted call it has one alternative: one that was made with the same arguments, in a largest matching; else
    one whose tool was called; else the first. The order keeps to the goal's order, and as many calls as possible stand
    in the order in which they were made.

    Args:
        goal: The goal.
        calls: What was called, without planned failures.

    Raises:
        ValueError: The order of the goal cannot be kept.
    """
    check_order(goal)
    flat = [(index, call) for index, alternatives in enumerate(goal.calls) for call in alternatives]
    same = same_calls(calls, [call for _, call in flat])
    partner = largest_matching([{flat[one][0] for one in ones} for ones in same], len(goal.calls))
    chosen = {
        index: next(flat[one][1] for one in sorted(same[number]) if flat[one][0] == index)
        for index, number in partner.items()
    }
    taken = set(partner.values())
    named = [
        {index for index, call in flat if index not in chosen and call.name == made.name and number not in taken}
        for number, made in enumerate(calls)
    ]
    by_name = largest_matching(named, len(goal.calls))
    for index, number in by_name.items():
        chosen[index] = next(call for call in goal.calls[index] if call.name == calls[number].name)
    gold = [chosen.get(index, alternatives[0]) for index, alternatives in enumerate(goal.calls)]
    return tuple(gold[index] for index in _nearest_order(goal, {**partner, **by_name}))


def _nearest_order(goal: Goal, made_at: Mapping[int, int]) -> list[int]:
    """The places of a goal's calls in an allowed order that keeps as many as possible in the order they were made in.

    Two calls cannot both keep it if the goal wants the one before the other that was made after it. These pairs are a
    partial order, and the largest set without such a pair is its largest antichain (Dilworth 1950), from a largest
    matching (Fulkerson 1956).
    """
    graph = order_of(goal)
    before = nx.transitive_closure_dag(graph)
    wrong = {
        index: {other for other in before.successors(index) if other in made_at and made_at[other] < made_at[index]}
        for index in made_at
    }
    kept = sorted(_largest_antichain(wrong), key=made_at.__getitem__)
    graph.add_edges_from(pairwise(kept))
    last = len(made_at) + max(made_at.values(), default=0) + 1
    return list(nx.lexicographical_topological_sort(graph, key=lambda index: (made_at.get(index, last), index)))


def _largest_antichain(after: Mapping[int, set[int]]) -> set[int]:
    """The largest set of elements of which none comes after another.

    Args:
        after: Element -> all elements that come after it.
    """
    size = max(after, default=-1) + 1
    later = [after.get(index, set()) for index in range(size)]
    spare = spare_calls(later, largest_matching(later, size))  # elements without a later partner in some matching
    covered = set().union(*(later[index] for index in spare))  # Koenig's theorem
    return {index for index in after if index in spare and index not in covered}


def score_task(task: Task, trajectory: Trajectory) -> GoalScore:
    """Scores the trajectory of one task.

    Planned failures are left out before calls are compared and counted as waste.

    Args:
        task: The task; ``task.goal`` is set.
        trajectory: What was done.

    Raises:
        ValueError: The goal's order cannot be kept.
    """
    assert task.goal is not None
    gold = nearest_gold(task.goal, made_calls(trajectory))
    score = score_trajectory(replace(task, gold=gold), trajectory)
    return _with_goal(task, score, check_goal(task.goal, trajectory))


def _with_goal(task: Task, score: AgentScore, result: GoalResult) -> GoalScore:
    assert task.goal is not None
    is_counted = task.goal.forbidden and score.trajectory is not None
    own = {
        SOLVED: float(result.is_solved) if task.goal.kind not in RESTRAINT else None,
        RESTRAINT_RATE: float(result.is_solved) if task.goal.kind in RESTRAINT else None,
        FORBIDDEN_RATE: float(bool(result.forbidden_calls)) if is_counted else None,
    }
    fields = {**vars(score), 'values': {**own, **score.values}, 'reason': result.reason or OK}
    return GoalScore(**fields, kind=task.goal.kind, result=result)


def score_task_predictions(tasks: Sequence[Task], predictions: Sequence[Answer]) -> list[GoalScore]:
    """Scores a task set: one score per task, in the same order.

    Args:
        tasks: The tasks.
        predictions: A trajectory's JSON each; one with an ``infra:`` reason counts as wrong.

    Raises:
        ValueError: The numbers of tasks and predictions differ, a prediction is no trajectory, or the order of a goal
            cannot be kept.
    """
    scores = score_predictions(tasks, predictions, score_task)
    return [
        score if isinstance(score, GoalScore) else _with_goal(task, score, GoalResult(score.reason))
        for task, score in zip(tasks, scores, strict=True)
    ]


def kinds_of(scores: Sequence[GoalScore]) -> dict[str, dict[str, float]]:
    """Counts tasks by kind: ``tasks``, and ``solved``, the share of them whose goal is reached, 0-100."""
    kinds: dict[str, list[float]] = {}
    for score in scores:
        kinds.setdefault(score.kind, []).append(float(score.result.is_solved))
    return {
        kind: {'tasks': len(solved), 'solved': 100 * sum(solved) / len(solved)}
        for kind, solved in sorted(kinds.items())
    }
