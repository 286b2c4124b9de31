"""Converts JSON Schema to parameters, for OpenAPI, OpenAI's functions and UltraTool.

References in a document, ``{"$ref": "#/..."}``, are resolved first.
"""

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


_ALTERNATIVES = ('oneOf', 'anyOf')


def plain_schema(schema: Any, depth: int = 0) -> Any:
    """Converts OpenAPI's compositions to plain JSON Schema, as far as a parameter can express them; other values stay.

    ``nullable`` becomes a type with ``null``. ``allOf`` is merged. For ``oneOf`` and ``anyOf``, a value may have any of
    their types, and an object any of their properties; required are the properties that all alternatives require.

    Args:
        schema: A schema without references.
        depth: Number of schemas around it.
    """
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return schema
    plain = dict(schema)
    for key in ('items', 'additionalProperties'):
        if key in plain:
            plain[key] = plain_schema(plain[key], depth + 1)
    if isinstance(plain.get('properties'), Mapping):
        plain['properties'] = {name: plain_schema(value, depth + 1) for name, value in plain['properties'].items()}
    for part in _parts(plain.pop('allOf', None), depth):
        plain = _with_part(plain, part)
    for key in _ALTERNATIVES:
        alternatives = _parts(plain.get(key), depth)
        if alternatives:
            plain[key] = alternatives
            plain = _with_part(plain, _any_of(alternatives))
    if plain.pop('nullable', None) is True:
        plain |= {'type': list(dict.fromkeys([*_types(plain), 'null']))} if _types(plain) else {}
    return plain


def _parts(value: Any, depth: int) -> list[dict[str, Any]]:
    parts = value if isinstance(value, list) else []
    return [plain_schema(part, depth + 1) for part in parts if isinstance(part, Mapping)]


def _types(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get('type')
    return [str(one) for one in kind] if isinstance(kind, list) else [kind] if isinstance(kind, str) and kind else []


def _with_part(schema: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """Merges a part into a schema; the schema's own values come first and have priority."""
    merged = {**part, **schema}
    first, second = ([one.get(key) for key in ('properties', 'required')] for one in (schema, part))
    if isinstance(first[0], dict) and isinstance(second[0], dict):
        merged['properties'] = first[0] | {name: value for name, value in second[0].items() if name not in first[0]}
    if isinstance(first[1], list) and isinstance(second[1], list):
        merged['required'] = [*first[1], *second[1]]
    return merged


def _any_of(alternatives: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the combined types, properties and required names of several alternatives."""
    found: dict[str, Any] = {}
    types = [_types(one) for one in alternatives]
    if all(types):
        found['type'] = list(dict.fromkeys(name for names in types for name in names))
        found |= {'type': found['type'][0]} if len(found['type']) == 1 else {}
    properties: dict[str, Any] = {}
    for one in alternatives:
        of_one = one['properties'] if isinstance(one.get('properties'), dict) else {}
        properties |= {name: value for name, value in of_one.items() if name not in properties}
    if properties:
        found['properties'] = properties
        named = [one['required'] if isinstance(one.get('required'), list) else [] for one in alternatives]
        found['required'] = [name for name in named[0] if all(name in names for names in named)]
    return found


MAX_DEPTH = 50
"""Maximum nesting of references; a longer chain, or a cycle, is not resolved."""

MAX_NODES = 100_000
"""Maximum number of values after resolution, since a few nested references could otherwise fill the memory."""


class Resolver:
    """Replaces references by their targets.

    Args:
        document: The document with the targets.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.nodes = 0

    def _target(self, reference: str) -> Any:
        node: Any = self.document
        for part in reference.removeprefix('#/').split('/'):
            part = part.replace('~1', '/').replace('~0', '~')
            if not isinstance(node, dict) or part not in node:
                raise ValueError(f'the reference {reference} has no target')
            node = node[part]
        return node

    def resolve(self, value: Any, path: tuple[str, ...] = ()) -> Any:
        """Returns ``value`` without references, except cycles and references to other files.

        Args:
            value: A part of the document.
            path: The references that lead to it.

        Raises:
            ValueError: A reference has no target, or the resolved value has more than :data:`MAX_NODES` values.
        """
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise ValueError(f'its schema has more than {MAX_NODES:,} values after references are resolved')
        if isinstance(value, list):
            return [self.resolve(item, path) for item in value]
        if not isinstance(value, dict):
            return value
        reference = value.get('$ref')
        if not isinstance(reference, str) or not reference.startswith('#/'):
            return {key: self.resolve(item, path) for key, item in value.items()}
        if reference in path or len(path) >= MAX_DEPTH:
            return value
        return self.resolve(self._target(reference), (*path, reference))
