"""Table of the loops of agents. A new loop is a new row."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any, Protocol

from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.trajectory import Trajectory
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.environments.environment import Session

_ROOM = __name__.rpartition('.')[0]

LOOPS = {
    'react': f'{_ROOM}.react:ReAct',
    'function_calling': f'{_ROOM}.function_calling:FunctionCalling',
    'dfsdt': f'{_ROOM}.dfsdt:DepthFirstSearch',
    'toolbench_react': f'{_ROOM}.dfsdt:ToolBenchReAct',
    'easytool': f'{_ROOM}.easytool:EasyTool',
}
"""Name -> its class, whose keyword parameters are the loop's options."""


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
    loop: type = resolve_name(LOOPS[name])
    return loop


def make_loop(name: str, **options: Any) -> Loop:
    """Creates a loop with its options.

    Raises:
        ValueError: There is no such loop.
        TypeError: It has no such option.
    """
    loop: Loop = find_loop(name)(**options)
    return loop
