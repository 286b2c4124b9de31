"""Calls with an element per argument: Qwen3-Coder, GLM 4.5 and later, MiniMax M2, DeepSeek V3.2, Seed-OSS.

Arguments have no type of their own: texts are written as they are, other values as JSON. The offered schema decides.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from opencompass_tooleval.core.calls.tool_calls import ToolCall, make_call
from opencompass_tooleval.core.calls.written.scanning import (
    Reader,
    Schemas,
    broken_call,
    decode_json,
    find_first,
    read_blocks,
    skip_blanks,
    skip_mark,
)
from opencompass_tooleval.core.text.reading import BUDGET, cost, parse_literal

_CONSTANTS = {'true': True, 'false': False, 'null': None, 'none': None}
_MAX_REFERENCES = 4
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
        padding: Around each value.
    """

    begin: str
    name_end: Sequence[str]
    argument: re.Pattern[str]
    value_end: str
    end: str
    around: Sequence[str] = ()
    padding: str = ''

    def reader(self) -> Reader:
        """Creates the reader of calls with these marks."""
        return partial(read_blocks, begin=self.begin, block=self._block, around=self.around)

    def _block(self, text: str, position: int, schemas: Schemas) -> tuple[list[ToolCall], int]:
        stop = find_first(text, position, (*self.name_end, self.end, self.begin))
        name = text[position:stop].strip()
        begin = skip_mark(text, stop, self.name_end[0])
        schema = schemas.get(name, {})
        properties = schema.get('properties')
        documented = properties if isinstance(properties, Mapping) else {}
        arguments: dict[str, Any] = {}
        budget = BUDGET
        position = begin
        while match := self.argument.match(text, position):
            is_text = match[2] == 'true' if match.re.groups > 1 and match[2] else None
            types: set[str] = {'string'} if is_text else set()
            if is_text is None:
                types = _allowed_types(documented.get(match[1]), schema)
            value, stop = self._value(text, match.end(), types)
            if not text.startswith(self.value_end, stop):
                break
            if isinstance(value, str) and 'string' not in types and value.strip().startswith(('{', '[')):
                budget -= cost(value)  # Seed-OSS writes objects as Python does
                literal = parse_literal(value.strip()) if budget >= 0 else None
                value = literal.value if literal and literal.ok else value
            arguments[match[1]] = value
            position = stop + len(self.value_end)
        after = skip_mark(text, position, self.end)
        if after == position:  # neither another argument nor the end: the call is cut, or something else
            stop = find_first(text, position, (self.end, self.begin))
            return [broken_call(text[begin:stop], name)], skip_mark(text, stop, self.end)
        return [make_call(name, arguments)], after

    def _value(self, text: str, position: int, types: Collection[str]) -> tuple[Any, int]:
        """Reads the value at a position as one of ``types``, any without some; returns the index after it too."""
        if types != {'string'} and (decoded := decode_json(text, skip_blanks(text, position))):
            stop = skip_blanks(text, decoded[1])  # a text within the JSON may have the mark after a value
            if text.startswith(self.value_end, stop) and ('string' not in types or _fits(decoded[0], types)):
                return decoded[0], stop
        stop = find_first(text, position, (self.value_end,))
        written = text[position:stop].removeprefix(self.padding).removesuffix(self.padding)
        constant = written.strip().lower()  # templates write constants as Python does
        if (
            types == {'string'}
            or constant not in _CONSTANTS
            or ('string' in types and not _fits(_CONSTANTS[constant], types))
        ):
            return written, stop
        return _CONSTANTS[constant], stop


def _fits(value: Any, types: Collection[str]) -> bool:
    """Tests if a JSON value that is no text has one of the types; a text is written without quotes."""
    return not isinstance(value, str) and _TYPE_NAMES[type(value)] in types


def _allowed_types(schema: Any, whole: Mapping[str, Any]) -> set[str]:
    """Returns the types that a schema allows, integers as ``number``; text if it has no known one.

    Args:
        schema: The argument's; None for an undocumented one.
        whole: The schema with its definitions.
    """
    types = {'number' if name == 'integer' else name for name in _type_names(schema, whole)}
    return types & set(_TYPE_NAMES.values()) or {'string'}


def _type_names(schema: Any, whole: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """Yields the names of types in a schema, in its alternatives, and where it refers to."""
    if not isinstance(schema, Mapping) or depth > _MAX_REFERENCES:
        return
    kind = schema.get('type')
    kinds = [name for name in (kind if isinstance(kind, list) else [kind]) if isinstance(name, str)]
    lists = (schema.get(key) for key in ('anyOf', 'oneOf', 'allOf', 'enum'))
    *alternatives, values = (value if isinstance(value, list) else [] for value in lists)
    yield from kinds or (_TYPE_NAMES[type(value)] for value in values if type(value) in _TYPE_NAMES)
    for part in chain(*alternatives):
        yield from _type_names(part, whole, depth + 1)
    reference = schema.get('$ref')
    if isinstance(reference, str) and reference.startswith('#/'):
        target: Any = whole
        for key in reference[2:].split('/'):
            target = target.get(key) if isinstance(target, Mapping) else None
        yield from _type_names(target, whole, depth + 1)
