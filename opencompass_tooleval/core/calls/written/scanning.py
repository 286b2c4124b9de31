"""Functions that several readers of written calls share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opencompass_tooleval.core.calls.tool_calls import (
    MAX_ARGUMENT_CHARS,
    MAX_CALLS,
    MAX_NAME_CHARS,
    ToolCall,
    make_call,
)
from opencompass_tooleval.core.text.jsonable import beyond_bounds, clean_text
from opencompass_tooleval.core.text.reading import READ_ERRORS

Schemas = Mapping[str, Mapping[str, Any]]
"""Name of an offered tool -> JSON Schema of its arguments."""
Reader = Callable[[str, Schemas], tuple[str, list[ToolCall]]]
"""Takes a text; returns the text without calls, and the calls."""
Block = Callable[[str, int, Schemas], tuple[list[ToolCall], int]]
"""Takes a text and the index after the mark that begins a block; returns the block's calls and the index after it."""

_NAME_IN_JSON = re.compile(r'"name"\s{0,20}:\s{0,20}"([^"\\]{1,256})"')
_SEARCHED = 2_000
"""Number of characters of a broken call that are searched for its name."""


def read_blocks(
    text: str, schemas: Schemas, begin: str, block: Block, around: Sequence[str] = ()
) -> tuple[str, list[ToolCall]]:
    """Parses all blocks that begin with a mark.

    Args:
        text: The answer.
        schemas: The offered tools.
        begin: The mark.
        block: Parses one block.
        around: Marks around all blocks, removed together with the blocks.

    Returns:
        The text without the blocks, and their calls.
    """
    kept: list[str] = []
    calls: list[ToolCall] = []
    position = 0
    while len(calls) < MAX_CALLS and (start := text.find(begin, position)) >= 0:
        kept.append(text[position:start])
        more, position = block(text, start + len(begin), schemas)
        calls += more
    rest = ''.join([*kept, text[position:]])
    for mark in around if calls else ():
        rest = rest.replace(mark, '')
    return rest, calls


def broken_call(text: str, name: str | None = None) -> ToolCall:
    """Returns an unreadable call, with its text as arguments. If ``name`` is None, it is searched for in the text."""
    if name is None:
        name = match[1] if (match := name_in_json(text)) else ''
    return ToolCall(name[:MAX_NAME_CHARS], clean_text(text.strip()[:MAX_ARGUMENT_CHARS]))


def name_in_json(text: str) -> re.Match[str] | None:
    """Finds the name in the beginning of a JSON object."""
    return _NAME_IN_JSON.search(text[:_SEARCHED])


def decode_json(text: str, position: int) -> tuple[Any, int] | None:
    """Returns the JSON value at a position, and the index after it; None if there is none, or it is too large."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, position)
    except READ_ERRORS:
        return None
    return None if beyond_bounds(value) else (value, end)


def skip_blanks(text: str, position: int) -> int:
    """Returns the index of the next character that is not blank."""
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def skip_mark(text: str, position: int, mark: str) -> int:
    """Returns the index after a mark and the blanks before it; ``position`` if the mark does not follow."""
    after = skip_blanks(text, position)
    return after + len(mark) if mark and text.startswith(mark, after) else position


def find_first(text: str, position: int, marks: Sequence[str]) -> int:
    """Returns the index of the first of several marks; the length of the text if there is none."""
    return min((found for mark in marks if (found := text.find(mark, position)) >= 0), default=len(text))


def call_of(
    value: Any,
    needs_arguments: bool = False,
    name: str = 'name',
    arguments: Sequence[str] = ('arguments', 'parameters'),
) -> ToolCall | None:
    """Returns the call in a JSON object; None if the object is not a call.

    Args:
        value: The object.
        needs_arguments: True if an object without arguments does not count as a call.
        name: Key of the name.
        arguments: Possible keys of the arguments.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get(name), str):
        return None
    found = [value[key] for key in arguments if key in value]
    return None if needs_arguments and not found else make_call(value[name], found[0] if found else None)
