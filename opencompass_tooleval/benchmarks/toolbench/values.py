"""Whether a value fits a parameter of a REST API as ToolBench documents it."""

from __future__ import annotations

from typing import Any

from opencompass_tooleval.tool_docs.instruction import ABSENT, Parameter
from opencompass_tooleval.tool_docs.value_types import expected, from_text


def unfit(parameter: Parameter, value: Any) -> str:
    """What ``value`` should have been, in words; ``''`` if it fits.

    A number or a boolean may be written as text: it is sent as text, and ToolBench writes its own defaults so.
    """
    if value is ABSENT:
        return ''
    problem = expected(parameter.type, value)
    if problem and isinstance(value, str) and not expected(parameter.type, from_text(parameter.type, value.strip())):
        return ''
    return problem
