"""Reads the API descriptions in T-Eval's system prompts. Each API is a tool with one function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.reading import parse_literal
from opencompass_tooleval.tool_docs.api_list import find_api_list
from opencompass_tooleval.tool_docs.instruction_formats import read_parameter
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc, unite, unite_files
from opencompass_tooleval.work_dir.data_files import read_json


def tool_doc(api: Mapping[str, Any]) -> ToolDoc:
    """Converts the description of one API.

    Raises:
        ValueError: A parameter has no name.
    """
    required = tuple(map(read_parameter, api.get('required_parameters', [])))
    optional = tuple(map(read_parameter, api.get('optional_parameters', [])))
    name, description = api['name'], api['description']
    return ToolDoc(name, description, (FunctionDoc(name, description, required, optional, api),), api)


def _tools(path: Path, records: Mapping[str, Any]) -> Iterator[ToolDoc]:
    for record_id, record in records.items():
        messages = record.get('origin_prompt') if isinstance(record, dict) else None
        if isinstance(messages, str):  # some files store the messages as JSON text
            messages = parse_literal(messages).value
        if not isinstance(messages, list):
            raise DataError(path, "field 'origin_prompt' is not a list of messages", record_id)
        for message in messages:
            text = message.get('content') if isinstance(message, dict) and message.get('role') == 'system' else None
            span = find_api_list(text) if isinstance(text, str) else None
            try:
                yield from map(tool_doc, span.apis if span else ())
            except ValueError as error:
                raise DataError(path, str(error), record_id) from error


def _documented(path: Path, tools: Sequence[Any]) -> Iterator[ToolDoc]:
    for index, tool in enumerate(tools):
        try:
            yield from (tool_doc({**api, 'name': f'{tool["name"]}.{api["name"]}'}) for api in tool['api_list'])
        except (KeyError, TypeError, ValueError) as error:
            what = 'the file is not a JSON object (id -> record), and this is not a tool with APIs'
            raise DataError(path, f'{what} ({type(error).__name__}: {error})', str(index)) from error


def read(path: Path) -> list[ToolDoc]:
    """Reads the APIs of all records, each once.

    Args:
        path: A data file, the folder of a language (``teval/EN``), or the published documentation of all tools
            (``api_descrip.json``): a list of tools with ``name`` and ``api_list``.

    Raises:
        DataError: A file is not T-Eval data, or describes an API in two ways.
    """
    if path.is_dir():
        return unite_files(sorted(path.glob('*.json')), read)
    records = read_json(path)
    if isinstance(records, list):
        return unite(path, _documented(path, records))
    if not isinstance(records, dict):
        raise DataError(path, 'the file is neither a JSON object (id -> record) nor a list of tools')
    return unite(path, _tools(path, records))
