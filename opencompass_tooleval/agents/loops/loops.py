"""Loops of agents, by name. A new loop is a new row in :data:`~opencompass_tooleval.plugin.LOOPS`."""

from __future__ import annotations

from typing import Any, Protocol

from opencompass_tooleval import plugin
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.environments.environment import Session
from opencompass_tooleval.plugin import LOOPS


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
