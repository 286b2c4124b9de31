"""A service's tools as they are offered natively, and the calls of a perfect model."""

from __future__ import annotations

from collections.abc import Sequence

from opencompass_tooleval.benchmarks.restbench.records import Record
from opencompass_tooleval.core.tool_calls import ToolCall
from opencompass_tooleval.core.tool_set import ToolSet
from opencompass_tooleval.tool_docs.function_tools import function_tool
from opencompass_tooleval.tool_docs.template import sample_value
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc


def offered_tools(functions: Sequence[FunctionDoc]) -> ToolSet:
    """The operations of an OpenAPI document, each by its name, ``GET /movie/{movie_id}``, with the parameters of path,
    query and body; several may be called in one answer."""
    return ToolSet([function_tool(function, has_defaults=False) for function in functions], parallel=True)


def gold_calls(record: Record, functions: Sequence[FunctionDoc]) -> list[ToolCall]:
    """The gold path as calls, with documented or made-up values for what they require: RestBench has none.

    A step is named as the gold that counts has it, also where that is a published fault; its values are those of the
    tool that is meant.
    """
    required = {function.name: function.required for function in functions}
    return [
        ToolCall(step, {parameter.name: sample_value(parameter) for parameter in required[meant]})
        for step, meant in zip(record.path, record.repaired, strict=True)
    ]
