"""FuncQA's 13 functions as a session, which returns their published results and records the calls."""

from __future__ import annotations

from typing import Any

from opencompass_tooleval.benchmarks.funcqa.data import call_tool, refused
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.observation import Observation
from opencompass_tooleval.core.calls.trajectory import AnsweredCall
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.environments.environment import Environment, Session


class FuncQASession(Session):
    """A run of one question.

    Attributes:
        calls: The calls in order, including calls in an answer that cannot be made.

    Args:
        question: Id of the question.
        rounded: True to round results as published.
    """

    def __init__(self, question: str, rounded: bool = True) -> None:
        super().__init__(Environment(), question)
        self.calls: list[AnsweredCall] = []
        self._rounded = rounded

    def ask(self, name: Any, arguments: Any) -> Dialogue[Observation]:
        """Answers a call; the observation's ``error`` is FuncQA's name for the error of the call."""
        yield from ()
        observation = call_tool(name, arguments, self._rounded)
        self.calls.append(AnsweredCall.of(name, arguments, observation))
        return observation

    def note(self, name: str, parameters: Any, error: str) -> None:
        """Records a call that cannot be made, with the text of its parameters."""
        self.calls.append(AnsweredCall.of(name, bounded_text(parameters) or None, refused(error)))
