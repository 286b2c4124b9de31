"""Anthropic's Messages API: the blocks of an answer go back unchanged, and all results of its calls in one message."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from opencompass_tooleval.core.calls.messages import TOOL, Message, object_arguments
from opencompass_tooleval.core.calls.sent import ITEMS, items_of
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.scoring.usage import whole_number
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.models.api.endings import end_of, error_in
from opencompass_tooleval.models.api.failure import Failure, failure_of_error
from opencompass_tooleval.models.api.reply import Reply, StreamReader, mapping, usage_of
from opencompass_tooleval.models.api.wires.wire import CHANGES, Choice, Wire, reasons_of_withheld, split_system

if TYPE_CHECKING:
    from opencompass_tooleval.models.conversation import Conversation

VERSION = '2026-10-21'
_CHOICES = {'required': 'any'}
_REFUSED = ('oneOf', 'allOf', 'anyOf')
"""Members that the server refuses at the top of a schema."""
_MOST_BLOCKS = 1_024
_OF_RESPONSES = ('reasoning', 'message', 'function_call')
_THOUGHTS = ('thinking', 'redacted_thinking')


def _encode(conversation: Conversation, without: Collection[str]) -> str:
    system, messages = split_system(conversation.messages(), 'user')
    encoded = []
    for role, group in groupby(messages, lambda one: one.role):
        if role == TOOL:
            encoded.append({'role': 'user', 'content': [_result(message) for message in group]})
        else:
            encoded += [_encoded(conversation, message, without) for message in group]
    return json.dumps({**({'system': system} if system else {}), 'messages': encoded})[1:-1]


def _result(message: Message) -> dict[str, Any]:
    content = {'content': message.content} if message.content else {}  # empty texts are refused
    return {'type': 'tool_result', 'tool_use_id': message.call_id, **content}


def _encoded(conversation: Conversation, message: Message, without: Collection[str]) -> dict[str, Any]:
    if message.role != 'assistant' or not message.is_native:
        return {'role': message.role, 'content': message.content}
    if items := items_of(message.sent, _OF_RESPONSES, without):
        return {'role': 'assistant', 'content': items}
    blocks: list[dict[str, Any]] = [{'type': 'text', 'text': message.content}] if message.content.strip() else []
    for call in message.calls:
        name = conversation.requested_call(call)['name']
        blocks.append({'type': 'tool_use', 'id': call.id, 'name': name, 'input': object_arguments(call.arguments)})
    return {'role': 'assistant', 'content': blocks}


def _offer(tools: ToolSet, choice: Choice) -> dict[str, Any]:
    strict = {} if choice.strict is None else {'strict': choice.strict}
    offered = [
        {
            'name': function['name'],
            'description': function['description'],
            'input_schema': {name: part for name, part in function['parameters'].items() if name not in _REFUSED},
            **strict,
        }
        for function in (tool['function'] for tool in tools.as_request())
    ]
    chosen: dict[str, Any] = {'type': _CHOICES.get(choice.tools, choice.tools)}
    if choice.parallel is False and choice.tools != 'none':
        chosen['disable_parallel_tool_use'] = True
    return {'tools': offered, 'tool_choice': chosen}


def _read(value: Any) -> Reply:
    if error := error_in(value):
        failure = failure_of_error(error, json.dumps(value, ensure_ascii=False))
        failure.usage = usage_of(_usage(mapping(value).get('usage')))
        raise failure
    blocks = mapping(value).get('content')
    if not isinstance(blocks, list):
        raise ValueError('no content')
    return _reply(value, [block for block in blocks if isinstance(block, Mapping)], {})


def _reply(value: Mapping[str, Any], blocks: list[Mapping[str, Any]], texts: Mapping[int, str]) -> Reply:
    """Returns the reply as a chat completion, with the blocks in a separate member.

    Args:
        value: The message of the server.
        blocks: Its content.
        texts: Number of a block with a call -> text of its arguments, if they were streamed.
    """
    usage = _usage(value.get('usage'))
    if value.get('stop_reason') == 'refusal':
        category = mapping(value.get('stop_details')).get('category')
        words = f'the server refused the answer (refusal{f", {category}" if isinstance(category, str) else ""})'
        raise Failure('infra:filter', words[:200], again=False, usage=usage_of(usage))
    thoughts = [
        {'text': block.get('thinking') or ''}
        for block in blocks
        if block.get('type') in ('thinking', 'redacted_thinking')
    ]
    calls = [
        {
            'id': block.get('id'),
            'function': {'name': block.get('name'), 'arguments': texts.get(number, block.get('input'))},
        }
        for number, block in enumerate(blocks)
        if block.get('type') == 'tool_use'
    ]
    texts_of = [str(block.get('text') or '') for block in blocks if block.get('type') == 'text']
    message = {
        'content': ''.join(texts_of) if texts_of else None,
        'reasoning_details': thoughts or None,
        'tool_calls': calls or None,
        ITEMS: blocks,
    }
    stop = value.get('stop_reason')
    end = 'tool_calls' if stop == 'tool_use' else end_of(stop) or 'in_progress'
    return Reply(message, end, usage, value, withheld=reasons_of_withheld(value))


def _usage(usage: Any) -> dict[str, Any] | None:
    """Returns the usage of a chat completion, whose prompt includes tokens from the cache and written to it."""
    if not isinstance(usage, Mapping):
        return None
    new, read, written = (
        whole_number(usage.get(name))
        for name in ('input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens')
    )
    thoughts = mapping(usage.get('output_tokens_details')).get('thinking_tokens')
    return {
        'prompt_tokens': None if new is None else new + (read or 0) + (written or 0),
        'completion_tokens': usage.get('output_tokens'),
        'prompt_tokens_details': {'cached_tokens': read, 'cache_write_tokens': written},
        'completion_tokens_details': {'reasoning_tokens': thoughts},
    }


class _Reader(StreamReader):
    """Reads a stream, whose blocks come in pieces."""

    def __init__(self) -> None:
        super().__init__()
        self._start: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, dict[str, list[str]]] = {}

    def _add(self, event: Any) -> None:
        if not isinstance(event, Mapping):
            raise ValueError('no object')
        if error := error_in(event):
            raise failure_of_error(error, json.dumps(event, ensure_ascii=False))
        kind, number = event.get('type'), event.get('index')
        if kind == 'message_start':
            self._start = dict(mapping(event.get('message')))
        elif kind == 'message_delta':
            usage = {**mapping(self._start.get('usage')), **_known(event.get('usage'))}
            changes = {CHANGES: event[CHANGES]} if event.get(CHANGES) else {}
            self._start = {**self._start, **mapping(event.get('delta')), **changes, 'usage': usage}
        elif kind == 'message_stop':
            self._is_whole = True
        elif isinstance(number, int) and 0 <= number < _MOST_BLOCKS:
            if kind == 'content_block_start':
                self._blocks[number] = dict(mapping(event.get('content_block')))
            elif kind == 'content_block_delta' and number in self._blocks:
                for name, piece in mapping(event.get('delta')).items():
                    if name != 'type' and isinstance(piece, str):
                        pieces = self._pieces.setdefault(number, {}).setdefault(name, [])
                        if name == 'signature':  # comes whole
                            pieces.clear()
                        pieces.append(piece)

    def reply(self) -> Reply:
        self.feed(b'\n')
        if not self._is_whole or not self._start.get('stop_reason'):
            raise self._broken_off(bool(self._start), 'message_stop')
        blocks, texts = list[Mapping[str, Any]](), dict[int, str]()
        for place, (number, block) in enumerate(sorted(self._blocks.items())):
            pieces = {name: ''.join(parts) for name, parts in self._pieces.get(number, {}).items()}
            if block.get('type') == 'tool_use':
                texts[place] = pieces.pop('partial_json', '') or json.dumps(block.get('input') or {})
                block = {**block, 'input': _arguments(texts[place])}
            blocks.append({**block, **{name: f'{block.get(name) or ""}{text}' for name, text in pieces.items()}})
        return self._streamed(_reply(self._start, blocks, texts))


def _known(usage: Any) -> dict[str, Any]:
    return {name: value for name, value in mapping(usage).items() if value is not None}


def _arguments(text: str) -> Any:
    try:
        arguments = object_arguments(load_json(text, bounded=True))
        json.dumps(arguments, allow_nan=False)
        return arguments
    except ValueError:  # of a call that was cut, or NaN, which JSON has not
        return {}


MESSAGES = Wire(
    '/messages',
    'messages',
    ('max_tokens',),
    _encode,
    _offer,
    _read,
    _Reader,
    members={'thinking': {'type': 'adaptive', 'display': 'summarized'}},
    streamed={'stream': True},
    base='https://api.anthropic.com/v1/',
    headers={'anthropic-version': VERSION},
    key='ANTHROPIC_API_KEY',
    no_temperature='since the Messages API refuses it',
    streams=True,
)
