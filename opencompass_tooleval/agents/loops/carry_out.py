"""Runs an agent's loop on a task, with a fresh state of the environment."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from opencompass_tooleval.agents.loops.loops import Loop
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.trajectory import STATE_LOST, Trajectory
from opencompass_tooleval.environments.environment import Environment, Session
from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.twins.session import Twinned, TwinSession


def carry_out(task: Task, loop: Loop, environment: Environment) -> Dialogue[Trajectory]:
    """Runs a task from a fresh state.

    Args:
        task: The task; if its twin requires it, a tool fails at first.
        loop: The loop.
        environment: Answers the calls.

    Returns:
        The trajectory with the state at its end; stopped with ``infra:environment`` if this cannot be read.
    """
    twin = Twinned.of(task.twin)
    schemas, documents = (twin.schemas, twin.documents) if twin.tools else (task.schemas, task.documents)
    session = environment.begin(task.id, schemas, documents, twin.fails_first, twin.failure)
    asked = cast(Session, TwinSession(session, twin)) if twin.tools else session
    try:
        trajectory = yield from loop.run(task, asked)
        try:
            return replace(trajectory, changes=session.changes())
        except ServerError:
            return replace(trajectory, stopped=STATE_LOST)
    finally:
        session.close()
