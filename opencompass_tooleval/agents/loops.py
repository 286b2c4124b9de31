"""How an agent goes about a task. A new loop is a new row."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any, Protocol

from opencompass_tooleval.agents.task import Task
from opencompass_tooleval.agents.trajectory import Trajectory
from opencompass_tooleval.core.dialogue import Dialogue
from opencompass_tooleval.environments.environment import Session

_ROOM = __name__.rpartition('.')[0]

LOOPS = {
    'react': f'{_ROOM}.react:ReAct',
    'function_calling': f'{_ROOM}.function_calling:FunctionCalling',
    'dfsdt': f'{_ROOM}.dfsdt:DepthFirstSearch',
    'toolbench_react': f'{_ROOM}.dfsdt:ToolBenchReAct',
    'easytool': f'{_ROOM}.easytool:EasyTool',
}
"""Name -> its class, which takes the loop's own options by keyword."""


class Loop(Protocol):
    """A way of calling tools."""

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        """Carries out a task as a dialogue.

        Args:
            task: The task.
            session: What answers its calls; ``yield from session.ask(name, arguments)``.
        """
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """What a trajectory says of the loop's options."""
        ...


def make_loop(name: str, **options: Any) -> Loop:
    """A loop with its options.

    Raises:
        ValueError: There is no such loop.
        TypeError: It takes no such option.
    """
    if name not in LOOPS:
        raise ValueError(f'no loop {name!r}; there are {", ".join(LOOPS)}')
    loop: Loop = resolve_name(LOOPS[name])(**options)
    return loop
