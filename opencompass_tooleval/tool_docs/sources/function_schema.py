"""Reads functions in OpenAI's format: ``{"type": "function", "function": {...}}`` or the inner object alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.schema import Resolver, schema_parameters
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc, unite, unite_files
from opencompass_tooleval.work_dir.data_files import read_json

_READ = ('properties', 'required')
"""Keys of a schema that are resolved; their references point to other keys, such as ``$defs``."""


def _doc(path: Path, number: int, raw: Any) -> ToolDoc:
    inner = raw.get('function', raw) if isinstance(raw, dict) else None
    if not isinstance(inner, dict) or not isinstance(inner.get('name'), str):
        raise DataError(path, "a function must be an object with a 'name'", str(number))
    schema = inner.get('parameters')
    if schema is not None and not isinstance(schema, dict):
        raise DataError(path, "the function's 'parameters' are not a JSON schema", inner['name'])
    given = schema or {}
    description = str(inner.get('description') or '')
    try:
        resolved = Resolver(given).resolve({key: given[key] for key in _READ if key in given})
    except ValueError as error:
        raise DataError(path, str(error), inner['name']) from error
    required, optional = schema_parameters(resolved)
    function = FunctionDoc(inner['name'], description, required, optional, inner)
    return ToolDoc(inner['name'], description, (function,), inner)


def read(path: Path) -> list[ToolDoc]:
    """Reads one function, a list or JSON lines of functions, or an object with ``tools`` or ``functions``.

    Each function is one tool. In a folder, all ``*.json`` and ``*.jsonl`` files directly in it are read.

    Raises:
        DataError: An entry is not a function, or a function is documented in two ways.
    """
    if path.is_dir():
        return unite_files(sorted(file for file in path.iterdir() if file.suffix in ('.json', '.jsonl')), read)
    value = read_json(path)
    if isinstance(value, dict):
        value = value.get('tools', value.get('functions', [value]))
    if not isinstance(value, list):
        raise DataError(path, 'the file is not a list of functions')
    return unite(path, (_doc(path, number, raw) for number, raw in enumerate(value)))
