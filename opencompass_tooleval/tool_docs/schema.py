"""Converts JSON Schema to parameters, for OpenAPI, OpenAI's functions and UltraTool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opencompass_tooleval.tool_docs.instruction import ABSENT, Parameter


def _type(schema: Mapping[str, Any]) -> str:
    kind = schema.get('type', '')
    return '|'.join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _sample(schema: Mapping[str, Any]) -> Any:
    """Returns the default of a schema, or else its example."""
    for key in ('default', 'example'):
        if key in schema:
            return schema[key]
    examples = schema.get('examples')
    return examples[0] if isinstance(examples, list) and examples else ABSENT


def schema_parameter(name: str, schema: Any, description: str = '', **extra: Any) -> Parameter:
    """Converts a property to a parameter; other keys of its schema (enum, format, items, ...) go to ``extra``."""
    schema = schema if isinstance(schema, Mapping) else {}
    read_keys = ('type', 'description', 'default', 'example', 'examples')
    text = description or schema.get('description') or ''
    rest = {key: value for key, value in schema.items() if key not in read_keys}
    return Parameter(name, _type(schema), str(text), _sample(schema), {**extra, **rest})


def schema_parameters(schema: Any, **extra: Any) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    """Converts the properties of an object's schema to required and optional parameters.

    A schema without ``required`` has no required parameters, as in JSON Schema; UltraTool's tools have no ``required``.
    """
    if not isinstance(schema, Mapping):
        return (), ()
    properties, required = schema.get('properties'), schema.get('required')
    names = required if isinstance(required, list) else []
    parameters = [
        (name, schema_parameter(name, value, **extra))
        for name, value in (properties.items() if isinstance(properties, Mapping) else ())
    ]
    return (
        tuple(parameter for name, parameter in parameters if name in names),
        tuple(parameter for name, parameter in parameters if name not in names),
    )
