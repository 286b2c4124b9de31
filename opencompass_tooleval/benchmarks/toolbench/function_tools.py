"""Native tools of a request's APIs, and a perfect model's calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opencompass_tooleval.benchmarks.toolbench.records import Api
from opencompass_tooleval.benchmarks.toolbench.request import Request, gold_parameters
from opencompass_tooleval.core.tool_calls import ToolCall
from opencompass_tooleval.core.tool_set import ToolSet
from opencompass_tooleval.tool_docs.function_tools import function_tool
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc


def tool_names(apis: Iterable[Api]) -> dict[str, Api]:
    """Returns names of APIs as tools, ``Tool.Api``, in their order; a repeated name has a number at its end."""
    names: dict[str, Api] = {}
    for tool, api in apis:
        # 'A.b' with API 'c' is not 'A' with API 'b.c'.
        name, number = f'{tool}.{api}', 1
        while name in names:
            number += 1
            name = f'{tool}.{api} ({number})'
        names[name] = (tool, api)
    return names


def request_names(request: Request) -> dict[str, Api]:
    """Returns the names of a request's APIs as tools."""
    return tool_names((signature.tool, signature.api) for signature in request.inventory)


def offered_tools(request: Request, tools: Mapping[str, ToolDoc]) -> ToolSet:
    """Returns a tool per documented API of a request; an answer may call several.

    Args:
        request: The request.
        tools: The documentation of the file's tools.
    """
    functions = {(tool, function.name): function for tool in tools for function in tools[tool].functions}
    names = request_names(request)
    return ToolSet([function_tool(functions[api], name) for name, api in names.items()], parallel=True)


def gold_calls(request: Request) -> list[ToolCall]:
    """Converts the gold answer of a request (``request.gold_answer``) to calls."""
    called = {api: name for name, api in request_names(request).items()}
    return [ToolCall(called[api], gold_parameters(request, api)) for api in request.relevant]
