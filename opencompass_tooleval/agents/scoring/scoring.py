"""Scores trajectories without a judge: one task and one trajectory in, one :class:`AgentScore` out.

Recall, precision, order and arguments are computed from the calls on the path to the end; waste from all calls,
including abandoned branches. docs/explanation/agents.md defines each metric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from opencompass_tooleval.agents.scoring.matching import Partner, match_calls, partners_of
from opencompass_tooleval.agents.scoring.waste import Waste, count_waste, ends_in_loop
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.call_evidence import without_call_in_text
from opencompass_tooleval.core.calls.observation import INJECTED
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import GAVE_UP, NOT_FINISHED, AnsweredCall, Trajectory, parse_trajectory
from opencompass_tooleval.core.errors import Fault
from opencompass_tooleval.core.scoring.refusal import REFUSED
from opencompass_tooleval.core.scoring.result import INFRA, OK, SampleScore
from opencompass_tooleval.core.text.jsonable import bounded_text

FINISH_RATE = 'finish_rate'
RECALL = 'call_recall'
PRECISION = 'call_precision'
F1 = 'call_f1'
ORDER = 'call_order'
ARGUMENTS = 'arguments'
ALL_RIGHT = 'all_calls_right'
REPEATED = 'repeated_call_rate'
UNKNOWN = 'unknown_tool_rate'
INVALID = 'invalid_call_rate'
REPEATED_AFTER_ERROR = 'repeated_after_error_rate'

OF_CALLS = (RECALL, PRECISION, F1, ORDER, ARGUMENTS, ALL_RIGHT)
"""Metrics against gold calls."""
OF_REPAIRED = (ORDER, ARGUMENTS, ALL_RIGHT)
"""Metrics that change if gold calls which no valid call can equal are repaired."""
WASTE = (REPEATED, UNKNOWN, INVALID, REPEATED_AFTER_ERROR)
"""Shares of wasted calls; lower is better."""
METRICS = (FINISH_RATE, *OF_CALLS, *WASTE)
"""All metrics, in order; a subset's row lists those that apply to it."""

LOOP = 'loop'
MISSING = 'calls:missing'
EXTRA = 'calls:extra'
WRONG_ORDER = 'calls:order'
WRONG_ARGUMENTS = 'calls:arguments'
REJECTED = 'calls:refused'

_UNREAD = ('parse:', 'answer:')
"""Areas of a step's reasons that say more than a missing end."""

_MAX_DESCRIPTION = 200
"""Maximum number of characters of a tool's description in a detail; the task has the complete text."""

Values = dict[str, float | None]


@dataclass(frozen=True)
class Repaired:
    """The score of a task after repair of the gold calls that no valid call can equal.

    Attributes:
        calls: Number of such gold calls of the task.
        values: The metrics in :data:`OF_REPAIRED`, 0-1.
    """

    calls: int
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class AgentScore(SampleScore):
    """The score of one task; ``parsed`` and ``gold`` are lists of calls, ``{'name', 'arguments'}``.

    Attributes:
        trajectory: The trajectory; None without an answer.
        waste: Wasted calls.
        partners: The match of each gold call with a call on the path to the end.
        tools: The offered tools: ``name``, ``description``, names of ``required`` and ``optional`` arguments.
        repaired: Score with repaired gold calls; None if all gold calls are valid.
    """

    trajectory: Trajectory | None = None
    waste: Waste = field(default_factory=Waste)
    partners: Sequence[Partner] = ()
    tools: Sequence[Mapping[str, Any]] = ()
    repaired: Repaired | None = None

    def to_detail(self) -> dict[str, Any]:
        """Returns the detail of the sample, with the end of the task, the final answer, and counts."""
        done = self.trajectory
        if done is None:
            return super().to_detail()
        more = {
            'final_answer': done.final_answer,
            'stopped': done.stopped,
            'steps': len(done.steps),
            'omitted_observations': done.omitted_observations,
            'calls': asdict(self.waste),
            'sources': {source: count for source, count in done.sources.items() if count},
            'matches': [asdict(partner) for partner in self.partners],
            'tools': list(self.tools),
            **({'repaired': dict(self.repaired.values)} if self.repaired else {}),
        }
        return {**super().to_detail(), **more}


