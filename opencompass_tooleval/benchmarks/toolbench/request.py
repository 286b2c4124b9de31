"""The APIs and parameters that calls for a request may use, also as native tools, and the gold calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.records import Api, Record
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.tool_docs.function_tools import function_tool
from opencompass_tooleval.tool_docs.instruction import ABSENT, Parameter
from opencompass_tooleval.tool_docs.template import sample_value
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc


@dataclass(frozen=True)
class Signature:
    """An API that may be called.

    Attributes:
        tool: Name of the API's tool.
        api: Name of the API.
        required: Required parameters: name, type and default.
        optional: Optional parameters.
    """

    tool: str
    api: str
    required: tuple[Parameter, ...]
    optional: tuple[Parameter, ...]


@dataclass(frozen=True)
class Request:
    """One request and its APIs.

    Attributes:
        id: Record id.
        query: The request.
        relevant: The needed APIs.
        inventory: All APIs that may be called.
    """

    id: str
    query: str
    relevant: tuple[Api, ...]
    inventory: tuple[Signature, ...]

    def to_payload(self) -> str:
        """Converts the request to JSON text for :func:`parse_request`."""
        inventory = [
            [signature.tool, signature.api, [*map(_write, signature.required)], [*map(_write, signature.optional)]]
            for signature in self.inventory
        ]
        return json.dumps([self.id, self.query, self.relevant, inventory])


def _bare(parameter: Parameter) -> Parameter:
    """Returns a parameter without its description, which is not needed for checks."""
    return Parameter(parameter.name, parameter.type, default=parameter.default)


def _write(parameter: Parameter) -> list[Any]:
    """Returns name, type, and the default if there is one."""
    default = [] if parameter.default is ABSENT else [parameter.default]
    return [parameter.name, parameter.type, *default]


def _read(raw: list[Any]) -> Parameter:
    name, type_, *default = raw
    return Parameter(name, type_, default=default[0] if default else ABSENT)


def parse_request(payload: str) -> Request:
    """Parses the text of :meth:`Request.to_payload`."""
    record_id, query, relevant, inventory = json.loads(payload)
    signatures = tuple(
        Signature(tool, api, tuple(map(_read, required)), tuple(map(_read, optional)))
        for tool, api, required, optional in inventory
    )
    return Request(record_id, query, tuple((tool, api) for tool, api in relevant), signatures)


def make_request(record: Record, tools: Mapping[str, ToolDoc]) -> Request:
    """Builds the request of a record, with the documented parameters."""
    functions = {(tool, f.name): f for tool, _ in record.apis for f in tools[tool].functions}
    inventory = tuple(
        Signature(
            tool,
            api,
            tuple(map(_bare, functions[tool, api].required)),
            tuple(map(_bare, functions[tool, api].optional)),
        )
        for tool, api in record.apis
    )
    return Request(record.id, record.query, record.relevant, inventory)


def gold_answer(request: Request) -> str:
    """Returns valid calls: each relevant API with documented or invented values for required parameters.

    ToolBench publishes no calls. These calls are only free of errors; their values need not be correct.
    """
    calls = [
        {'tool': tool, 'api': api, 'parameters': gold_parameters(request, (tool, api))}
        for tool, api in request.relevant
    ]
    return json.dumps(calls, ensure_ascii=False)


def gold_parameters(request: Request, api: Api) -> dict[str, Any]:
    """Returns documented or invented values for the required parameters of an API of a request."""
    signature = next(signature for signature in request.inventory if (signature.tool, signature.api) == api)
    return {parameter.name: sample_value(parameter) for parameter in signature.required}


def tool_names(apis: Iterable[Api]) -> dict[str, Api]:
    """Returns names for APIs as tools, ``Tool.Api``, in order; a repeated name gets a number at its end."""
    names: dict[str, Api] = {}
    for tool, api in apis:
        # Tool 'A.b' with API 'c' must not equal tool 'A' with API 'b.c'.
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
    """Returns one tool per documented API of a request; an answer may call several.

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
