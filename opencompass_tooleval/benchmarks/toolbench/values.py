"""Checks values of a REST API's parameters against ToolBench's documentation."""

from __future__ import annotations

from typing import Any

from opencompass_tooleval.tool_docs.instruction import ABSENT, Parameter
from opencompass_tooleval.tool_docs.value_types import expected, from_text


def unfit(parameter: Parameter, value: Any) -> str:
    """Returns the expected type of ``value`` in words; ``''`` for a valid value.

    A number or a boolean may be text: it is sent as text, and ToolBench's defaults are texts.
    """
    if value is ABSENT:
        return ''
    problem = expected(parameter.type, value)
    if problem and isinstance(value, str) and not expected(parameter.type, from_text(parameter.type, value.strip())):
        return ''
    return problem
