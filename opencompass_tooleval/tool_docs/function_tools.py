"""Converts documented functions to tools for native calling, with parameters as JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from opencompass_tooleval.core.calls.tool_set import ToolSchema, describe_tool
from opencompass_tooleval.tool_docs.instruction import ABSENT, Parameter
from opencompass_tooleval.tool_docs.schema import schema_parameter
from opencompass_tooleval.tool_docs.template import documented_value
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc
from opencompass_tooleval.tool_docs.value_types import json_types

MAX_DEPTH = 5
"""Maximum nesting of lists and objects; a value below that may be anything."""


def function_tool(function: FunctionDoc, name: str = '', has_defaults: bool = True) -> ToolSchema:
    """Converts a function to a tool.

    Args:
        function: Documentation of the function.
        name: Name of the tool; by default the function's name.
        has_defaults: True if a documented value is a default; False if it may be an example, and is described as such.
    """
    name = name or function.name
    description = describe_tool(name, ' '.join(function.description.split()))
    parameters = {
        parameter.name: parameter_schema(parameter, has_defaults)
        for parameter in (*function.required, *function.optional)
    }
    required = [parameter.name for parameter in function.required]
    return ToolSchema(name, description, {'type': 'object', 'properties': parameters, 'required': required})


def parameter_schema(parameter: Parameter, has_defaults: bool = True, depth: int = 0) -> dict[str, Any]:
    """Converts a parameter to JSON Schema: type, description, default, and other documented constraints.

    A default is converted to the parameter's type if possible, since ToolBench writes numbers as texts.

    Args:
        parameter: Documentation of the parameter.
        has_defaults: True if a documented value is a default; False if it may be an example.
        depth: Number of lists and objects around it.
    """
    types = json_types(parameter.type)
    schema: dict[str, Any] = {'type': types[0] if len(types) == 1 else list(types)} if types else {}
    description = ' '.join(parameter.description.split())
    default = _default(parameter)
    if default is not ABSENT and not has_defaults:
        example = f'E.g. {json.dumps(default, ensure_ascii=False)}.'
        description = f'{description} {example}' if description else example
    if description:
        schema['description'] = description
    if default is not ABSENT and has_defaults:
        schema['default'] = default
    return schema | _narrowed(parameter.extra, types, depth)


def _default(parameter: Parameter) -> Any:
    if parameter.default is ABSENT or parameter.default == '':
        return ABSENT
    value = documented_value(replace(parameter, extra={}))
    return parameter.default if value is ABSENT else value


def _narrowed(extra: Mapping[str, Any], types: Iterable[str], depth: int) -> dict[str, Any]:
    """Selects the parts of a documented schema that are valid JSON Schema.

    In OpenAPI ``exclusiveMinimum`` is true or false, and some documents have ``additionalProperties: 'true'``: copying
    every key would give schemas that no validator accepts.
    """
    schema: dict[str, Any] = {}
    choices = extra.get('enum')
    if isinstance(choices, list) and choices:
        schema['enum'] = choices
    for bound in ('minimum', 'maximum'):
        if isinstance(extra.get(bound), (int, float)) and not isinstance(extra[bound], bool):
            schema[bound] = extra[bound]
    if 'array' in types:  # OpenAI's servers reject a list without items
        schema['items'] = _nested(extra.get('items'), depth)
    properties, required = extra.get('properties'), extra.get('required')
    if 'object' in types and isinstance(properties, Mapping) and depth < MAX_DEPTH:
        schema['properties'] = {name: _nested(value, depth) for name, value in properties.items()}
        if isinstance(required, list):
            schema['required'] = [name for name in required if name in properties]
    return schema


def _nested(schema: Any, depth: int) -> dict[str, Any]:
    is_known = isinstance(schema, Mapping) and depth < MAX_DEPTH
    return parameter_schema(schema_parameter('', schema), False, depth + 1) if is_known else {}
