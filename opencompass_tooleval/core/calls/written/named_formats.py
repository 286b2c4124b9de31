"""Calls written as a name, a mark and arguments: Mistral, DeepSeek, Kimi, Llama's ``<function=``, Gemma."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
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

MISTRAL = '[TOOL_CALLS]'
_MISTRAL_ARGUMENTS, _MISTRAL_ID = '[ARGS]', '[CALL_ID]'
_DEEPSEEK_BEGIN, _SEPARATOR, _DEEPSEEK_END = '<｜tool▁call▁begin｜>', '<｜tool▁sep｜>', '<｜tool▁call▁end｜>'
_FENCED = re.compile(r'\s{0,20}([^\s`]{1,256})\s{1,20}```(?:json)?\s{0,20}')
_KIMI_NAME = re.compile(r'\s{0,20}(?:functions\.)?(.{0,256}?)(?::\d{1,9})?\s{0,20}', re.DOTALL)
_BARE_KEY = re.compile(r'([{,]\s{0,20})([^\s{}\[\],:"][^{}\[\],:"]{0,255}?)(?=\s{0,20}:)')
_BARE_NONE = re.compile(r'(?<=[:\[,])None(?=[,\]}])')
_ANY_NAME = re.compile(r'\s{0,20}([^\s{]{0,256})\s{0,20}')


def name_then_json(
    begin: str, middle: str, end: str, around: Sequence[str] = (), name_of: Callable[[str], str] = str.strip
) -> Reader:
    """Returns a reader of calls with marks before the name, before the arguments, and after the arguments.

    Args:
        begin: Mark before the name.
        middle: Mark between name and arguments.
        end: Mark after the arguments.
        around: Marks around all calls.
        name_of: Returns the name in the text between the first two marks.
    """
    block = partial(_named_block, begin=begin, middle=middle, end=end, name_of=name_of)
    return partial(read_blocks, begin=begin, block=block, around=around)


def _named_block(
    text: str, position: int, schemas: Schemas, begin: str, middle: str, end: str, name_of: Callable[[str], str]
) -> tuple[list[ToolCall], int]:
    stop = find_first(text, position, (end, begin))
    head, found, _ = text[position:stop].partition(middle)
    return _arguments_at(text, position + len(head) + len(found), stop, name_of(head), end)


def _arguments_at(text: str, position: int, stop: int, name: str, end: str) -> tuple[list[ToolCall], int]:
    """Reads arguments in JSON at a position; an unreadable call ends at ``stop``."""
    position = skip_blanks(text, position)
    decoded = decode_json(text, position) if position < stop else None
    if decoded is None or not isinstance(decoded[0], dict):
        return [broken_call(text[position:stop], name)], skip_mark(text, stop, end)
    return [make_call(name, decoded[0])], skip_mark(text, decoded[1], end)


def kimi_name(head: str) -> str:
    """Returns the name in an id such as ``functions.get_weather:0``."""
    match = _KIMI_NAME.fullmatch(head)
    return match[1] if match else head.strip()


def read_deepseek(text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
    """Reads ``function<｜tool▁sep｜>NAME`` and fenced JSON (DeepSeek V3, R1), or ``NAME<｜tool▁sep｜>{}`` (V3.1)."""
    around = ('<｜tool▁calls▁begin｜>', '<｜tool▁calls▁end｜>')
    return read_blocks(text, schemas, _DEEPSEEK_BEGIN, _deepseek_block, around)


def _deepseek_block(text: str, position: int, schemas: Schemas) -> tuple[list[ToolCall], int]:
    stop = find_first(text, position, (_DEEPSEEK_END, _DEEPSEEK_BEGIN))
    head, separator, _ = text[position:stop].partition(_SEPARATOR)
    after = position + len(head) + len(separator)
    if not (fenced := _FENCED.match(text, after, stop)):
        return _arguments_at(text, after, stop, head.strip(), _DEEPSEEK_END)
    calls, after = _arguments_at(text, fenced.end(), stop, fenced[1], '```')
    return calls, skip_mark(text, after, _DEEPSEEK_END)


def read_mistral(text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
    """Reads ``[TOOL_CALLS] [{...}, ...]``, or ``[TOOL_CALLS]name[ARGS]{...}`` for each call."""
    return read_blocks(text, schemas, MISTRAL, _mistral_block)


def _mistral_block(text: str, position: int, schemas: Schemas) -> tuple[list[ToolCall], int]:
    position = skip_blanks(text, position)
    stop = find_first(text, position, (MISTRAL,))
    if text.startswith('[', position):
        decoded = decode_json(text, position)
        if decoded is None:
            return [broken_call(text[position:stop])], stop
        calls = [call_of(item) or broken_call(json.dumps(item, ensure_ascii=False)) for item in decoded[0][:MAX_CALLS]]
        return calls, _next_call(text, decoded[1])
    name_end = min(find_first(text, position, (_MISTRAL_ID, _MISTRAL_ARGUMENTS, '{')), stop)
    name = text[position:name_end].strip()
    marked = text.find(_MISTRAL_ARGUMENTS, name_end, stop)
    calls, after = _arguments_at(text, name_end if marked < 0 else marked + len(_MISTRAL_ARGUMENTS), stop, name, '')
    return calls, _next_call(text, after)


def _next_call(text: str, position: int) -> int:
    """Returns the index of the next call if only blanks are before it; else ``position``."""
    after = skip_blanks(text, position)
    return after if text.startswith(MISTRAL, after) else position


def bare_object(begin: str, end: str, quote: str) -> Reader:
    """Returns a reader of Gemma's ``call:NAME{key:<quote>text<quote>,other:3}``.

    Args:
        begin: Mark before the call, with ``call:``.
        end: Mark after the call.
        quote: Mark around texts.
    """
    marks = re.compile('|'.join(map(re.escape, (quote, end, begin))))
    return partial(read_blocks, begin=begin, block=partial(_bare_block, begin=begin, end=end, quote=quote, marks=marks))


def _bare_block(
    text: str, position: int, schemas: Schemas, begin: str, end: str, quote: str, marks: re.Pattern[str]
) -> tuple[list[ToolCall], int]:
    named = _ANY_NAME.match(text, position)
    name, position = (named[1], named.end()) if named else ('', position)
    parts: list[str] = []  # every second part is a quoted text
    start = position
    mark = marks.search(text, position)
    while mark and (mark[0] == quote or len(parts) % 2):  # an end mark within a quoted text belongs to it
        if mark[0] == quote:
            parts.append(text[start : mark.start()])
            start = mark.end()
        mark = marks.search(text, mark.end())
    stop = mark.start() if mark else find_first(text, start, (end, begin)) if len(parts) % 2 else len(text)
    value = _bare_value([*parts, text[start:stop]])
    call = make_call(name, value) if isinstance(value, dict) else broken_call(text[position:stop], name)
    return [call], skip_mark(text, stop, end)


def _bare_value(parts: Sequence[str]) -> Any:
    """Parses an object with unquoted keys; returns None if it is invalid.

    Args:
        parts: The object, split at the quotes.
    """
    if not len(parts) % 2:
        return None  # the last quote is not closed
    written = [
        json.dumps(part) if number % 2 else _BARE_KEY.sub(_quoted_key, _BARE_NONE.sub('null', part))
        for number, part in enumerate(parts)
    ]
    decoded = decode_json(''.join(written).strip(), 0)
    return decoded[0] if decoded else None


def _quoted_key(key: re.Match[str]) -> str:
    return key[1] + json.dumps(key[2])
