"""The run of a method on one question, as the predictions file stores it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from opencompass_tooleval.benchmarks.funcqa.arithmetic import ToolResult
from opencompass_tooleval.catalogue.labels import current_reason
from opencompass_tooleval.core.text.jsonable import to_jsonable

TOO_MANY_STEPS = 'limit:steps'
NAME_ERRORS = 'name:'
PARAMETER_ERRORS = 'args:'
EASYTOOL = 'easytool'
"""The method whose ``accuracy`` follows the published labels."""

WITHOUT_TOOLS = ('zero_shot', 'cot')
"""Methods that cannot call a tool, and so have no tool-related errors."""


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool.

    Attributes:
        name: The name that the model gave; ``''`` if none could be read.
        parameters: Its parameters, as JSON values; the text if they could not be read.
        result: The tool's result, a number as text; None if the call failed.
        error: ``''``, or ``name:...`` or ``args:...`` (see :mod:`~opencompass_tooleval.benchmarks.funcqa.arithmetic`).
    """

    name: str
    parameters: Any
    result: str | None
    error: str = ''

    @classmethod
    def of(cls, name: Any, parameters: Any, result: ToolResult) -> ToolCall:
        """Creates the record of a call from any name and parameters, and its result."""
        called = name if isinstance(name, str) else json.dumps(to_jsonable(name))
        return cls(str(to_jsonable(called)), to_jsonable(parameters), result.value, result.error)


@dataclass(frozen=True)
class Trajectory:
    """The run of one question.

    Attributes:
        method: Name in :data:`~opencompass_tooleval.agents.loops.funcqa.METHODS`.
        calls: The calls of tools, in order.
        answer: The text that holds the final answer; ``''`` if there is none.
        rounds: ``{'asked': the last message, 'answer': the model's answer}`` of each round.
        stopped: The reason for which the method ended without an answer, as ``area:code``, or ``''``.
        settings: Options of the method that the numbers depend on.
        tasks: EasyTool: ``{'task', 'answer', 'done': True if a call had a result, 'tries'}`` of each, in order.
        check: EasyTool: the model's check of its answer: ``yes``, ``no`` or ``unreadable``; it has no effect. ``''``
            if it was not requested.
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
        """The tool-related errors in order: errors of calls with a name.

        A call without a readable name is none of them, for any method; the reason of the answer reports it.
        """
        return tuple(call.error for call in self.calls if call.error and call.name)

    def to_dict(self) -> dict[str, Any]:
        """Converts to JSON values."""
        return dict(to_jsonable(asdict(self)))

    def to_json(self) -> str:
        """Converts to JSON text for :func:`parse_trajectory`."""
        return json.dumps(self.to_dict())


def parse_trajectory(text: str) -> Trajectory:
    """Reads the text of :meth:`Trajectory.to_json`.

    Raises:
        ValueError: It is no such text.
    """
    try:
        raw = json.loads(text)
        calls = tuple(ToolCall(**{**call, 'error': current_reason(call.get('error', ''))}) for call in raw.pop('calls'))
        stopped = current_reason(raw.pop('stopped', ''))
        rounds, tasks = tuple(raw.pop('rounds')), tuple(raw.pop('tasks', ()))
        trajectory = Trajectory(calls=calls, rounds=rounds, tasks=tasks, stopped=stopped, **raw)
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
