"""Carries out a task: a loop of an agent on a fresh state of an environment."""

from __future__ import annotations

from dataclasses import replace

from opencompass_tooleval.agents.loops.loops import Loop
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.trajectory import STATE_LOST, Trajectory
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.live_source import ServerError


def carry_out(task: Task, loop: Loop, environment: Environment) -> Dialogue[Trajectory]:
    """Carries out a task from a fresh state.

    Args:
        task: The task.
        loop: The loop.
        environment: Answers the calls.

    Returns:
        The trajectory, with the state that it left; stopped with ``infra:environment`` where that cannot be read.
    """
    session = environment.begin(task.id, task.schemas, task.documents)
    try:
        trajectory = yield from loop.run(task, session)
        try:
            return replace(trajectory, changes=session.changes())
        except ServerError:
            return replace(trajectory, stopped=STATE_LOST)
    finally:
        session.close()
