"""OpenAI's Responses API, which its models since gpt-5.4 need for tools with thoughts.

The items of an answer go back unchanged and in order, encrypted thoughts included; nothing is kept on the server.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from opencompass_tooleval.core.calls.answer import CUT
from opencompass_tooleval.core.calls.messages import TOOL, Message
from opencompass_tooleval.core.calls.sent import ITEMS, items_of
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.models.api.endings import FILTERED, end_of, error_in
from opencompass_tooleval.models.api.failure import Failure, failure_of_error
from opencompass_tooleval.models.api.reply import Reply, StreamReader, mapping, usage_of
from opencompass_tooleval.models.api.wires.wire import Choice, Wire, reasons_of_withheld, split_system

if TYPE_CHECKING:
    from opencompass_tooleval.models.conversation import Conversation

_ENDS = {'max_output_tokens': CUT, 'content_filter': FILTERED}
"""Reason of an incomplete answer -> its end."""
_CALL, _OUTPUT = 'function_call', 'function_call_output'
_OF_MESSAGES = ('text', 'thinking', 'redacted_thinking', 'tool_use')


def _encode(conversation: Conversation, without: Collection[str]) -> str:
    system, messages = split_system(conversation.messages(), 'developer')
    items = [item for message in messages for item in _items(conversation, message, without)]
    return json.dumps({**({'instructions': system} if system else {}), 'input': items})[1:-1]


def _items(conversation: Conversation, message: Message, without: Collection[str]) -> Iterator[dict[str, Any]]:
    if message.role == TOOL:
        yield {'type': _OUTPUT, 'call_id': message.call_id, 'output': message.content}
    elif message.role != 'assistant':
        yield {'role': message.role, 'content': message.content}
    elif items := items_of(message.sent, _OF_MESSAGES, without):
        yield from items
    else:
        if message.content:
            yield {'type': 'message', 'role': 'assistant', 'content': message.content}
        for call in message.calls:  # without the id of an item, which only the server can make
            yield {'type': _CALL, 'call_id': call.id, **conversation.requested_call(call)}


def _offer(tools: ToolSet, choice: Choice) -> dict[str, Any]:
    parallel = {} if choice.parallel is None else {'parallel_tool_calls': choice.parallel}
    # A strict schema requires every property, which those of the benchmarks do not; servers differ on what null means.
    offered = [{'type': 'function', **tool['function'], 'strict': bool(choice.strict)} for tool in tools.as_request()]
    return {'tools': offered, 'tool_choice': choice.tools, **parallel}


def _read(value: Any) -> Reply:
    if error := error_in(value):
        failure = failure_of_error(error, json.dumps(value, ensure_ascii=False))
        failure.usage = usage_of(mapping(value).get('usage'))
        raise failure
    items = mapping(value).get('output')
    if not isinstance(items, list):
        raise ValueError('no output')
    items = [_without_nulls(item) for item in items if isinstance(item, Mapping)]  # which requests must not contain
    return Reply(_message(items), _end(value, items), value.get('usage'), value, withheld=reasons_of_withheld(value))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nulls(part) for part in value]
    if not isinstance(value, Mapping):
        return value
    return {name: _without_nulls(part) for name, part in value.items() if part is not None}


def _message(items: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the items as a message of a chat completion, with the items in a separate member."""
    parts = [mapping(part) for item in items if item.get('type') == 'message' for part in _listed(item.get('content'))]
    thoughts = [
        str(mapping(part).get('text') or '')
        for item in items
        if item.get('type') == 'reasoning'
        for part in _listed(item.get('content')) or _listed(item.get('summary'))
    ]
    is_hidden = not ''.join(thoughts) and any(item.get('encrypted_content') for item in items)
    calls = [
        {'id': item.get('call_id'), 'function': {'name': item.get('name'), 'arguments': item.get('arguments')}}
        for item in items
        if item.get('type') == _CALL
    ]
    return {
        'content': ''.join(str(part.get('text') or '') for part in parts) if parts else None,
        'refusal': ''.join(str(part.get('refusal') or '') for part in parts) or None,
        'reasoning_details': [{'text': '\n'.join(thoughts)}] if thoughts or is_hidden else None,
        'tool_calls': calls or None,
        ITEMS: items,
    }


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _end(value: Mapping[str, Any], items: list[dict[str, Any]]) -> str | None:
    status, reason = value.get('status'), mapping(value.get('incomplete_details')).get('reason')
    if status == 'incomplete' and isinstance(reason, str):
        return _ENDS.get(reason) or end_of(reason)
    has_calls = any(item.get('type') == _CALL for item in items)
    return 'tool_calls' if status == 'completed' and has_calls else end_of(status) or 'in_progress'


class _Reader(StreamReader):
    """Reads a stream, whose last event repeats the whole answer."""

    def __init__(self) -> None:
        super().__init__()
        self._items: list[Any] = []
        self._whole: Any = None

    def _add(self, event: Any) -> None:
        if not isinstance(event, Mapping):
            raise ValueError('no object')
        kind = event.get('type')
        if kind == 'error' or (error_in(event) and not str(kind).startswith('response.')):
            error = error_in(event) or error_in({'error': {**event, 'type': 'server_error'}})
            assert error, 'an event of this kind has a message or a code'
            raise failure_of_error(error, json.dumps(event, ensure_ascii=False))
        if kind == 'response.output_item.done':
            self._items.append(event.get('item'))
        elif kind in ('response.completed', 'response.incomplete', 'response.failed'):
            self._whole, self._is_whole = event.get('response'), True

    def reply(self) -> Reply:
        self.feed(b'\n')
        if self._whole is None:
            raise self._broken_off(bool(self._items), 'response.completed')
        try:
            reply = _read({**mapping(self._whole), 'output': mapping(self._whole).get('output') or self._items})
        except (ValueError, RecursionError) as error:
            raise Failure('infra:bad_response', str(error)) from None
        return self._streamed(reply)


RESPONSES = Wire(
    '/responses',
    'input',
    ('max_output_tokens',),
    _encode,
    _offer,
    _read,
    _Reader,
    members={'store': False, 'include': ['reasoning.encrypted_content']},
    streamed={'stream': True},
)
