"""FuncQA's 13 functions as tools; they have no state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opencompass_tooleval.easytool.funcqa.arithmetic import TOOL_NAMES, call_tool
from opencompass_tooleval.environments.functions import FunctionAnswer, FunctionTool


class Arithmetic:
    """The published functions, their rounding included."""

    names = TOOL_NAMES

    def call(self, name: str, arguments: Mapping[str, Any]) -> FunctionAnswer:
        """Works it out."""
        result = call_tool(name, dict(arguments))
        return FunctionAnswer(result.text, is_wrong_call=bool(result.error))

    def learn(self, name: str, arguments: Mapping[str, Any], response: str) -> None:
        """There is nothing to learn."""


def funcqa_functions() -> tuple[FunctionTool, ...]:
    """The tools of one question."""
    return (Arithmetic(),)
