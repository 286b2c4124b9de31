"""Reads the ``api_list`` of ToolBench's test files, or of the document of one tool (Table 7)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.instruction import Parameter
from opencompass_tooleval.tool_docs.instruction_formats import read_parameter
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc
from opencompass_tooleval.work_dir.data_files import read_json

logger = logging.getLogger(__name__)

_OF_TOOL = ('category_name', 'tool_name')


def _name(parameter: Parameter) -> str:
    return parameter.name


def _parameters(raw: Mapping[str, Any], key: str) -> tuple[Parameter, ...]:
    value = raw.get(key) or []
    if not isinstance(value, list):
        raise ValueError(f'{key!r} is not a list')
    first: dict[str, Parameter] = {}
    for parameter in map(read_parameter, value):
        first.setdefault(parameter.name, parameter)
    return tuple(first.values())


def _function(raw: Mapping[str, Any]) -> FunctionDoc:
    name = raw.get('api_name', raw.get('name'))
    if not isinstance(name, str):
        raise ValueError("an API needs an 'api_name'")
    description = str(raw.get('api_description', raw.get('description')) or '')
    required = _parameters(raw, 'required_parameters')
    taken = {parameter.name for parameter in required}
    optional = tuple(p for p in _parameters(raw, 'optional_parameters') if p.name not in taken)
    return FunctionDoc(name, description, required, optional, {k: v for k, v in raw.items() if k not in _OF_TOOL})


class _Tool:
    """A tool assembled from the rows in which it occurs."""

    def __init__(self, head: Mapping[str, Any]) -> None:
        self.head = dict(head)
        self.functions: dict[str, FunctionDoc] = {}

    def add(self, function: FunctionDoc) -> bool:
        """Adds a new function; returns False if the tool has a function with this name and other parameters."""
        earlier = self.functions.setdefault(function.name, function)
        return all(
            sorted(first, key=_name) == sorted(second, key=_name)
            for first, second in ((earlier.required, function.required), (earlier.optional, function.optional))
        )

    def doc(self) -> ToolDoc:
        functions = tuple(self.functions.values())
        raw = {**self.head, 'api_list': [function.raw for function in functions]}
        return ToolDoc(self.head['tool_name'], str(self.head.get('tool_description') or ''), functions, raw)


def read(path: Path) -> list[ToolDoc]:
    """Reads a test file (a list of samples), or one tool's document.

    Tools are identified by name, as in ``relevant APIs``. If two providers share a name (``Demo Project``, G1), the
    first description of an API counts.

    Raises:
        DataError: A sample has no ``api_list``, or an API has no name or tool.
    """
    return read_samples(read_json(path), path)


def read_samples(value: Any, path: Path) -> list[ToolDoc]:
    """Parses the content of a file; see :func:`read`.

    Args:
        value: The samples, or one tool's document.
        path: The file, for messages.
    """
    tools: dict[str, _Tool] = {}
    for number, row in enumerate(value if isinstance(value, list) else [value]):
        apis = row.get('api_list') if isinstance(row, dict) else None
        if not isinstance(apis, list):
            raise DataError(path, "the record has no 'api_list'", str(number))
        whole = {k: v for k, v in row.items() if k != 'api_list'} if isinstance(row.get('tool_name'), str) else {}
        for api in apis:
            if not isinstance(api, dict):
                raise DataError(path, 'an API is not an object', str(number))
            head = whole or {key: api[key] for key in _OF_TOOL if key in api}
            if not isinstance(head.get('tool_name'), str):
                raise DataError(path, "an API needs a 'tool_name'", str(number))
            try:
                function = _function(api)
            except ValueError as error:
                raise DataError(
                    path, str(error), f'{head["tool_name"]}: {api.get("api_name", api.get("name"))}'
                ) from error
            if not tools.setdefault(head['tool_name'], _Tool(head)).add(function):
                logger.warning(
                    '%s: %s of %s is described in two ways; the first counts', path, function.name, head['tool_name']
                )
    return [tool.doc() for tool in tools.values()]