def score_trajectory(task: Task, trajectory: Trajectory) -> AgentScore:
    """Scores the trajectory of one task.

    Returns:
        Every metric of :data:`METRICS`, 0-1; metrics against gold calls are None if the gold calls are unknown. If only
        the needed tools are known, each tool counts once, and only recall, precision and F1 apply. Without calls
        nothing is wasted. A planned failure of a call is ignored, so that the agent may repeat the call.
    """
    trajectory = without_call_in_text(trajectory, task.tools)
    if not task.twin:
        return _score_trajectory(task, trajectory)  # no failure is planned
    steps = tuple(
        replace(step, calls=tuple(call for call in step.calls if call.error != INJECTED)) for step in trajectory.steps
    )
    score = _score_trajectory(task, replace(trajectory, steps=steps))
    shown = [number for number, call in enumerate(trajectory.path_calls) if call.error != INJECTED]
    return replace(
        score,
        parsed=[{'name': call.name, 'arguments': call.arguments} for call in trajectory.path_calls],
        partners=[one if one.call is None else replace(one, call=shown[one.call]) for one in score.partners],
        trajectory=trajectory,
    )


def _score_trajectory(task: Task, trajectory: Trajectory) -> AgentScore:
    is_finished = not trajectory.stopped and bool(trajectory.final_answer.strip())
    waste = count_waste(trajectory)
    against_gold = _against_gold(task, trajectory.path_calls)
    if trajectory.stopped.startswith(INFRA):
        against_gold = _all_wrong(task)
    return AgentScore(
        id=task.id,
        values={FINISH_RATE: float(is_finished), **against_gold, **_rates(waste)},
        reason=_reason(task, trajectory, is_finished, {**against_gold, INVALID: waste.invalid_call}),
        parsed=[{'name': call.name, 'arguments': call.arguments} for call in trajectory.path_calls],
        parse_method='value',
        gold=_gold_of(task),
        trajectory=trajectory,
        waste=waste,
        partners=_partners(task, trajectory.path_calls),
        tools=[_in_short(tool) for tool in task.tools],
        repaired=_repaired(task, () if trajectory.stopped.startswith(INFRA) else trajectory.path_calls),
    )


def _repaired(task: Task, calls: Sequence[AnsweredCall]) -> Repaired | None:
    count = sum(call.repaired is not None for call in task.gold or ())
    if not count:
        return None
    values = _against_gold(task, calls, repaired=True)
    return Repaired(count, {metric: values[metric] for metric in OF_REPAIRED})


def _in_short(tool: ToolSchema) -> dict[str, Any]:
    """Returns a short form of a tool, for the sample's detail."""
    properties = list(tool.parameters.get('properties') or {})
    required = [name for name in properties if name in (tool.parameters.get('required') or ())]
    return {
        'name': tool.name,
        'description': bounded_text(tool.description, _MAX_DESCRIPTION),
        'required': required,
        'optional': [name for name in properties if name not in required],
    }


def _partners(task: Task, calls: Sequence[AnsweredCall]) -> list[Partner]:
    """Returns the match of each gold call; if only the needed tools are known, the first call of each tool."""
    if task.gold is not None:
        return partners_of(calls, task.gold)
    first: dict[str, int] = {}
    for number, call in enumerate(calls):
        first.setdefault(call.name, number)
    return [Partner(first.get(name), name in first) for name in task.relevant]


def _gold_of(task: Task) -> list[dict[str, Any]] | None:
    if task.gold is None:
        return [{'name': name} for name in task.relevant] or None
    return [
        {'name': call.name, 'arguments': call.arguments, 'open_arguments': list(call.open_arguments)}
        for call in task.gold
    ]


