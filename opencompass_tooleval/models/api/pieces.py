"""Assembles an object from the chunks of a stream, with the names that the server used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opencompass_tooleval.core.text.json_object import load_json

_JOINED = frozenset({'content', 'refusal', 'reasoning', 'reasoning_content', 'reasoning_text', 'text', 'thinking'})
_JOINED |= {'summary', 'arguments', 'tool_plan'}
"""Members whose text arrives in chunks and is joined."""
_LAST_COUNTS = frozenset({'role', 'type', 'index', 'id', 'format', 'closed'})
"""Members of which the last text that is not empty counts."""
_MARKS = frozenset({'type', 'index', 'id', 'format', 'signature', 'closed'})
"""Members that identify or describe an item of a list."""
_OF_CALLS = frozenset({'id', 'name', 'arguments', 'type'})
"""Members that an empty text does not create: a later chunk with an empty one continues the call."""
_LAST = 17
"""A chunk continues one of the last 16 calls or parts, since servers send them one after the other."""
_SPLIT = {'name': 256, 'signature': 1 << 20}
"""Texts that arrive whole, whole in each chunk, or split -> their maximum number of characters."""
_MIXED = object()
"""Stands for different texts of an unknown member, which may be parts of a text or replace each other."""


class _Text(list[str]):
    """A text in chunks, and its number of characters."""

    size = 0

    def append(self, text: str) -> None:
        super().append(text)
        self.size += len(text)


class Pieces:
    """An object to which chunks are added; its texts are joined once, at the end.

    Attributes:
        members: Members so far. A value is a :class:`_Text`, a Pieces, a list of values or Pieces, or another value.
    """

    def __init__(self) -> None:
        self.members: dict[str, Any] = {}

    def add(self, piece: Mapping[str, Any]) -> None:
        """Adds a chunk, such as ``delta``. Ignores null members; an empty text only creates a missing member."""
        members = self.members
        for name, value in piece.items():
            if value is None or (value == '' and (name in members or name in _OF_CALLS)):
                continue
            known = members.get(name)
            if name in _JOINED and isinstance(value, str):
                if known is None:
                    members[name] = known = _Text()
                    known.append(value)
                elif isinstance(known, _Text):
                    known.append(value)
                elif isinstance(known, list):  # Mistral: thoughts in parts, then the answer as text
                    _add_part(known, {'type': 'text', 'text': value})
            elif isinstance(value, list):
                self._add_list(name, value)
            elif isinstance(value, Mapping) and name != 'arguments':  # arguments that are not a string are never split
                if not isinstance(known, Pieces):
                    members[name] = known = Pieces()
                known.add(value)
            elif name in _SPLIT and isinstance(known, str) and isinstance(value, str):
                if value != known:
                    members[name] = (known + value)[: _SPLIT[name]]
            elif isinstance(known, str) and known != value and name not in _LAST_COUNTS:
                members[name] = _MIXED
            elif known is not _MIXED:
                members[name] = value

    def _add_list(self, name: str, items: list[Any]) -> None:
        known = self.members.get(name)
        if known == items:
            return  # repeated whole in each chunk
        if isinstance(known, _Text):
            known = [_begun({'type': 'text', 'text': ''.join(known)})] if known.size else []
        self.members[name] = known = known if isinstance(known, list) else []
        for item in items:
            if not isinstance(item, Mapping):
                known.append(item)
            elif name == 'tool_calls':
                _add_call(known, item)
            else:
                _add_part(known, item)

    def whole(self) -> dict[str, Any]:
        """Returns the complete object; its calls have no index, as in a message that is not streamed."""
        whole = {name: _whole(value) for name, value in self.members.items() if value is not _MIXED}
        for call in calls if isinstance(calls := whole.get('tool_calls'), list) else ():
            if isinstance(call, dict):
                call.pop('index', None)
        return whole


def _whole(value: Any) -> Any:
    if isinstance(value, _Text):
        return ''.join(value)
    if isinstance(value, Pieces):
        return value.whole()
    return [_whole(item) for item in value] if isinstance(value, list) else value


def _begun(piece: Mapping[str, Any]) -> Pieces:
    begun = Pieces()
    begun.add(piece)
    return begun


def _add_part(parts: list[Any], piece: Mapping[str, Any]) -> None:
    """Adds a chunk to a list of parts: to the part with the same index, or without an index to the last part.

    Encrypted data and images are never split.
    """
    index = piece.get('index')
    for part in parts[: -_LAST if index is not None else -2 : -1] if piece.keys() <= _JOINED | _MARKS else ():
        if isinstance(part, Pieces) and part.members.keys() <= _JOINED | _MARKS:
            known = part.members
            is_other = any(piece.get(name) and known.get(name, piece[name]) != piece[name] for name in ('type', 'id'))
            is_signed = index is None and 'signature' in known and any(map(piece.get, _JOINED))
            if not is_other and not is_signed and known.get('index') == index:
                part.add(piece)
                return
    parts.append(_begun(piece))


def _add_call(calls: list[Any], piece: Mapping[str, Any]) -> None:
    """Adds a chunk to the call that it continues. Some servers send no index, or 0 for every call."""
    index, call_id, function = piece.get('index'), piece.get('id') or '', piece.get('function')
    name = function.get('name') if isinstance(function, Mapping) else ''
    for call in calls[:-_LAST:-1]:
        if isinstance(call, Pieces) and call.members.get('index') == index and call_id in ('', call.members.get('id')):
            known = call.members.get('function')
            known = known if isinstance(known, Pieces) else Pieces()
            is_repeated = index is not None and ('arguments' not in known.members or name == known.members.get('name'))
            if call_id and name and _is_whole(known, function):
                return
            if call_id or not name or is_repeated:
                call.add(piece)
                return
    calls.append(_begun(piece))


def _is_whole(known: Pieces, function: Any) -> bool:
    """Tests if a chunk repeats a complete call, as some gateways send it at the end."""
    text, again = known.members.get('arguments'), function.get('arguments') if isinstance(function, Mapping) else None
    if not isinstance(text, _Text) or not isinstance(again, str) or len(again) != text.size or again != ''.join(text):
        return False
    try:
        return isinstance(load_json(again), dict)
    except (ValueError, RecursionError):
        return False
