"""Calls written as JSON objects: Hermes, Llama 3, Granite, Phi-4, Nemotron, Jamba, Command, Apertus, and others."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from opencompass_tooleval.core.calls.tool_calls import MAX_CALLS, ToolCall, make_call
from opencompass_tooleval.core.calls.written.pythonic_formats import read_method_calls
from opencompass_tooleval.core.calls.written.scanning import (
    Reader,
    Schemas,
    broken_call,
    call_of,
    decode_json,
    find_first,
    name_in_json,
    read_blocks,
    skip_blanks,
    skip_mark,
)

_PYTHON_TAG = '<|python_tag|>'


ReadCall = Callable[[Any], ToolCall | None]
"""Converts a JSON value to a call; returns None if it is not a call."""


def json_between(begin: str, end: str = '', is_opened: bool = False, call: ReadCall = call_of) -> Reader:
    """Returns a reader of objects, or lists of objects, between two marks. The last block may be unclosed.

    Args:
        begin: Mark before a block.
        end: Mark after a block; '' if there is none.
        is_opened: True if the last character of ``begin`` belongs to the JSON.
        call: Converts an object to a call.
    """
    block = partial(_block, begin=begin, end=end, overlap=int(is_opened), call=call)
    return partial(read_blocks, begin=begin, block=block)


def call_by_key(value: Any) -> ToolCall | None:
    """Returns the call in an object with one member, ``{NAME: ARGUMENTS}``; None for other values."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    ((name, arguments),) = value.items()
    return make_call(name, arguments) if isinstance(arguments, (dict, type(None))) else None


def _block(
    text: str, position: int, schemas: Schemas, begin: str, end: str, overlap: int, call: ReadCall
) -> tuple[list[ToolCall], int]:
    calls: list[ToolCall] = []
    position = skip_blanks(text, position - overlap)
    while decoded := decode_json(text, position):
        value, after = decoded  # decoded first, since an argument may contain the end mark
        items = value[:MAX_CALLS] if isinstance(value, list) else [value]
        read = [call(item) for item in items]
        if not any(read):
            break
        written = (broken_call(json.dumps(item, ensure_ascii=False)) for item in items)
        calls += [right or broken for right, broken in zip(read, written, strict=True)]
        after = skip_blanks(text, after)
        following = skip_blanks(text, after + text.startswith((',', ';'), after))
        if not text.startswith('{', following) or len(calls) >= MAX_CALLS:
            return calls, skip_mark(text, after, end)
        position = following  # another object in the same block is another call
    stop = find_first(text, position, [mark for mark in (end, begin) if mark])
    return [*calls, broken_call(text[position:stop])], skip_mark(text, stop, end)


def read_llama3_json(text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
    """Reads ``{"name": ..., "parameters": {...}}``, separated by ``;``, after ``<|python_tag|>`` or alone.

    A built-in tool is called as a method, ``<|python_tag|>brave_search.call(query="...")``. If a call is required,
    servers make a model write a list of objects.
    """
    content, tag, written = text.partition(_PYTHON_TAG)
    if tag and not text.startswith(('{', '['), skip_blanks(text, 0)):
        return _read_objects(content, tag, written)
    rest, calls = _read_objects('', '', text)  # an argument may contain the tag
    return _read_objects(content, tag, written) if tag and not calls else (rest, calls)


def _read_objects(content: str, tag: str, written: str) -> tuple[str, list[ToolCall]]:
    """Reads calls after ``tag``; ``content`` is the text before the tag."""
    calls: list[ToolCall] = []
    position = skip_blanks(written, 0)
    if tag and (methods := read_method_calls(written, position)):
        return content, methods
    if not tag and written.startswith('[', position):
        return _read_list(written, position)
    if not tag and not written.startswith('{', position):
        return written, []
    while position < len(written) and len(calls) < MAX_CALLS:
        decoded = decode_json(written, position)
        call = call_of(decoded[0], needs_arguments=True) if decoded else None
        if decoded is None or call is None:
            # '{"answer": 3}' is an answer, '{"name": "f", "parameters": {"a' a truncated call.
            begins = name_in_json(written[position + 1 :][:300]) if decoded is None else None
            is_call = tag or calls or (begins and not written[position + 1 :][: begins.start()].strip())
            return (content, [*calls, broken_call(written[position:])]) if is_call else (written, [])
        calls.append(call)
        position = skip_blanks(written, decoded[1])
        while written.startswith((';', ',', _PYTHON_TAG), position):
            position = skip_blanks(written, position + (1 if written[position] in ';,' else len(_PYTHON_TAG)))
        if not written.startswith('{', position):  # text after the calls
            return content + written[position:], calls
    return content, calls


def _read_list(text: str, position: int) -> tuple[str, list[ToolCall]]:
    """Reads a list of calls. Any other list is an answer."""
    decoded = decode_json(text, position)
    items = decoded[0][:MAX_CALLS] if decoded else []
    calls = [call_of(item, needs_arguments=True) for item in items]
    read = [call for call in calls if call]
    return (text[decoded[1] :], read) if decoded and read and len(read) == len(calls) else (text, [])