def _rates(waste: Waste) -> Values:
    counts = asdict(waste)
    return {metric: counts[metric.removesuffix('_rate')] / waste.calls if waste.calls else 0.0 for metric in WASTE}


def _against_gold(task: Task, calls: Sequence[AnsweredCall], repaired: bool = False) -> Values:
    if task.gold is None:
        if not task.relevant:
            return dict.fromkeys(OF_CALLS)
        called = {call.name for call in calls}
        count = len(called & set(task.relevant))
        return {**dict.fromkeys(OF_CALLS), **_shares(count, len(called), len(set(task.relevant)))}
    match, count = match_calls(calls, task.gold, repaired), len(task.gold)
    values = {
        **_shares(match.matched, len(calls), count),
        ORDER: match.in_order / count if count else None,
        ARGUMENTS: match.same / match.matched if match.matched else 0.0 if count else None,
        ALL_RIGHT: float(match.is_equal),
    }
    return {metric: values[metric] for metric in OF_CALLS}


def _all_wrong(task: Task) -> Values:
    return {metric: None if value is None else 0.0 for metric, value in _against_gold(task, ()).items()}


def _shares(count: int, called: int, wanted: int) -> Values:
    """Computes recall, precision and F1. As in T-Eval's plans, precision without calls is 0."""
    if not wanted:
        none_right = float(not called)
        return {RECALL: None, PRECISION: none_right, F1: none_right}
    return {
        RECALL: count / wanted,
        PRECISION: count / called if called else 0.0,
        F1: 2 * count / (called + wanted),
    }


def _reason(task: Task, trajectory: Trajectory, is_finished: bool, values: Values) -> str:
    """Returns the first reason for lost points: a missing end, or else a wrong call."""
    if trajectory.stopped.startswith(INFRA):
        return trajectory.stopped
    if not is_finished:
        if trajectory.is_declined:
            return REFUSED
        if trajectory.stopped != GAVE_UP and ends_in_loop(trajectory):
            return LOOP
        last = trajectory.steps[trajectory.path[-1]].reason if trajectory.path else ''
        return last if last.startswith(_UNREAD) else trajectory.stopped or NOT_FINISHED
    causes = {RECALL: MISSING, PRECISION: EXTRA, ORDER: WRONG_ORDER, ARGUMENTS: WRONG_ARGUMENTS}
    wrong = next((reason for metric, reason in causes.items() if values[metric] not in (None, 1)), OK)
    if wrong != OK and trajectory.is_declined:
        return REFUSED
    # Gold calls define the correct arguments, even if a tool rejects them; if only tools are known, the tool decides.
    return REJECTED if wrong == OK and task.gold is None and values[INVALID] else wrong


def score_predictions(
    tasks: Sequence[Task],
    predictions: Sequence[Answer],
    score: Callable[[Task, Trajectory], AgentScore] = score_trajectory,
) -> list[AgentScore]:
    """Scores a subset: one score per task, in the same order.

    Args:
        tasks: The tasks.
        predictions: The JSON of one trajectory each. A prediction with an ``infra:`` reason stands for a task that was
            not run, and counts as wrong.
        score: Scores a trajectory.

    Raises:
        ValueError: The numbers of tasks and predictions differ.
        Fault: A prediction is not a trajectory.
    """
    if len(tasks) != len(predictions):
        raise ValueError(f'{len(tasks)} tasks, but {len(predictions)} predictions')
    return [_score(task, prediction, score) for task, prediction in zip(tasks, predictions, strict=True)]


def _score(task: Task, prediction: Answer, score: Callable[[Task, Trajectory], AgentScore]) -> AgentScore:
    if prediction.reason:
        values: Values = {FINISH_RATE: 0.0, **_all_wrong(task), **dict.fromkeys(WASTE)}
        return AgentScore(task.id, values, prediction.reason, gold=_gold_of(task), repaired=_repaired(task, ()))
    try:
        return score(task, parse_trajectory(prediction.text))
    except ValueError as error:
        raise Fault(f'prediction of task {task.id!r}: {error}') from error
