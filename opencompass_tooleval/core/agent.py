"""What an agent needs and leaves behind, whatever library runs it: tools in, calls and an answer out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Reply(Protocol):
    """What a tool says."""

    @property
    def text(self) -> str:
        """What the model is told."""
        ...

    @property
    def error(self) -> str:
        """``''``, or what went wrong, as ``area:code``."""
        ...


@dataclass(frozen=True)
class Tool:
    """Something that an agent can call.

    Attributes:
        name: One line without blanks at its ends.
        description: For the model.
        parameters: ``name`` and ``type`` of each, for the model; all are required.
        call: Takes what the model passed: the object, or its text where that is none. Equal arguments give equal
            replies.
    """

    name: str
    description: str
    parameters: Sequence[Mapping[str, str]]
    call: Callable[[Any], Reply]


@dataclass(frozen=True)
class AgentCall:
    """One call of a tool.

    Attributes:
        name: The name that the model gave, known or not.
        arguments: What it passed, as :class:`Tool` takes it.
        reply: What the tool said, or whoever answers for unknown names.
    """

    name: str
    arguments: Any
    reply: Any


@dataclass(frozen=True)
class AgentRun:
    """What an agent did.

    Attributes:
        calls: The calls of tools, in order.
        answer: Its final answer; None if it had none within its steps.
    """

    calls: tuple[AgentCall, ...]
    answer: str | None
