"""Converts a tool, of whatever source, to documentation as T-Eval and UltraTool have it, and for instructions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.tool_docs.instruction import ABSENT, Parameter
from opencompass_tooleval.tool_docs.schema import schema_parameters
from opencompass_tooleval.tool_docs.sources.teval import tool_doc
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc

_TYPES = {'array': 'LIST', 'object': 'DICT'}


def teval_tool(tool: ToolSchema, document: Any) -> dict[str, Any]:
    """Converts a tool to an API description of T-Eval's prompts.

    Args:
        tool: The tool.
        document: Its documentation as JSON values or text; one of T-Eval's is copied. Other tools are converted from
            their schema, of which everything is kept, and from what the documentation says of the result.
    """
    if _is_teval(document):
        return {**document, 'name': tool.name}
    required, optional = schema_parameters(tool.parameters)
    returned = _returned(document)
    return {
        'name': tool.name,
        'description': _description(tool, document),
        'required_parameters': [_teval_parameter(parameter) for parameter in required],
        'optional_parameters': [_teval_parameter(parameter) for parameter in optional],
        'return_data': [{'name': name, 'description': _words_of(schema)} for name, schema in returned.items()],
    }


def _teval_parameter(parameter: Parameter) -> dict[str, Any]:
    kind = _TYPES.get(parameter.type, parameter.type.upper())
    default = {} if parameter.default is ABSENT else {'default': parameter.default}
    extra = {key: value for key, value in parameter.extra.items() if key != 'title'}
    described = {'name': parameter.name, 'type': kind, 'description': parameter.description}
    return dict(to_jsonable({**described, **default, **extra}))


def ultratool_tool(tool: ToolSchema, document: Any) -> dict[str, Any]:
    """Converts a tool to a tool of UltraTool's samples, with schemas of arguments and results.

    Args:
        tool: The tool.
        document: As :func:`teval_tool` takes it.
    """
    results = {
        name: schema if isinstance(schema, Mapping) else {'description': str(schema)}
        for name, schema in _returned(document).items()
    }
    return {
        'name': tool.name,
        'description': _description(tool, document),
        'arguments': to_jsonable({'type': 'object', 'properties': {}, **tool.parameters}),
        'results': to_jsonable({'type': 'object', 'properties': results}),
    }


def single_tool_doc(tool: ToolSchema, document: Any) -> ToolDoc:
    """Converts a tool to a documented tool of one function.

    Args:
        tool: The tool.
        document: As :func:`teval_tool` takes it.

    Raises:
        ValueError: A parameter has no name.
    """
    if _is_teval(document):
        return tool_doc({**document, 'name': tool.name})
    description = _description(tool, document)
    raw = document if isinstance(document, (Mapping, str)) and document else tool.parameters
    return ToolDoc(
        tool.name, description, (FunctionDoc(tool.name, description, *schema_parameters(tool.parameters), raw),), raw
    )


def _is_teval(document: Any) -> bool:
    return (
        isinstance(document, Mapping)
        and isinstance(document.get('name'), str)
        and isinstance(document.get('description'), str)
        and isinstance(document.get('required_parameters'), list)
        and isinstance(document.get('optional_parameters', []), list)
    )


def _description(tool: ToolSchema, document: Any) -> str:
    """The documentation's own words: those of a schema may be cut, or followed by what the tool returns."""
    described = document.get('description') if isinstance(document, Mapping) else None
    return described if isinstance(described, str) and described.strip() else tool.description


def _returned(document: Any) -> dict[str, Any]:
    """Name -> schema of what a tool returns, from T-Eval's, UltraTool's or an MCP server's documentation."""
    if not isinstance(document, Mapping):
        return {}
    rows = document.get('return_data')
    if isinstance(rows, list):
        fields = [row for row in rows if isinstance(row, Mapping) and 'name' in row]
        return {str(row['name']): {key: row[key] for key in row if key != 'name'} for row in fields}
    schema = document.get('outputSchema') or document.get('results')
    properties = schema.get('properties') if isinstance(schema, Mapping) else None
    return dict(properties) if isinstance(properties, Mapping) else {}


def _words_of(schema: Any) -> str:
    return str(schema.get('description') or schema.get('title') or '') if isinstance(schema, Mapping) else ''
