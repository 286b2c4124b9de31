"""Native tool calls of a model (function calling)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import clean_text, to_jsonable

MAX_CALLS = 128
"""Maximum number of calls kept from one answer; OpenAI's servers make no more."""

MAX_NAME_CHARS = 256
"""Maximum number of characters kept from a name; servers allow 64."""

MAX_ID_CHARS = 200_000
"""A longer id is dropped, since a part of an id is useless. Some gateways put signatures into ids."""

MAX_ARGUMENT_CHARS = 200_000
"""Longer arguments are not parsed: they stay text, cut at this length."""

WRITTEN = 'written'
"""Key of a call's arguments in the model's own text."""


@dataclass(frozen=True)
class ToolCall:
    """A tool call.

    Attributes:
        name: The benchmark's name of the tool; for an unknown tool, the model's.
        arguments: A JSON value, usually an object; the text itself if it is not JSON.
        id: The server's id of the call, to which the message with the tool's result refers; '' without one.
        written: The arguments in the model's own text; None if unknown. Ignored when calls are compared.
    """

    name: str
    arguments: Any
    id: str = ''
    written: str | None = field(default=None, compare=False)

    @property
    def arguments_text(self) -> str:
        """The arguments in the model's own text, or as indented JSON if that is unknown."""
        return written_arguments(self.arguments) if self.written is None else self.written

    def to_payload(self) -> dict[str, Any]:
        """Converts the call to JSON values for a row of predictions."""
        payload = {'name': self.name, 'arguments': to_jsonable(self.arguments)}
        return {**payload, 'id': self.id} if self.id else payload


@dataclass(frozen=True)
class GoldCall:
    """A call that a perfect agent would make.

    Attributes:
        name: The tool.
        arguments: The arguments, as JSON values.
        open_arguments: Names of arguments whose values are unknown in advance, because an earlier call returns them.
            Any value is correct.
        repaired: The call in a form that the tool's documentation allows, if the gold call itself does not follow the
            documentation; else None.
    """

    name: str
    arguments: Any
    open_arguments: tuple[str, ...] = ()
    repaired: GoldCall | None = None


def parse_gold_call(raw: Mapping[str, Any]) -> GoldCall:
    """Converts the JSON values of a :class:`GoldCall`.

    Raises:
        ValueError: The name is not a string.
    """
    repaired = raw.get('repaired')
    if not isinstance(raw['name'], str):
        raise ValueError('the name of a gold call is not a string')
    return GoldCall(
        raw['name'],
        raw['arguments'],
        tuple(raw.get('open_arguments', ())),
        parse_gold_call(repaired) if repaired else None,
    )


def make_call(name: Any, arguments: Any, call_id: Any = '') -> ToolCall:
    """Returns a call made from any values of a server or a parser.

    Args:
        name: The name; a value that is not a string becomes ''.
        arguments: JSON text, as from servers, or a value; empty text means no arguments. The text itself is kept too.
        call_id: The server's id.
    """
    written = None
    if isinstance(arguments, str):
        written = clean_text(arguments[:MAX_ARGUMENT_CHARS])
        arguments = _read_arguments(arguments)
    return ToolCall(
        name[:MAX_NAME_CHARS] if isinstance(name, str) else '',
        {} if arguments is None else to_jsonable(arguments),
        call_id if isinstance(call_id, str) and len(call_id) <= MAX_ID_CHARS else '',
        written,
    )


def written_arguments(arguments: Any) -> str:
    """Formats arguments as indented JSON; text is returned unchanged."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, indent=2, ensure_ascii=False)


def _read_arguments(text: str) -> Any:
    if not text.strip():
        return None
    if len(text) > MAX_ARGUMENT_CHARS:
        return text[:MAX_ARGUMENT_CHARS]
    try:
        return load_json(text, bounded=True)
    except ValueError:
        return text


def read_calls(value: Any) -> tuple[ToolCall, ...]:
    """Reads the calls of a row of predictions, written by :meth:`ToolCall.to_payload`.

    Raises:
        ValueError: The value is not a list of calls.
    """
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError("'calls' is not a list")
    if not all(isinstance(item, Mapping) and isinstance(item.get('name'), str) for item in value):
        raise ValueError("a call in 'calls' has no 'name'")
    if not all(isinstance(item.get(WRITTEN), (str, type(None))) for item in value):
        raise ValueError(f"{WRITTEN!r} of a call in 'calls' is not a string")
    return tuple(
        ToolCall(item['name'], item.get('arguments'), str(item.get('id') or ''), item.get(WRITTEN))
        for item in value[:MAX_CALLS]
    )


def calls_payload(calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
    """Converts calls to JSON values."""
    return [call.to_payload() for call in calls]


def written_payload(calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
    """Converts calls to JSON values, with the model's own text of arguments if formatting would not restore it."""
    return [
        call.to_payload()
        if call.written in (None, written_arguments(call.arguments))
        else {**call.to_payload(), WRITTEN: call.written}
        for call in calls
    ]


def calls_text(calls: Iterable[ToolCall]) -> str:
    """Formats calls as a JSON list of sorted objects, for answers without offered tools; '' if there are none."""
    named = [{'name': call.name, 'arguments': call.arguments} for call in calls]
    return json.dumps(named, ensure_ascii=False, sort_keys=True) if named else ''


def write_answer(content: str, calls: Iterable[ToolCall] = ()) -> str:
    """Formats an answer with calls as one text, for the column with perfect answers."""
    return json.dumps({'content': content, 'calls': calls_payload(calls)})


def read_answer(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Reads the text of :func:`write_answer`."""
    answer = load_json(text)
    return answer['content'], read_calls(answer['calls'])
