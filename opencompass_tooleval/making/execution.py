"""Executes the gold calls of a task, twice from fresh states: gold that does not reproduce makes no task."""

from __future__ import annotations

from dataclasses import dataclass

from opencompass_tooleval.agents.goal_check import holds_fact, plain_text
from opencompass_tooleval.agents.task import Task
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.observation import ERROR, INJECTED, Observation
from opencompass_tooleval.mcp_servers.server import ServerError

VOLATILE = 'execution:volatile'
NOT_REPRODUCED = 'execution:effects'
NO_FACT = 'execution:facts'
FAILED = 'execution:error'

_BOTH = 2


@dataclass(frozen=True)
class Executed:
    """Result of executing the gold calls of a task.

    Attributes:
        reason: Why they do not make a task, as ``area:code``; ``''`` if they do.
        detail: What was found, such as the tool.
        tool: ``execution:volatile``: the tool that answers the same call differently.
    """

    reason: str = ''
    detail: str = ''
    tool: str = ''


def execute_gold(task: Task, environment: Environment) -> Executed:
    """Executes the gold calls of a task twice, each time from a fresh state, and compares the runs with its goal.

    Args:
        task: With its goal.
        environment: Answers the calls.
    """
    assert task.goal is not None
    if not task.oracle_calls:
        return Executed()
    try:
        runs = [_run(task, environment, f'{task.id} gold {number}') for number in range(_BOTH)]
    except ServerError as error:
        return Executed(FAILED, str(error))
    (first, changes), (second, changes_again) = runs
    for call, one, other in zip(task.oracle_calls, first, second, strict=True):
        if one.text != other.text:
            return Executed(VOLATILE, f'{call.name}: {one.text[:100]!r} and {other.text[:100]!r}', call.name)
        if one.source == ERROR or (one.error and one.error != INJECTED):
            return Executed(FAILED, f'{call.name}: {one.text[:200]}')
    if changes != task.goal.effects or changes_again != changes:
        return Executed(NOT_REPRODUCED, f'{changes} instead of {task.goal.effects}'[:500])
    observed = plain_text('\n'.join(observation.text for observation in first))
    missing = [fact for fact in task.goal.facts if not holds_fact(observed, fact)]
    return Executed(NO_FACT, ', '.join(missing)) if missing else Executed()


def _run(task: Task, environment: Environment, trial: str) -> tuple[list[Observation], dict[str, str] | None]:
    assert task.goal is not None
    session = environment.begin(trial, task.schemas, task.documents, task.goal.fails_first)
    try:
        observations = [session.call(call.name, call.arguments) for call in task.oracle_calls]
        return observations, session.changes()
    finally:
        session.close()
