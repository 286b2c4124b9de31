"""Parses calls that a chat model writes as text, in the formats of common chat templates, like a server's tool parser.

Sources: the tool-use guide of transformers, the templates of Hermes 2 Pro and Qwen2.5 (``hermes``), Llama 3.1 and 3.2
(``llama3_json``), Mistral's tokenizers v3 to v13 (``mistral``), Llama 4 and ToolACE (``pythonic``).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from opencompass_tooleval.core.calls.tool_calls import (
    MAX_ARGUMENT_CHARS,
    MAX_CALLS,
    MAX_NAME_CHARS,
    ToolCall,
    make_call,
)
from opencompass_tooleval.core.text.bounds import MAX_CHARS, beyond_bounds
from opencompass_tooleval.core.text.jsonable import clean_text
from opencompass_tooleval.core.text.reading import BUDGET, READ_ERRORS, cost, parse_literal

AUTO, NONE = 'auto', 'none'

_THOUGHTS_OPEN, _THOUGHTS_CLOSE = '<think>', '</think>'
_NAME_IN_JSON = re.compile(r'"name"\s{0,20}:\s{0,20}"([^"\\]{1,256})"')
_SEARCHED = 2_000
"""Number of characters of a broken call that are searched for its name."""

_HERMES, _HERMES_END = '<tool_call>', '</tool_call>'
_PYTHON_TAG, _LLAMA_HOW = '<|python_tag|>', '{"name": function name, "parameters"'
_MISTRAL, _MISTRAL_ARGUMENTS, _MISTRAL_ID = '[TOOL_CALLS]', '[ARGS]', '[CALL_ID]'
_PYTHON_START, _PYTHON_END = '<|python_start|>', '<|python_end|>'
_FUNCTION = re.compile(r'\s{0,100}([^\W\d][\w.-]{0,255})\(')
_ARGUMENT = re.compile(r'\s{0,100}([^\W\d]\w{0,255})\s{0,20}=(?!=)')

Parser = Callable[[str], tuple[str, list[ToolCall]]]


def read_written_calls(text: str, parser: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Extracts the calls from a model's answer.

    Calls within thoughts do not count. An unreadable call is kept, with its text as arguments. Each call has an id of
    nine letters and digits, derived from the answer: Mistral's templates accept no other.

    Args:
        text: The answer, with its special tokens.
        parser: A name of :data:`PARSERS`.

    Returns:
        The answer without its calls (with unchanged thoughts before it), and the calls in their order.
    """
    before, close, visible_text = text.rpartition(_THOUGHTS_CLOSE)
    if len(text) > MAX_CHARS or _THOUGHTS_OPEN in visible_text:
        return text, ()
    rest, calls = PARSERS[parser](visible_text)
    if not calls:
        return text, ()
    stem = hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=3).hexdigest()
    named = tuple(
        ToolCall(call.name, call.arguments, f'{stem}{number:03}') for number, call in enumerate(calls[:MAX_CALLS])
    )
    return f'{before}{close}{rest.strip()}', named


def choose_parser(template: str) -> str:
    """Returns the parser for the format in a chat template; :data:`NONE` if it is unknown.

    Args:
        template: The template's text.
    """
    if _MISTRAL in template:
        return 'mistral'
    if _HERMES in template:
        # Qwen3-Coder and GLM-4.5 write XML inside these tags.
        return NONE if '<function=' in template or '<arg_key>' in template else 'hermes'
    if _PYTHON_START in template or 'func_name1(' in template:
        return 'pythonic'
    return 'llama3_json' if _PYTHON_TAG in template or _LLAMA_HOW in template else NONE


def _broken(text: str, name: str | None = None) -> ToolCall:
    """Creates an unreadable call."""
    if name is None:
        match = _NAME_IN_JSON.search(text[:_SEARCHED])
        name = match[1] if match else ''
    return ToolCall(name[:MAX_NAME_CHARS], clean_text(text.strip()[:MAX_ARGUMENT_CHARS]))


