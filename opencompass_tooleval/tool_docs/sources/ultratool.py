"""Reads the tools of an UltraTool file: the toolsets of a task, or ``tools`` in the annotated samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.schema import schema_parameters
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc, unite, unite_files
from opencompass_tooleval.work_dir.data_files import read_json


def tool_doc(raw: Mapping[str, Any]) -> ToolDoc:
    """Converts one tool of a toolset.

    Raises:
        ValueError: The tool has no name.
    """
    name = raw.get('name')
    if not isinstance(name, str):
        raise ValueError("a tool of the toolset needs a 'name'")
    description = str(raw.get('description') or '')
    required, optional = schema_parameters(raw.get('arguments'))
    return ToolDoc(name, description, (FunctionDoc(name, description, required, optional, raw),), raw)


def _tools(path: Path, rows: list[Any]) -> Iterator[ToolDoc]:
    for number, row in enumerate(rows):
        tools = row.get('toolset', row.get('tools', [])) if isinstance(row, dict) else None
        if not isinstance(tools, list):
            raise DataError(path, 'the toolset is not a list', str(number))
        for raw in tools:
            if not isinstance(raw, dict):
                raise DataError(path, 'a tool of the toolset is not an object', str(number))
            try:
                yield tool_doc(raw)
            except ValueError as error:
                raise DataError(path, str(error), str(number)) from error


def read(path: Path) -> list[ToolDoc]:
    """Reads the tools of all rows, each once.

    Args:
        path: A file, or the folder of a language (``Chinese-dataset``): its samples, tasks and one-shot examples,
            except those of tool creation, which has no prompts with instructions.

    Raises:
        DataError: A row has no list of tools, or one file describes a tool in two ways.
    """
    if path.is_dir():
        files = [path / 'test.json', *sorted(path.glob('test_set/*.json')), *sorted(path.glob('example/*.json'))]
        return unite_files([file for file in files if file.is_file() and file.stem != 'tool_creation'], read)
    value = read_json(path)
    return unite(path, _tools(path, value if isinstance(value, list) else [value]))
