"""FuncQA's 13 functions as a session: it returns their published results, and records the calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.funcqa.arithmetic import ToolResult, call_tool
from opencompass_tooleval.benchmarks.funcqa.trajectory import ToolCall
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.function_calling import UNKNOWN_TOOL as UNKNOWN_TOOL_CALLED
from opencompass_tooleval.core.calls.observation import ERROR, FUNCTION, UNKNOWN_TOOL, WRONG_ARGUMENTS, Observation
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.environments.environment import Environment, Session


class FuncQASession(Session):
    """A run of one question.

    Attributes:
        calls: The calls in order, and calls in an answer that cannot be made.
        tasks: Subtasks for :attr:`~opencompass_tooleval.benchmarks.funcqa.trajectory.Trajectory.tasks`.
        check: Final check for :attr:`~opencompass_tooleval.benchmarks.funcqa.trajectory.Trajectory.check`.

    Args:
        question: Id of the question.
        rounded: True if results are rounded as published.
    """

    def __init__(self, question: str, rounded: bool = True) -> None:
        super().__init__(Environment(), question)
        self.calls: list[ToolCall] = []
        self.tasks: Sequence[Mapping[str, Any]] = ()
        self.check = ''
        self._rounded = rounded

    def ask(self, name: Any, arguments: Any) -> Dialogue[Observation]:
        """Answers a call; the observation's ``error`` is FuncQA's name for the fault of the call."""
        yield from ()
        result = call_tool(name, arguments, self._rounded)
        self.calls.append(ToolCall.of(name, arguments, result))
        if not result.error:
            return Observation(result.text, FUNCTION)
        fault = UNKNOWN_TOOL if result.error == UNKNOWN_TOOL_CALLED else WRONG_ARGUMENTS
        return Observation(result.text, ERROR, fault, result.error)

    def note(self, name: str, parameters: Any, error: str) -> None:
        """Records a call that cannot be made, with the text of its parameters."""
        self.calls.append(ToolCall.of(name, bounded_text(parameters) or None, ToolResult('', error)))
