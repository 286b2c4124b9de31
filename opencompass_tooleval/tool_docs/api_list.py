"""The API descriptions inside T-Eval's system prompts.

They come as one list of pairs ``[['name', {...}], ...]`` (plans), a list of objects, a single object (instruct), or
objects one per line; as Python or as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.bounds import MAX_CHARS
from opencompass_tooleval.core.reading import parse_literal

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
