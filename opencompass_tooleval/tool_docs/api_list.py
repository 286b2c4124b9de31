"""Finds the API descriptions in T-Eval's system prompts, and replaces them.

Their layout is a list of pairs ``[['name', {...}], ...]`` (plans), a list of objects, a single object (instruct), or
one object per line, in Python or JSON notation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.text.jsonable import MAX_CHARS
from opencompass_tooleval.core.text.reading import parse_literal

MAX_TRIES = 10
"""Maximum number of opening brackets to try per prompt."""

MAX_UNCLOSED = 3
"""Maximum number of unclosed brackets among them: each costs a scan to the end of the text."""

# An unclosed string extends to the end of the text; otherwise each of its quotes would be tried again.
_TOKEN = re.compile(r"""[\[\]{}]|'(?:[^'\\]|\\.?)*(?:'|$)|"(?:[^"\\]|\\.?)*(?:"|$)""", re.DOTALL)
_OPENING = re.compile(r'[\[{]')
_BLANK = re.compile(r'\s*')


@dataclass(frozen=True)
class ApiSpan:
    """The API descriptions of a prompt.

    Attributes:
        start: Index of the first character in the text.
        end: Index after the last character.
        apis: The descriptions, in order: ``name``, ``description``, ``required_parameters``, ...
        layout: ``pairs``, ``list``, ``object`` or ``lines``.
    """

    start: int
    end: int
    apis: tuple[Mapping[str, Any], ...]
    layout: str


def _end(text: str, start: int) -> int:
    """Returns the index after the bracket that closes the one at ``start``, ignoring strings; -1 if no bracket does."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += {'[': 1, '{': 1, ']': -1, '}': -1}.get(token[0], 0)
        if not depth:
            return token.end()
    return -1


def _is_api(value: Any) -> bool:
    """Tests if a value is an API description; the example in plan prompts (``id``, ``name``, ``args``) is not one."""
    return (
        isinstance(value, dict)
        and isinstance(value.get('name'), str)
        and isinstance(value.get('description'), str)
        and isinstance(value.get('required_parameters', []), list)
        and isinstance(value.get('optional_parameters', []), list)
    )


def _read(value: Any) -> tuple[tuple[Mapping[str, Any], ...], str]:
    """Returns the descriptions in a value and their layout; both empty if it has another form."""
    if _is_api(value):
        return (value,), 'object'
    if isinstance(value, list) and value:
        if all(_is_api(item) for item in value):
            return tuple(value), 'list'
        if all(isinstance(item, (list, tuple)) and len(item) == 2 and _is_api(item[1]) for item in value):
            return tuple(item[1] for item in value), 'pairs'
    return (), ''


def find_api_list(text: str) -> ApiSpan | None:
    """Finds the API descriptions in a system prompt, with their position.

    Evaluates nothing; tries at most ``MAX_CHARS`` characters and ``MAX_TRIES`` opening brackets.

    Returns:
        The first descriptions in the text; None without descriptions, as in ``review``.
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
    """Adds the objects that follow, separated only by whitespace."""
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


def write_api_list(text: str, span: ApiSpan, apis: Sequence[Mapping[str, Any]]) -> str:
    """Returns a system prompt with its API descriptions replaced, in the same layout and notation.

    Args:
        text: The prompt.
        span: The position of its API descriptions, from :func:`find_api_list`.
        apis: The descriptions to write.
    """
    quotes = [mark for mark in text[span.start : span.end] if mark in '\'"']

    def write(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False) if quotes[:1] == ['"'] else repr(value)

    if span.layout == 'pairs':
        written = write([[api['name'], api] for api in apis])
    elif span.layout == 'list':
        written = write(list(apis))
    else:
        written = '\n'.join(map(write, apis))
    return text[: span.start] + written + text[span.end :]
