"""What a method did on one question: what the predictions file keeps, whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from opencompass_tooleval.core.jsonable import to_jsonable
from opencompass_tooleval.easytool.funcqa.arithmetic import ToolResult

TOO_MANY_STEPS = 'step:too_many'
NAME_ERRORS = 'tool:'
PARAMETER_ERRORS = 'args:'
WITHOUT_TOOLS = ('zero_shot', 'cot')
"""Methods that cannot call a tool, and so make no tool-related error."""


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool.

    Attributes:
        name: The name that the model gave; ``''`` where none could be read.
        parameters: What it passed, as JSON values; the text where that could not be read.
        result: The number; None if the call failed.
        error: ``''``, or ``tool:...`` or ``args:...`` (see :mod:`~opencompass_tooleval.easytool.funcqa.arithmetic`).
    """

    name: str
    parameters: Any
    result: int | float | None
    error: str = ''

    @classmethod
    def of(cls, name: Any, parameters: Any, result: ToolResult) -> ToolCall:
        """What a model passed, whatever it is, and what came of it."""
        called = name if isinstance(name, str) else json.dumps(to_jsonable(name))
        return cls(str(to_jsonable(called)), to_jsonable(parameters), result.value, result.error)


@dataclass(frozen=True)
class Trajectory:
    """One question from beginning to end.

    Attributes:
        method: Name in :data:`~opencompass_tooleval.easytool.funcqa.methods.METHODS`.
        calls: The calls of tools, in order.
        answer: The text that holds the final answer; ``''`` if there is none.
        rounds: ``{'asked': the last message, 'answer': what the model said}`` of each round.
        stopped: ``''``, or why the method gave up before it was through: ``step:too_many``.
        settings: What it depends on: :meth:`~opencompass_tooleval.easytool.funcqa.methods.Options.settings`.
    """

    method: str
    calls: tuple[ToolCall, ...] = ()
    answer: str = ''
    rounds: tuple[Mapping[str, str], ...] = ()
    stopped: str = ''
    settings: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return dict(to_jsonable(asdict(self)))

    def to_json(self) -> str:
        """As JSON text; :func:`parse_trajectory` gives it back."""
        return json.dumps(self.to_dict())


def parse_trajectory(text: str) -> Trajectory:
    """Reads :meth:`Trajectory.to_json`.

    Raises:
        ValueError: It is no such text.
    """
    try:
        raw = json.loads(text)
        calls = tuple(ToolCall(**call) for call in raw.pop('calls'))
        return Trajectory(calls=calls, rounds=tuple(raw.pop('rounds')), **raw)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f'this is no trajectory ({type(error).__name__}: {error})') from error
