"""Reads OpenAPI 3 documents in JSON (RestBench's TMDB and Spotify) or YAML: one tool per operation.

A tool is named after its path, as in the published instructions (``/movie/{movie_id}/keywords``), or after method and
path if the path has several methods. Its function is ``GET /movie/{movie_id}/keywords``; an ``operationId`` is its name
in programs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.calls.tool_calls import MAX_NAME_CHARS
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.instruction import ABSENT, Parameter
from opencompass_tooleval.tool_docs.schema import Resolver, plain_schema, schema_parameter, schema_parameters
from opencompass_tooleval.tool_docs.tool_doc import HTTP_METHODS, FunctionDoc, ToolDoc
from opencompass_tooleval.tool_docs.yaml_text import load_yaml
from opencompass_tooleval.work_dir.data_files import read_json, read_text

_PLACEHOLDER = re.compile(r'\{([^{}]+)\}')


def _parameter(raw: Mapping[str, Any]) -> Parameter:
    location = {'in': raw.get('in', 'query')}
    parameter = schema_parameter(
        raw['name'], plain_schema(raw.get('schema')), str(raw.get('description') or ''), **location
    )
    examples = raw.get('examples')
    first = next(iter(examples.values()), None) if isinstance(examples, dict) else None
    given = {**(first if isinstance(first, dict) else {}), **({'value': raw['example']} if 'example' in raw else {})}
    return replace(parameter, default=given['value']) if parameter.default is ABSENT and 'value' in given else parameter


def _merge(shared: Any, of_operation: Any) -> list[dict[str, Any]]:
    """Merges the parameters of a path with those of an operation, which has priority for the same name and place."""
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for group in (shared or [], of_operation or []):
        if not isinstance(group, list):
            raise ValueError("'parameters' is not a list")
        for raw in group:
            if not isinstance(raw, dict) or not isinstance(raw.get('name'), str):
                raise ValueError("a parameter is not an object with a 'name'")
            merged[raw['name'], str(raw.get('in'))] = raw
    return list(merged.values())


def _body(operation: Mapping[str, Any]) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    body = operation.get('requestBody')
    content = body.get('content') if isinstance(body, dict) else None
    media = next(iter(content.values()), None) if isinstance(content, dict) else None
    return schema_parameters(plain_schema(media.get('schema')) if isinstance(media, dict) else None, **{'in': 'body'})


def _parameters(
    path: str, raw: list[dict[str, Any]], operation: Mapping[str, Any]
) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    required: dict[str, Parameter] = {}
    optional: dict[str, Parameter] = {}
    for item in raw:
        # Spotify's document writes booleans as texts.
        group = required if item.get('required') in (True, 'true') or item.get('in') == 'path' else optional
        group.setdefault(item['name'], _parameter(item))
    for name in _PLACEHOLDER.findall(path):  # a path needs its parameters even if they are undocumented
        required.setdefault(name, Parameter(name, extra={'in': 'path'}))
    for group, parameters in zip((required, optional), _body(operation), strict=True):
        for parameter in parameters:  # Spotify accepts `ids` in the query or the body: the query counts
            if parameter.name not in required and parameter.name not in optional:
                group[parameter.name] = parameter
    return tuple(required.values()), tuple(p for name, p in optional.items() if name not in required)


def _doc(document: Mapping[str, Any], path: str, method: str, item: Mapping[str, Any], alone: bool) -> ToolDoc:
    resolver = Resolver(document)
    operation = item[method]
    if not isinstance(operation, dict):
        raise ValueError('the operation is not an object')
    needed = {key: resolver.resolve(operation[key]) for key in ('parameters', 'requestBody') if key in operation}
    operation = {**operation, **needed}  # references in responses are not resolved
    shared = resolver.resolve(item.get('parameters', []))
    parameters = _merge(shared, operation.get('parameters'))
    required, optional = _parameters(path, parameters, operation)
    usage = f'{method.upper()} {path}'
    called = operation.get('operationId')
    name = called.strip()[:MAX_NAME_CHARS] if isinstance(called, str) else ''
    description = str(operation.get('description') or operation.get('summary') or '').strip()
    raw = {path: {**({'parameters': shared} if shared else {}), method: operation}}
    return ToolDoc(
        path if alone else usage, description, (FunctionDoc(usage, description, required, optional, raw, name),), raw
    )


def _load(path: Path) -> Any:
    text = read_text(path)
    if text.lstrip('\ufeff \t\r\n').startswith(('{', '[')):
        return read_json(path)
    try:
        return load_yaml(text)
    except ValueError as error:
        raise DataError(path, f'the file is neither JSON nor YAML ({error})') from error


def read(path: Path) -> list[ToolDoc]:
    """Reads a document.

    Raises:
        DataError: The file is not an OpenAPI 3 document in JSON or YAML, or a parameter or reference of an operation
            cannot be parsed.
    """
    document = _load(path)
    if not isinstance(document, dict) or not str(document.get('openapi', '')).startswith('3'):
        raise DataError(path, "the file is not an OpenAPI 3 document (no 'openapi': '3...')")
    items = document.get('paths')
    docs = []
    for url, item in items.items() if isinstance(items, dict) else ():
        methods = [method for method in item if method in HTTP_METHODS] if isinstance(item, dict) else []
        for method in methods:
            try:
                docs.append(_doc(document, url, method, item, len(methods) == 1))
            except ValueError as error:
                raise DataError(path, str(error), f'{method.upper()} {url}') from error
    return docs
