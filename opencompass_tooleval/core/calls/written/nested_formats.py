"""Calls with nested elements as arguments: MiniMax M3.

A mark precedes each tag. The tag of an argument is its name; the items of a list are ``item`` elements. Values have no
types of their own: the offered schema decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.calls.tool_calls import ToolCall, make_call
from opencompass_tooleval.core.calls.written.scanning import Schemas, broken_call, find_first, read_blocks, skip_mark
from opencompass_tooleval.core.calls.written.xml_formats import ITEM, allowed_types, child_schema, typed_value
from opencompass_tooleval.core.text.bounds import MAX_DEPTH

MARK = ']<]minimax[>['
_BEGIN, _END = f'{MARK}<invoke name="', f'{MARK}</invoke>'
_AROUND = (f'{MARK}<tool_call>', f'{MARK}</tool_call>')
_TAG = re.compile(re.escape(MARK) + r'\s{0,20}<(/?)([^<>="]{1,256})>')  # does not match the beginning of a call


@dataclass
class _Element:
    """An open element, with the schema of its value and the elements in it."""

    name: str
    schema: Any
    children: list[tuple[str, Any]] = field(default_factory=list)

    def value(self, text: str, whole: Mapping[str, Any]) -> Any:
        """Returns the value; ``text`` is the content of an element without children."""
        types = allowed_types(self.schema, whole)
        if not self.children and not text.strip() and types & {'array', 'object'} and 'string' not in types:
            return [] if 'array' in types else {}
        if not self.children:
            return typed_value(text, types)
        is_list = all(name == ITEM for name, _ in self.children) and ('array' in types or 'object' not in types)
        return [value for _, value in self.children] if is_list else dict(self.children)


def read_minimax_m3(text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
    """Reads ``<invoke name="NAME"><key>value</key></invoke>`` with a mark before each tag."""
    return read_blocks(text, schemas, _BEGIN, _block, _AROUND)


def _block(text: str, position: int, schemas: Schemas) -> tuple[list[ToolCall], int]:
    stop = find_first(text, position, ('">', MARK))
    name = text[position:stop].strip()
    begin = position = skip_mark(text, stop, '">')
    schema = schemas.get(name, {})
    opened = [_Element('', schema)]
    while (start := text.find(MARK, position)) >= 0 and (tag := _TAG.match(text, start)):
        if not tag[1]:
            opened.append(_Element(tag[2], child_schema(opened[-1].schema, schema, tag[2])))
        elif len(opened) == 1 and tag[2] == 'invoke':
            return [make_call(name, dict(opened[0].children))], tag.end()
        elif tag[2] != opened[-1].name or len(opened) > MAX_DEPTH:
            break
        else:
            closed = opened.pop()
            opened[-1].children.append((tag[2], closed.value(text[position:start], schema)))
        position = tag.end()
    stop = find_first(text, begin, (_END, _BEGIN))
    return [broken_call(text[begin:stop], name)], skip_mark(text, stop, _END)
