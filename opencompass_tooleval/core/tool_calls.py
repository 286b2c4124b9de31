"""Calls of tools that a model makes natively, beside its text (function calling)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.json_object import load_json
from opencompass_tooleval.core.jsonable import clean_text, to_jsonable

MAX_CALLS = 128
"""So many calls of one answer are kept; OpenAI's servers make at most as many."""

MAX_NAME_CHARS = 256
"""So much of a name is kept; a server takes 64 characters."""

MAX_ARGUMENT_CHARS = 200_000
"""Longer arguments are not read: they stay text, cut here."""

WRITTEN = 'written'
"""Key of a call's arguments as the model wrote them."""


@dataclass(frozen=True)
class ToolCall:
    """One call.

    Attributes:
        name: The tool's name as the benchmark has it; of an unknown tool, as the model wrote it.
        arguments: A JSON value, mostly an object; the text itself where what the model wrote is no JSON.
        id: The server's name for the call, which the message with the tool's result refers to; '' if it has none.
        written: The arguments as the model wrote them; None where that is not known. Two calls are equal without it.
    """

    name: str
    arguments: Any
    id: str = ''
    written: str | None = field(default=None, compare=False)

    @property
    def arguments_text(self) -> str:
        """The arguments as the model wrote them; where that is not known, as indented JSON."""
        return written_arguments(self.arguments) if self.written is None else self.written

    def to_payload(self) -> dict[str, Any]:
        """The call as JSON values, as a row of predictions has it."""
        payload = {'name': self.name, 'arguments': to_jsonable(self.arguments)}
        return {**payload, 'id': self.id} if self.id else payload


def make_call(name: Any, arguments: Any, call_id: Any = '') -> ToolCall:
    """A call from what a server or a parser found, whatever it is.

    Args:
        name: What is no text is no name: ''.
        arguments: JSON text, as servers have it, or a value; nothing at all is no argument. Text is also kept as it is
            written.
        call_id: As the server says it.
    """
    written = None
    if isinstance(arguments, str):
        written = clean_text(arguments[:MAX_ARGUMENT_CHARS])
        arguments = _read_arguments(arguments)
    return ToolCall(
        name[:MAX_NAME_CHARS] if isinstance(name, str) else '',
        {} if arguments is None else to_jsonable(arguments),
        call_id[:MAX_NAME_CHARS] if isinstance(call_id, str) else '',
        written,
    )


def written_arguments(arguments: Any) -> str:
    """Arguments as text: indented JSON; text stays as it is."""
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
    """The calls of a row of predictions: the inverse of :meth:`ToolCall.to_payload` for each.

    Raises:
        ValueError: It is no list of calls.
    """
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError("'calls' is no list")
    if not all(isinstance(item, Mapping) and isinstance(item.get('name'), str) for item in value):
        raise ValueError("a call in 'calls' has no 'name'")
    if not all(isinstance(item.get(WRITTEN), (str, type(None))) for item in value):
        raise ValueError(f"{WRITTEN!r} of a call in 'calls' is no text")
    return tuple(
        ToolCall(item['name'], item.get('arguments'), str(item.get('id') or ''), item.get(WRITTEN))
        for item in value[:MAX_CALLS]
    )


def calls_payload(calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
    """Calls as JSON values."""
    return [call.to_payload() for call in calls]


def written_payload(calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
    """The same, with the arguments as the model wrote them where the values do not tell."""
    return [
        call.to_payload()
        if call.written in (None, written_arguments(call.arguments))
        else {**call.to_payload(), WRITTEN: call.written}
        for call in calls
    ]


def calls_text(calls: Iterable[ToolCall]) -> str:
    """Calls as JSON text, a sorted object each; '' for none: how they are read where no tool was offered."""
    named = [{'name': call.name, 'arguments': call.arguments} for call in calls]
    return json.dumps(named, ensure_ascii=False, sort_keys=True) if named else ''


def write_answer(content: str, calls: Iterable[ToolCall] = ()) -> str:
    """An answer with calls as one text: what a data set's column says a perfect model would answer."""
    return json.dumps({'content': content, 'calls': calls_payload(calls)})


def read_answer(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """The inverse of :func:`write_answer`."""
    answer = load_json(text)
    return answer['content'], read_calls(answer['calls'])