def _decode(text: str, place: int) -> tuple[Any, int] | None:
    """Returns the JSON value at a place, and the index after it; None if there is none, or it exceeds the bounds."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, place)
    except READ_ERRORS:
        return None
    return None if beyond_bounds(value) else (value, end)


def _skip_blanks(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _call_of(value: Any, needs_arguments: bool = False) -> ToolCall | None:
    """Returns the call in a JSON object; None if it is none."""
    if not isinstance(value, Mapping) or not isinstance(value.get('name'), str):
        return None
    arguments = [value[key] for key in ('arguments', 'parameters') if key in value]
    return None if needs_arguments and not arguments else make_call(value['name'], arguments[0] if arguments else None)


def _hermes(text: str) -> tuple[str, list[ToolCall]]:
    """Parses ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``, repeated; the last may be unclosed."""
    kept: list[str] = []
    calls: list[ToolCall] = []
    place = 0
    while len(calls) < MAX_CALLS:
        start = text.find(_HERMES, place)
        if start < 0:
            break
        kept.append(text[place:start])
        begin = _skip_blanks(text, start + len(_HERMES))
        decoded = _decode(text, begin)
        call = _call_of(decoded[0]) if decoded else None
        if decoded and call:
            # From the end of the value on: '</tool_call>' may occur in an argument.
            place = _skip_blanks(text, decoded[1])
            place += len(_HERMES_END) if text.startswith(_HERMES_END, place) else 0
        else:
            ends = (text.find(mark, begin) for mark in (_HERMES_END, _HERMES))
            end = min((end for end in ends if end >= 0), default=len(text))
            call = _broken(text[begin:end])
            place = end + (len(_HERMES_END) if text.startswith(_HERMES_END, end) else 0)
        calls.append(call)
    return ''.join([*kept, text[place:]]), calls


def _llama3_json(text: str) -> tuple[str, list[ToolCall]]:
    """Parses ``{"name": ..., "parameters": {...}}``, several with ``;`` between, after ``<|python_tag|>`` or alone."""
    content, tag, written = text.partition(_PYTHON_TAG)
    if not tag:
        content, written = '', text
    calls: list[ToolCall] = []
    place = _skip_blanks(written, 0)
    if not tag and not written.startswith('{', place):
        return text, []
    while place < len(written) and len(calls) < MAX_CALLS:
        decoded = _decode(written, place)
        call = _call_of(decoded[0], needs_arguments=True) if decoded else None
        if decoded is None or call is None:
            # '{"answer": 3}' is an answer, '{"name": "f", "parameters": {"a' a truncated call.
            is_call = tag or calls or (decoded is None and _NAME_IN_JSON.match(written[place + 1 :].lstrip()[:300]))
            return (content, [*calls, _broken(written[place:])]) if is_call else (text, [])
        calls.append(call)
        place = _skip_blanks(written, decoded[1])
        while written.startswith((';', ',', _PYTHON_TAG), place):
            place = _skip_blanks(written, place + (1 if written[place] in ';,' else len(_PYTHON_TAG)))
        if not written.startswith('{', place):  # text of the model after its calls
            return content + written[place:], calls
    return content, calls


def _mistral(text: str) -> tuple[str, list[ToolCall]]:
    """Parses ``[TOOL_CALLS] [{...}, ...]``, or ``[TOOL_CALLS]name[ARGS]{...}`` for each call."""
    content, _, _ = text.partition(_MISTRAL)
    calls: list[ToolCall] = []
    place = end = len(content)
    while len(calls) < MAX_CALLS and text.startswith(_MISTRAL, place):
        begin = _skip_blanks(text, place + len(_MISTRAL))
        more, end = _mistral_array(text, begin) if text.startswith('[', begin) else _mistral_call(text, begin)
        calls += more
        place = _skip_blanks(text, end)
    return (content + text[end:], calls) if calls else (text, [])


def _until_next(text: str, place: int) -> int:
    end = text.find(_MISTRAL, place)
    return len(text) if end < 0 else end


def _mistral_array(text: str, place: int) -> tuple[list[ToolCall], int]:
    decoded = _decode(text, place)
    if decoded is None:
        end = _until_next(text, place)
        return [_broken(text[place:end])], end
    items = decoded[0][:MAX_CALLS]
    return [_call_of(item) or _broken(json.dumps(item, ensure_ascii=False)) for item in items], decoded[1]


def _mistral_call(text: str, place: int) -> tuple[list[ToolCall], int]:
    end = _until_next(text, place)
    marks = (text.find(mark, place, end) for mark in (_MISTRAL_ID, _MISTRAL_ARGUMENTS, '{'))
    stop = min((mark for mark in marks if mark >= 0), default=end)
    name = text[place:stop].strip()
    begin = text.find(_MISTRAL_ARGUMENTS, stop, end)
    begin = _skip_blanks(text, begin + len(_MISTRAL_ARGUMENTS)) if begin >= 0 else stop
    decoded = _decode(text, begin) if begin < end else None
    if decoded is None or not isinstance(decoded[0], Mapping):
        return [_broken(text[begin:end], name)], end
    return [make_call(name, decoded[0])], decoded[1]


def _pythonic(text: str) -> tuple[str, list[ToolCall]]:
    """Parses ``[f(a=1, b='x'), g()]``, perhaps between ``<|python_start|>`` and ``<|python_end|>``."""
    content, tag, written = text.partition(_PYTHON_START)
    if not tag:
        content, written = '', text
    written, _, behind = written.partition(_PYTHON_END)
    place = _skip_blanks(written, 0)
    if not written.startswith('[', place) or not _FUNCTION.match(written, place + 1):
        return text, []
    calls: list[ToolCall] = []
    place, budget = place + 1, BUDGET
    while len(calls) < MAX_CALLS:
        function = _FUNCTION.match(written, place)
        if not function:
            break
        parts, place = _arguments(written, function.end())
        budget -= sum(map(cost, parts))
        given = _keywords(parts) if budget >= 0 else None
        raw = written[function.end() : place].removesuffix(')')
        calls.append(_broken(raw, function[1]) if given is None else make_call(function[1], given))
        place = _skip_blanks(written, place)
        if not written.startswith(',', place):
            break
        place += 1
    place = _skip_blanks(written, place)
    return content + written[place + written.startswith(']', place) :] + behind, calls


def _arguments(text: str, place: int) -> tuple[list[str], int]:
    """Returns the arguments of a call after its bracket, and its end; the last of an unclosed call is ``(``."""
    parts: list[str] = []
    begin, depth, quote = place, 0, ''
    while place < len(text):
        character = text[place]
        if quote:
            place += character == '\\'
            quote = '' if character == quote else quote
        elif character in '"\'':
            quote = character
        elif character in '([{':
            depth += 1
        elif character in ')]}':
            if not depth:
                return [*parts, text[begin:place]], place + 1
            depth -= 1
        elif character == ',' and not depth:
            parts.append(text[begin:place])
            begin = place + 1
        place += 1
    return [*parts, '('], len(text)


def _keywords(parts: list[str]) -> dict[str, Any] | None:
    """Returns keyword arguments with literal values; None if one is something else."""
    given: dict[str, Any] = {}
    for part in parts if ''.join(parts).strip() else []:
        name = _ARGUMENT.match(part)
        if not name or name[1] in given:
            return None
        written = part[name.end() :].strip()
        read = parse_literal(written)
        if not read.ok:
            return None
        given[name[1]] = read.value
    return given


def _none(text: str) -> tuple[str, list[ToolCall]]:
    return text, []


PARSERS: Mapping[str, Parser] = {
    'hermes': _hermes,
    'llama3_json': _llama3_json,
    'mistral': _mistral,
    'pythonic': _pythonic,
    NONE: _none,
}
"""Name -> parser of calls in a text; the names are vLLM's and SGLang's."""
