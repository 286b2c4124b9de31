"""Native tools of a service, and a perfect model's calls."""

from __future__ import annotations

from collections.abc import Sequence

from opencompass_tooleval.benchmarks.restbench.records import Record
from opencompass_tooleval.core.tool_calls import ToolCall
from opencompass_tooleval.core.tool_set import ToolSet
from opencompass_tooleval.tool_docs.function_tools import function_tool
from opencompass_tooleval.tool_docs.template import sample_value
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc


def offered_tools(functions: Sequence[FunctionDoc]) -> ToolSet:
    """Returns the operations of an OpenAPI document, each named ``GET /movie/{movie_id}``, with the parameters of path,
    query and body; an answer may call several."""
    return ToolSet([function_tool(function, has_defaults=False) for function in functions], parallel=True)


def gold_calls(record: Record, functions: Sequence[FunctionDoc]) -> list[ToolCall]:
    """Returns the gold path as calls; required arguments have documented or invented values, since RestBench has none.

    The name of a step is that of the scored gold, even if it is a published fault; its values are those of the
    intended tool.
    """
    required = {function.name: function.required for function in functions}
    return [
        ToolCall(step, {parameter.name: sample_value(parameter) for parameter in required[meant]})
        for step, meant in zip(record.path, record.repaired, strict=True)
    ]
