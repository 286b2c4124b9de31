"""The oracle model's answer as a simulator: an example built from the documented response of an API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_MAX_DEPTH = 5
_MAX_FIELDS = 50
_OF_TYPE: dict[str, Any] = {'integer': 1, 'number': 1.5, 'boolean': True, 'array': [], 'object': {}}


def example_response(document: Any) -> str:
    """Builds a response in the format of ToolBench's server, ``{"error": "", "response": ...}``.

    Args:
        document: Documentation of an API, as JSON values: UltraTool's ``results`` (a schema), T-Eval's ``return_data``
            (names) or ToolBench's ``template_response`` (an example of types); without these the response is empty.
    """
    return json.dumps({'error': '', 'response': _example(document if isinstance(document, Mapping) else {})})


def _example(document: Mapping[str, Any]) -> Any:
    returned = document.get('return_data')
    if isinstance(returned, list):
        names = [item.get('name') for item in returned[:_MAX_FIELDS] if isinstance(item, Mapping)]
        return {str(name): f'example of {name}' for name in names}
    if 'template_response' in document:
        return document['template_response']
    return _of_schema(document.get('results'), _MAX_DEPTH)


def _of_schema(schema: Any, depth: int) -> Any:
    if not isinstance(schema, Mapping) or not depth:
        return {}
    properties = schema.get('properties')
    if isinstance(properties, Mapping):
        return {
            name: _of_schema(property_schema, depth - 1)
            for name, property_schema in list(properties.items())[:_MAX_FIELDS]
        }
    kind = schema.get('type')
    return _OF_TYPE.get(kind, 'example') if isinstance(kind, str) else 'example'
