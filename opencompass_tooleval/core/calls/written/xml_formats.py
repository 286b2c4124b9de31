"""Calls with an element per argument: Qwen3-Coder, GLM, Hunyuan, MiniMax, DeepSeek V3.2 and later, Kimi K3, and others.

Values have no types of their own: texts are written as they are, other values as JSON. The offered schema decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any
from xml.sax.saxutils import unescape

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
ITEM = 'item'
_CDATA, _CDATA_END, _EMPTY = '<![CDATA[', ']]>', '"/>'
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
    """The marks of a format.

    Attributes:
        begin: Before the name.
        name_end: Marks that may follow the name. Only the first is skipped; another one begins an argument.
        argument: Pattern from the end of an argument to the value of the next one. Group 1 is the name; group 2, if it
            exists, is ``true`` or ``string`` for a text, and another word for JSON.
        value_end: After a value.
        end: After the call.
        around: Around all calls.
        padding: Around each value.
        name_of: Returns the name of the tool in the text before ``name_end``.
        key_of: Decodes the name of an argument.
        is_xml: True if values may have entities and CDATA sections.
    """

    begin: str
    name_end: Sequence[str]
    argument: re.Pattern[str]
    value_end: str
    end: str
    around: Sequence[str] = ()
    padding: str = ''
    name_of: Callable[[str], str] = str.strip
    key_of: Callable[[str], str] = str
    is_xml: bool = False

    def reader(self) -> Reader:
        """Returns a reader of calls with these marks."""
        return partial(read_blocks, begin=self.begin, block=self._block, around=self.around)

    def _block(self, text: str, position: int, schemas: Schemas) -> tuple[list[ToolCall], int]:
        stop = find_first(text, position, (*self.name_end, self.end, self.begin))
        name = self.name_of(text[position:stop])
        if _EMPTY in self.name_end and text.startswith(_EMPTY, stop):
            return [make_call(name, {})], stop + len(_EMPTY)
        begin = skip_mark(text, stop, self.name_end[0])
        schema = schemas.get(name, {})
        properties = schema.get('properties')
        documented = properties if isinstance(properties, Mapping) else {}
        arguments: dict[str, Any] = {}
        budget = BUDGET
        position = begin
        while match := self.argument.match(text, position):
            key, kind = self.key_of(match[1]), match[2] if match.re.groups > 1 else None
            types: set[str] = {'string'} if kind in ('true', 'string') else set()
            if not kind:
                types = allowed_types(documented.get(key), schema)
            value, stop = self._value(text, match.end(), types)
            if not text.startswith(self.value_end, stop):
                break
            if isinstance(value, str) and 'string' not in types and value.strip().startswith(('{', '[')):
                budget -= cost(value)  # Seed-OSS writes objects as Python does
                literal = parse_literal(value.strip()) if budget >= 0 else None
                value = literal.value if literal and literal.ok else value
            arguments[key] = value
            position = stop + len(self.value_end)
        if not arguments and _EMPTY in self.name_end:  # DeepSeek V3.2 and later: one object
            body = decode_json(text, skip_blanks(text, position))
            arguments, position = body if body and isinstance(body[0], dict) else (arguments, position)
        after = skip_mark(text, position, self.end)
        if after == position:  # the call is cut or malformed
            stop = find_first(text, position, (self.end, self.begin))
            return [broken_call(text[begin:stop], name)], skip_mark(text, stop, self.end)
        return [make_call(name, arguments)], after

    def _value(self, text: str, position: int, types: Collection[str]) -> tuple[Any, int]:
        """Returns the value at a position, as one of ``types`` (any if empty), and the index after it."""
        if self.is_xml:
            written, stop = _xml_text(text, position, re.compile(f'{re.escape(_CDATA)}|{re.escape(self.value_end)}'))
            return typed_value(written, types), stop
        if types != {'string'} and (decoded := decode_json(text, skip_blanks(text, position))):
            stop = skip_blanks(text, decoded[1])  # a text within the JSON may contain value_end
            if text.startswith(self.value_end, stop) and ('string' not in types or _fits(decoded[0], types)):
                return decoded[0], stop
        stop = find_first(text, position, (self.value_end,))
        return _constant(text[position:stop].removeprefix(self.padding).removesuffix(self.padding), types), stop


def typed_value(written: str, types: Collection[str]) -> Any:
    """Converts a text to a value of one of ``types`` (any if empty); returns the text if it is not such a value."""
    decoded = decode_json(written, skip_blanks(written, 0)) if types != {'string'} else None
    if decoded and not written[decoded[1] :].strip() and ('string' not in types or _fits(decoded[0], types)):
        return decoded[0]
    return _constant(written, types)


def _constant(written: str, types: Collection[str]) -> Any:
    """Converts a constant of JSON or Python if a type allows it; returns other texts unchanged."""
    name = written.strip().lower()  # templates write constants as Python does
    if types == {'string'} or name not in _CONSTANTS or ('string' in types and not _fits(_CONSTANTS[name], types)):
        return written
    return _CONSTANTS[name]


def _xml_text(text: str, position: int, marks: re.Pattern[str]) -> tuple[str, int]:
    """Decodes XML up to ``value_end``; returns the text and the index of ``value_end``."""
    parts: list[str] = []
    while mark := marks.search(text, position):
        parts.append(unescape_xml(text[position : mark.start()]))
        if mark[0] != _CDATA:
            return ''.join(parts), mark.start()
        stop = find_first(text, mark.end(), (_CDATA_END,))
        parts.append(text[mark.end() : stop])
        position = stop + len(_CDATA_END)
    return ''.join([*parts, unescape_xml(text[position:])]), len(text)


def unescape_xml(text: str) -> str:
    """Replaces the five entities of XML."""
    return unescape(text, {'&quot;': '"', '&apos;': "'"})


def _fits(value: Any, types: Collection[str]) -> bool:
    """Tests if a JSON value has one of the types; False for a string, since texts are written without quotes."""
    return not isinstance(value, str) and _TYPE_NAMES[type(value)] in types


def allowed_types(schema: Any, whole: Mapping[str, Any]) -> set[str]:
    """Returns the types that a schema allows, with integers as ``number``; ``string`` if it has no known type.

    Args:
        schema: The argument's schema; None for an undocumented argument.
        whole: The whole schema, with its definitions.
    """
    names: set[str] = set()
    for part in _parts(schema, whole):
        kind, values = part.get('type'), part.get('enum')
        kinds = [name for name in (kind if isinstance(kind, list) else [kind]) if isinstance(name, str)]
        listed = values if isinstance(values, list) else []
        names.update(kinds or (_TYPE_NAMES[type(value)] for value in listed if type(value) in _TYPE_NAMES))
    return {'number' if name == 'integer' else name for name in names} & {*_TYPE_NAMES.values()} or {'string'}


def child_schema(schema: Any, whole: Mapping[str, Any], key: str) -> Any:
    """Returns the schema of an object's member, or of the items of a list (``item``); None if unknown."""
    for part in _parts(schema, whole):
        properties = part.get('properties')
        if isinstance(properties, Mapping) and key in properties:
            return properties[key]
        others = 'items' if key == ITEM else 'additionalProperties'
        if isinstance(part.get(others), Mapping):
            return part[others]
    return None


def _parts(schema: Any, whole: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yields a schema, its alternatives, and the schema that it refers to."""
    if not isinstance(schema, Mapping) or depth > _MAX_REFERENCES:
        return
    yield schema
    lists = (schema.get(key) for key in ('anyOf', 'oneOf', 'allOf'))
    for part in chain(*(value for value in lists if isinstance(value, list))):
        yield from _parts(part, whole, depth + 1)
    reference = schema.get('$ref')
    if isinstance(reference, str) and reference.startswith('#/'):
        target: Any = whole
        for key in reference[2:].split('/'):
            target = target.get(key) if isinstance(target, Mapping) else None
        yield from _parts(target, whole, depth + 1)
