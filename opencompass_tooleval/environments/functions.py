"""Tools that are worked out in Python, with or without a state of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class FunctionAnswer:
    """What a function says.

    Attributes:
        text: The response.
        is_guess: Whether it does not know: what was recorded for another task is better, such as the inbox that
            T-Eval's authors had.
        is_wrong_call: Whether the arguments are at fault.
    """

    text: str
    is_guess: bool = False
    is_wrong_call: bool = False


class FunctionTool(Protocol):
    """A tool of one task: its state begins with the task."""

    @property
    def names(self) -> tuple[str, ...]:
        """The APIs that it answers."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> FunctionAnswer:
        """Answers a call, and changes the state as the call does; raises nothing, whatever is passed."""

    def learn(self, name: str, arguments: Mapping[str, Any], response: str) -> None:
        """Takes what a recorded response says about the world; one that says nothing is passed over."""


StatefulTools = Callable[[], tuple[FunctionTool, ...]]
"""Makes the tools of a task."""


def no_stateful_tools() -> tuple[FunctionTool, ...]:
    """No tools."""
    return ()
