"""What a method did on one question: what the predictions file keeps, whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from opencompass_tooleval.benchmarks.funcqa.arithmetic import ToolResult
from opencompass_tooleval.core.jsonable import to_jsonable

TOO_MANY_STEPS = 'step:too_many'
NAME_ERRORS = 'tool:'
PARAMETER_ERRORS = 'args:'
EASYTOOL = 'easytool'
"""The method whose ``accuracy`` is that of the published labels."""

WITHOUT_TOOLS = ('zero_shot', 'cot')
"""Methods that cannot call a tool, and so make no tool-related error."""


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool.

    Attributes:
        name: The name that the model gave; ``''`` where none could be read.
        parameters: What it passed, as JSON values; the text where that could not be read.
        result: What the tool returned, a number as text; None if the call failed.
        error: ``''``, or ``tool:...`` or ``args:...`` (see :mod:`~opencompass_tooleval.benchmarks.funcqa.arithmetic`).
    """

    name: str
    parameters: Any
    result: str | None
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
        method: Name in :data:`~opencompass_tooleval.benchmarks.funcqa.methods.METHODS`.
        calls: The calls of tools, in order.
        answer: The text that holds the final answer; ``''`` if there is none.
        rounds: ``{'asked': the last message, 'answer': what the model said}`` of each round.
        stopped: ``''``, or why the method ended before it had an answer, as ``area:code``.
        settings: What it depends on: :meth:`~opencompass_tooleval.benchmarks.funcqa.dialogue.Options.settings`.
        tasks: EasyTool: ``{'task', 'answer', 'done': whether a call gave something, 'tries'}`` of each, in order.
        check: EasyTool: whether the model calls its answer right: ``yes``, ``no`` or ``unreadable``; it decides
            nothing. ``''`` where it was not asked.
    """

    method: str
    calls: tuple[ToolCall, ...] = ()
    answer: str = ''
    rounds: tuple[Mapping[str, str], ...] = ()
    stopped: str = ''
    settings: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[Mapping[str, Any], ...] = ()
    check: str = ''

    @property
    def tool_errors(self) -> tuple[str, ...]:
        """The tool-related errors in order: what went wrong with a tool that the model named.

        An answer that names none calls none, whatever the method; that it could not be read shows in its reason.
        """
        return tuple(call.error for call in self.calls if call.error and call.name)

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
        rounds, tasks = tuple(raw.pop('rounds')), tuple(raw.pop('tasks', ()))
        trajectory = Trajectory(calls=calls, rounds=rounds, tasks=tasks, **raw)
        _check(trajectory)
        return trajectory
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f'this is no trajectory ({type(error).__name__}: {error})') from error


def _check(trajectory: Trajectory) -> None:
    texts = [trajectory.method, trajectory.answer, trajectory.stopped, trajectory.check]
    texts += [text for call in trajectory.calls for text in (call.name, call.error)]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError('what should be text is none')
    if not isinstance(trajectory.settings, dict):
        raise ValueError("'settings' is no object")
    if not all(isinstance(task, dict) and isinstance(task.get('done'), bool) for task in trajectory.tasks):
        raise ValueError("a task does not say whether it is 'done'")
