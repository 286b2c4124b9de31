"""Has a task solved in T-Eval's three roles: a planner, an executor that calls the tools, and a reviewer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from opencompass_tooleval.agents.loops.carry_out import carry_out
from opencompass_tooleval.agents.loops.loops import Loop
from opencompass_tooleval.agents.scoring.waste import error_of
from opencompass_tooleval.agents.tasks.goal import RECOVERY, Goal
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.observation import ERROR
from opencompass_tooleval.core.calls.trajectory import NOT_FINISHED, STATE_LOST, Trajectory
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.live_source import FATAL
from opencompass_tooleval.extras.making import prompts
from opencompass_tooleval.extras.making.drafts import Draft
from opencompass_tooleval.extras.making.made_task import Solution, SolvedCall
from opencompass_tooleval.extras.making.replies import MAX_STEPS, read_plan, read_verdict
from opencompass_tooleval.extras.making.tool_source import tool_text
from opencompass_tooleval.instructions.generate import ask_until_usable
from opencompass_tooleval.instructions.split import Limit

REVIEWER = 'reviewer'
"""Name of the reviewing model in requests, where it is another than the solving one."""

REFUSED = 'reviewer:refused'

_MAX_OBSERVATION = 1_500
_MAX_FAILED_CALL = 300
_MAX_FAILED_ATTEMPT = 1_200
_MOST_FAILED = 3
"""Different attempts that are shown to the model that writes."""


@dataclass(frozen=True)
class Attempt:
    """One attempt to solve a task.

    Attributes:
        solution: What was done; None if the model did not come to an end.
        reason: Why it does not count, as ``area:code``; ``''`` if it does.
        detail: The reviewer's words, or what is wrong with the last reply.
    """

    solution: Solution | None
    reason: str = ''
    detail: str = ''


def solve(
    task: Task,
    draft: Draft,
    environment: Environment,
    loop: Loop,
    model: str,
    trial: str,
    has_reviewer: bool,
) -> Dialogue[Attempt]:
    """Solves a task once, from a fresh state.

    Args:
        task: The task, without goal.
        draft: Its draft.
        environment: Answers the calls.
        loop: The executor's loop.
        model: Name of the model, for the solution.
        trial: Name of the session, unique for each attempt.
        has_reviewer: Whether another model reviews; otherwise the same one does.
    """
    asked = prompts.PLAN.format(query=task.query, tools=tool_text(task.tools), most=MAX_STEPS)
    plan = yield from ask_until_usable((Message('user', asked),), read_plan, prompts.PLAN_FORM, Limit())
    if isinstance(plan, list):
        return Attempt(None, plan[0].code, plan[0].message)
    numbered = '\n'.join(f'{number}. {step}' for number, step in enumerate(plan, 1))
    planned = replace(
        task,
        id=trial,
        query=prompts.EXECUTE[task.language].format(query=task.query, plan=numbered),
        goal=Goal(draft.kind, fails_first=draft.needed[0] if draft.kind == RECOVERY else ''),
    )
    trajectory = yield from carry_out(planned, loop, environment)
    if failure := next((call.error for call in trajectory.calls if call.source == ERROR and call.error in FATAL), ''):
        return Attempt(None, STATE_LOST, f'the server failed ({failure})')
    done = _solution(trajectory, model, plan)
    if trajectory.stopped or not done.answer.strip():
        return Attempt(done, trajectory.stopped or NOT_FINISHED)
    kind = prompts.REVIEW_KINDS[draft.kind].format(missing=draft.missing, other=draft.other)
    review = prompts.REVIEW.format(query=task.query, kind=kind, calls=_shown_calls(done), answer=done.answer)
    verdict = yield from ask_until_usable(
        (Message('user', review),), read_verdict, prompts.REVIEW_FORM, Limit(), REVIEWER if has_reviewer else ''
    )
    if isinstance(verdict, list):
        return Attempt(done, verdict[0].code, verdict[0].message)
    is_accepted, why = verdict
    return Attempt(done, '' if is_accepted else REFUSED, why)


def _solution(trajectory: Trajectory, model: str, plan: tuple[str, ...]) -> Solution:
    calls = tuple(
        SolvedCall(call.name, passed, call.observation, step.text, call.source, error_of(call))
        for step in (trajectory.steps[index] for index in trajectory.path)
        for call in step.calls
        for passed in [call.arguments if isinstance(call.arguments, dict) else {}]
        if call.source
    )
    return Solution(model, calls, trajectory.final_answer, trajectory.changes, plan)


def _shown_calls(solution: Solution, most: int = _MAX_OBSERVATION) -> str:
    rows = (
        f'{number}. {call.name} {json.dumps(call.arguments, ensure_ascii=False)}\n'
        f'   -> {bounded_text(call.observation, most)}'
        for number, call in enumerate(solution.calls, 1)
    )
    return '\n'.join(rows) or '(none)'


def tell_failure(reason: str, detail: str, attempts: Sequence[Attempt]) -> str:
    """Says why a query became no task, with what was executed, for the model that writes another one.

    Args:
        reason: As ``area:code``.
        detail: What was found.
        attempts: All attempts to solve it.
    """
    attempted = [
        bounded_text(f'{_shown_calls(solution, _MAX_FAILED_CALL)}\nAnswer: {solution.answer}', _MAX_FAILED_ATTEMPT)
        for solution in (attempt.solution for attempt in attempts)
        if solution
    ]
    shown = [f'Attempt, with its calls:\n{text}' for text in list(dict.fromkeys(attempted))[:_MOST_FAILED]]
    return '\n'.join([f'{prompts.FAILURES.get(reason, reason)} {bounded_text(detail, _MAX_FAILED_CALL)}', *shown])
