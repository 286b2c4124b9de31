"""T-Eval: the API descriptions inside the system prompts. Each API is a tool of one function.

They come as one list of pairs ``[['name', {...}], ...]`` (plans), a list of objects, a single object (instruct), or
objects one per line; as Python or as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.bounds import MAX_CHARS
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.reading import parse_literal
from opencompass_tooleval.easytool.files import read_json
from opencompass_tooleval.easytool.shapes import read_parameter
from opencompass_tooleval.easytool.sources.reading import unite, unite_files
from opencompass_tooleval.easytool.tool_doc import FunctionDoc, ToolDoc

MAX_TRIES = 10
"""Opening brackets of a prompt that are tried."""

MAX_UNCLOSED = 3
"""Of these, how many may have nothing that closes them: each costs a walk to the end of the text."""

# A string that nothing closes goes to the end of the text: otherwise each of its quotes would be tried again.
_TOKEN = re.compile(r"""[\[\]{}]|'(?:[^'\\]|\\.?)*(?:'|$)|"(?:[^"\\]|\\.?)*(?:"|$)""", re.DOTALL)
_OPENING = re.compile(r'[\[{]')
_BLANK = re.compile(r'\s*')


@dataclass(frozen=True)
class ApiSpan:
    """The API descriptions of a prompt.

    Attributes:
        start: Index of their first character in the text.
        end: Index behind their last one.
        apis: The descriptions, in order: ``name``, ``description``, ``required_parameters``, ...
        layout: ``pairs``, ``list``, ``object`` or ``lines``.
    """

    start: int
    end: int
    apis: tuple[Mapping[str, Any], ...]
    layout: str


def _end(text: str, start: int) -> int:
    """Index behind the bracket that closes the one at ``start``, brackets in strings aside; -1 if none does."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += {'[': 1, '{': 1, ']': -1, '}': -1}.get(token[0], 0)
        if not depth:
            return token.end()
    return -1


def _is_api(value: Any) -> bool:
    """Whether it is a description: the plan's own example (``id``, ``name``, ``args``) is none."""
    return (
        isinstance(value, dict)
        and isinstance(value.get('name'), str)
        and isinstance(value.get('description'), str)
        and isinstance(value.get('required_parameters', []), list)
        and isinstance(value.get('optional_parameters', []), list)
    )


def _read(value: Any) -> tuple[tuple[Mapping[str, Any], ...], str]:
    """Descriptions and layout; nothing if the value has another form."""
    if _is_api(value):
        return (value,), 'object'
    if isinstance(value, list) and value:
        if all(_is_api(item) for item in value):
            return tuple(value), 'list'
        if all(isinstance(item, (list, tuple)) and len(item) == 2 and _is_api(item[1]) for item in value):
            return tuple(item[1] for item in value), 'pairs'
    return (), ''


def find_api_list(text: str) -> ApiSpan | None:
    """Finds the API descriptions in a system prompt, and where they are.

    Nothing is evaluated; at most ``MAX_CHARS`` characters and ``MAX_TRIES`` opening brackets are looked at.

    Returns:
        The first that the text has; None if it has none (``review`` has none).
    """
    if len(text) > MAX_CHARS:
        return None
    position = unclosed = 0
    for _ in range(MAX_TRIES):
        opening = _OPENING.search(text, position)
        if opening is None or unclosed == MAX_UNCLOSED:
            return None
        start = opening.start()
        end = _end(text, start)
        apis, layout = _read(parse_literal(text[start:end]).value) if end > 0 else ((), '')
        if apis:
            span = ApiSpan(start, end, apis, layout)
            return _with_next_lines(text, span) if layout == 'object' else span
        unclosed += end < 0
        position = end if end > 0 else start + 1
    return None


def _with_next_lines(text: str, span: ApiSpan) -> ApiSpan:
    """Adds the objects that follow with nothing but blanks between."""
    apis, end = list(span.apis), span.end
    while True:
        blank = _BLANK.match(text, end)
        start = blank.end() if blank else end
        stop = _end(text, start) if text.startswith('{', start) else -1
        following, layout = _read(parse_literal(text[start:stop]).value) if stop > 0 else ((), '')
        if layout != 'object':
            break
        apis += following
        end = stop
    return ApiSpan(span.start, end, tuple(apis), 'lines' if len(apis) > 1 else 'object')


def tool_doc(api: Mapping[str, Any]) -> ToolDoc:
    """The documentation of one API.

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
        if isinstance(messages, str):  # some files have the messages as JSON text
            messages = parse_literal(messages).value
        if not isinstance(messages, list):
            raise DataError(path, "field 'origin_prompt' is no list of messages", record_id)
        for message in messages:
            text = message.get('content') if isinstance(message, dict) and message.get('role') == 'system' else None
            span = find_api_list(text) if isinstance(text, str) else None
            try:
                yield from map(tool_doc, span.apis if span else ())
            except ValueError as error:
                raise DataError(path, str(error), record_id) from error


def read(path: Path) -> list[ToolDoc]:
    """Reads the APIs of all records, each once.

    Args:
        path: A data file, or the folder of a language (``teval/EN``).

    Raises:
        DataError: A file is no T-Eval data, or an API is described in two ways in one.
    """
    if path.is_dir():
        return unite_files(sorted(path.glob('*.json')), read)
    records = read_json(path)
    if not isinstance(records, dict):
        raise DataError(path, 'the file is no JSON object of id -> record')
    return unite(path, _tools(path, records))
