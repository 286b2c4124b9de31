"""Protocol of tools emulated in Python, with or without state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class FunctionAnswer:
    """The answer of a function.

    Attributes:
        text: The response.
        is_guess: True if the function cannot know the answer, such as the contents of the authors' inbox in T-Eval. A
            recording from another task is then preferred.
        is_wrong_call: True if the arguments are wrong.
    """

    text: str
    is_guess: bool = False
    is_wrong_call: bool = False


class FunctionTool(Protocol):
    """A tool of one task, with a new state for each task."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tool's APIs."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> FunctionAnswer:
        """Answers a call and updates the state; never raises."""

    def learn(self, name: str, arguments: Mapping[str, Any], response: str) -> None:
        """Updates the state from a recorded response; ignores responses without information."""


StatefulTools = Callable[[], tuple[FunctionTool, ...]]
"""Creates the tools of a task."""


def no_stateful_tools() -> tuple[FunctionTool, ...]:
    """Returns no tools."""
    return ()
