"""Loops of agents, by name, and how a loop carries out a task.

A new loop is a new row in :data:`~opencompass_tooleval.plugin.LOOPS`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, cast

from opencompass_tooleval import plugin
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.trajectory import STATE_LOST, Trajectory
from opencompass_tooleval.environments.environment import Environment, Session
from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.plugin import LOOPS
from opencompass_tooleval.twins.session import Twinned, TwinSession


class Loop(Protocol):
    """A way of calling tools."""

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        """Runs a task as a dialogue.

        Args:
            task: The task.
            session: Answers its calls; ``yield from session.ask(name, arguments)``.
        """
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """The loop's options, for the trajectory's settings."""
        ...


def find_loop(name: str) -> type:
    """Returns the class of a loop.

    Raises:
        ValueError: There is no such loop.
    """
    if name not in LOOPS:
        raise ValueError(f'no loop {name!r}; there are {", ".join(LOOPS)}')
    loop: type = plugin.load(LOOPS[name])
    return loop


def make_loop(name: str, **options: Any) -> Loop:
    """Creates a loop with its options.

    Raises:
        ValueError: There is no such loop.
        TypeError: It has no such option.
    """
    loop: Loop = find_loop(name)(**options)
    return loop


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
