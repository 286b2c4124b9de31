"""Calls with an element per argument: Qwen3-Coder, GLM 4.5 and later, MiniMax M2, DeepSeek V3.2.

Arguments have no type of their own: texts are written as they are, other values as JSON. The offered schema decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from opencompass_tooleval.core.calls.tool_calls import ToolCall, make_call
from opencompass_tooleval.core.calls.written.scanning import (
    Reader,
    Schemas,
    broken_call,
    decode_json,
    find_first,
    read_blocks,
    skip_mark,
)

_CONSTANTS = {'true': True, 'false': False, 'null': None, 'none': None}
_TYPE_NAMES: Mapping[type, str] = {
    str: 'string',
    bool: 'boolean',
    int: 'number',
    float: 'number',
    list: 'array',
    dict: 'object',
    type(None): 'null',
}


@dataclass(frozen=True)
class Elements:
    """Marks of a format.

    Attributes:
        begin: Before the name.
        name_end: Marks after the name, the first of which counts; one that begins an argument is not skipped.
        argument: Pattern from the end of an argument to the next one's value: group 1 is the name; group 2, if there is
            one, is ``true`` for a text and ``false`` for JSON.
        value_end: After a value.
        end: After the call.
        around: Around all calls.
    """

    begin: str
    name_end: Sequence[str]
    argument: re.Pattern[str]
    value_end: str
    end: str
    around: Sequence[str] = ()

    def reader(self) -> Reader:
        """Creates the reader of calls with these marks."""
        return partial(read_blocks, begin=self.begin, block=self._block, around=self.around)

    def _block(self, text: str, position: int, schemas: Schemas) -> tuple[list[ToolCall], int]:
        stop = find_first(text, position, (*self.name_end, self.end, self.begin))
        name = text[position:stop].strip()
        begin = skip_mark(text, stop, self.name_end[0])
        properties = _properties(schemas.get(name, {}))
        arguments: dict[str, Any] = {}
        position = begin
        while match := self.argument.match(text, position):
            value_end = text.find(self.value_end, match.end())
            if value_end < 0:
                break
            is_text = match[2] == 'true' if match.re.groups > 1 and match[2] else None
            value = text[match.end() : value_end].removeprefix('\n').removesuffix('\n')
            arguments[match[1]] = _typed(value, properties.get(match[1]), is_text)
            position = value_end + len(self.value_end)
        after = skip_mark(text, position, self.end)
        if after == position:  # neither another argument nor the end: the call is cut, or something else
            stop = find_first(text, position, (self.end, self.begin))
            return [broken_call(text[begin:stop], name)], skip_mark(text, stop, self.end)
        return [make_call(name, arguments)], after


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get('properties')
    return properties if isinstance(properties, Mapping) else {}


def _typed(text: str, schema: Any, is_text: bool | None) -> Any:
    """Converts the text of an argument to a value of its type; text that is none stays.

    Args:
        text: The argument as written.
        schema: Its schema; None for an undocumented argument, which is text.
        is_text: True or False if the call says so.
    """
    types = _allowed_types(schema) if is_text is None else {'string'} if is_text else set()
    value = text if types == {'string'} else _value_of(text)
    return text if 'string' in types and _TYPE_NAMES[type(value)] not in types else value


def _value_of(text: str) -> Any:
    stripped = text.strip()
    if stripped.lower() in _CONSTANTS:  # templates write constants as Python does
        return _CONSTANTS[stripped.lower()]
    decoded = decode_json(stripped, 0)
    return decoded[0] if decoded and decoded[1] == len(stripped) else text


def _allowed_types(schema: Any) -> set[str]:
    """Returns the types that a schema allows, integers as ``number``; text without a known one."""
    if not isinstance(schema, Mapping):
        return {'string'}
    lists = (schema.get(key) for key in ('anyOf', 'oneOf', 'enum'))
    any_of, one_of, values = (value if isinstance(value, list) else [] for value in lists)
    named: list[Any] = []
    for part in (schema, *any_of, *one_of):
        kind = part.get('type') if isinstance(part, Mapping) else None
        named += kind if isinstance(kind, list) else [kind]
    types = {'number' if name == 'integer' else name for name in named if isinstance(name, str)}
    types &= set(_TYPE_NAMES.values())
    return types or {_TYPE_NAMES[type(value)] for value in values if type(value) in _TYPE_NAMES} or {'string'}
