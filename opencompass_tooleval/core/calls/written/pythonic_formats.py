"""Calls written as Python: Llama 4 and ToolACE, OLMo 3, LFM2, Gemma's ``tool_code``, Llama's built-in tools."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from opencompass_tooleval.core.calls.tool_calls import MAX_CALLS, ToolCall, make_call
from opencompass_tooleval.core.calls.written.scanning import (
    Reader,
    Schemas,
    broken_call,
    call_of,
    decode_json,
    find_first,
    read_blocks,
    skip_blanks,
    skip_mark,
)
from opencompass_tooleval.core.text.reading import BUDGET, cost, parse_literal

_PYTHON_START, _PYTHON_END = '<|python_start|>', '<|python_end|>'
_FUNCTION = re.compile(r'\s{0,100}([^\W\d][\w.-]{0,255})\(')
_ARGUMENT = re.compile(r'\s{0,100}([^\W\d]\w{0,255})\s{0,20}=(?!=)')
_METHOD = '.call'


def pythonic_between(begin: str, end: str) -> Reader:
    """Returns a reader of blocks between two marks: calls in a list or one per line, or a list of JSON objects."""
    return partial(read_blocks, begin=begin, block=partial(_block, begin=begin, end=end))


def _block(text: str, position: int, schemas: Schemas, begin: str, end: str) -> tuple[list[ToolCall], int]:
    start = skip_blanks(text, position)
    decoded = decode_json(text, start)
    if decoded and isinstance(decoded[0], list) and decoded[0]:
        items = decoded[0][:MAX_CALLS]
        calls = [call_of(item) or broken_call(json.dumps(item, ensure_ascii=False)) for item in items]
        return calls, skip_mark(text, decoded[1], end)
    calls, position = _calls_at(text, start + text.startswith('[', start))
    position = skip_mark(text, position, ']')
    if calls and (after := skip_mark(text, position, end)) > position:
        return calls, after
    stop = find_first(text, position, (end, begin))
    unread = text[position:stop]
    return [*calls, broken_call(unread)] if unread.strip() or not calls else calls, skip_mark(text, stop, end)


def read_pythonic(text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
    """Reads ``[f(a=1, b='x'), g()]``, optionally between ``<|python_start|>`` and ``<|python_end|>``."""
    content, tag, written = text.partition(_PYTHON_START)
    if not tag or _begins_list(content):  # an argument may contain the mark
        content, written = '', text
    if not (begin := _begins_list(written)):
        return text, []
    calls, position = _calls_at(written, begin)
    position = skip_mark(written, position, ']')
    return content + written[skip_mark(written, position, _PYTHON_END) :], calls


def _begins_list(text: str) -> int:
    """Returns the index of the first call in a list; 0 if the text does not begin with a list of calls."""
    position = skip_blanks(text, 0)
    return position + 1 if text.startswith('[', position) and _FUNCTION.match(text, position + 1) else 0


def read_method_calls(text: str, position: int) -> list[ToolCall]:
    """Reads Llama's calls of built-in tools, ``brave_search.call(query="...")``; returns ``[]`` for other texts."""
    calls, _ = _calls_at(text, position)
    is_method = bool(calls) and all(call.name.endswith(_METHOD) for call in calls)
    return [ToolCall(call.name.removesuffix(_METHOD), call.arguments) for call in calls] if is_method else []


def _calls_at(text: str, position: int) -> tuple[list[ToolCall], int]:
    """Reads calls separated by commas or newlines; returns them and the index after them."""
    calls: list[ToolCall] = []
    budget = BUDGET
    while len(calls) < MAX_CALLS and (function := _FUNCTION.match(text, position)):
        parts, position = _arguments(text, function.end())
        budget -= sum(map(cost, parts))
        arguments = _keywords(parts) if budget >= 0 else None
        raw = text[function.end() : position].removesuffix(')')
        calls.append(broken_call(raw, function[1]) if arguments is None else make_call(function[1], arguments))
        after = skip_blanks(text, position)
        if text.startswith((',', ';'), after):
            position = after + 1
        elif '\n' not in text[position:after]:
            break
    return calls, position


def _arguments(text: str, position: int) -> tuple[list[str], int]:
    """Returns the texts of a call's arguments, and the index after the call. An unclosed call ends with ``(``."""
    parts: list[str] = []
    begin, depth, quote = position, 0, ''
    while position < len(text):
        character = text[position]
        if quote:
            position += character == '\\'
            quote = '' if character == quote else quote
        elif character in '"\'':
            quote = character
        elif character in '([{':
            depth += 1
        elif character in ')]}':
            if not depth:
                return [*parts, text[begin:position]], position + 1
            depth -= 1
        elif character == ',' and not depth:
            parts.append(text[begin:position])
            begin = position + 1
        position += 1
    return [*parts, '('], len(text)


def _keywords(parts: Sequence[str]) -> dict[str, Any] | None:
    """Returns keyword arguments with literal values; None if an argument is something else."""
    arguments: dict[str, Any] = {}
    for part in parts if ''.join(parts).strip() else []:
        name = _ARGUMENT.match(part)
        if not name or name[1] in arguments:
            return None
        written = part[name.end() :].strip()
        value = parse_literal(written)
        if not value.ok:  # templates do not escape newlines in texts
            value = parse_literal(written.replace('\n', '\\n'))
        if not value.ok:
            return None
        arguments[name[1]] = value.value
    return arguments
