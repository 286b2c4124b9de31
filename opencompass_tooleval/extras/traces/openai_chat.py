"""Chat logs: requests with ``messages``, with or without their answers, and items of OpenAI's Responses API.

A row is a request body (``{"model", "messages", "tools"}``, as in files for fine-tuning), a pair ``{"request",
"response"}``, a row of the Batch API, or a request merged with its answer (``choices``, ``output``). The older
``functions``, ``function_call`` and role ``function`` are read too. Messages are those of OpenAI's API or of
Anthropic's (:mod:`~opencompass_tooleval.extras.traces.anthropic_chat`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opencompass_tooleval.core.calls.messages import TOOL, Message
from opencompass_tooleval.core.calls.other_formats import text_of, tool_schemas
from opencompass_tooleval.core.calls.tool_calls import ToolCall, make_call
from opencompass_tooleval.core.scoring.usage import Usage, whole_number
from opencompass_tooleval.extras.traces import anthropic_chat
from opencompass_tooleval.extras.traces.conversation import Conversation, distinct_ids, make_message

_ASKED, _ANSWERED = ('messages', 'input'), ('choices', 'output')
_REPLIES = ('response', 'message', 'completion')
"""Names of a response of Anthropic's beside its request."""


def is_chat(row: Any) -> bool:
    """Tests if a value has the messages of a request."""
    return isinstance(row, dict) and _part(row, ('request', 'body'), _ASKED) is not None


def _part(row: Mapping[str, Any], names: tuple[str, ...], keys: tuple[str, ...]) -> Mapping[str, Any] | None:
    """Returns the row, or the object within it, that has one of the keys."""
    inner = [row, *(row[name] for name in names if isinstance(row.get(name), dict))]
    inner += [one['body'] for one in inner[1:] if isinstance(one.get('body'), dict)]
    return next((one for one in inner if any(isinstance(one.get(key), (list, str)) for key in keys)), None)


def read_row(row: Mapping[str, Any], location: str) -> Conversation:
    """Reads one conversation.

    Args:
        row: JSON values of a line.
        location: Name of the line.

    Raises:
        ValueError: It is no conversation.
    """
    asked = _part(row, ('request', 'body'), _ASKED)
    if asked is None:
        raise ValueError("it has no list 'messages' or 'input'")
    reply = next((row[name] for name in _REPLIES if anthropic_chat.is_response(row.get(name))), None)
    answered = reply or _part(row, ('response',), _ANSWERED) or {}
    asked_for = asked['messages'] if 'messages' in asked else asked['input']
    read = [*_system(asked), *read_messages(asked_for)]
    is_first = all(message.role != 'assistant' for message, _ in read)
    read += read_messages(_answers(answered))
    messages = distinct_ids(message for message, _ in read)
    are_blocks = any(anthropic_chat.has_blocks(raw) for raw in asked_for if isinstance(raw, dict))
    errors = {message.call_id: error for message, (_, error) in zip(messages, read, strict=True) if error}
    model = next((one['model'] for one in (answered, asked, row) if isinstance(one.get('model'), str)), '')
    tools = asked.get('tools', asked.get('functions', row.get('tools', row.get('functions'))))
    # The usage of a later answer is that of one request of several.
    return Conversation(
        location,
        tuple(messages),
        tool_schemas(tools),
        model,
        _usage(answered.get('usage')) if is_first else None,
        errors if are_blocks else None,
    )


def _system(asked: Mapping[str, Any]) -> list[tuple[Message, str]]:
    """Returns the system prompt that stands beside the messages."""
    texts = [text_of(asked[name]) for name in ('instructions', 'system') if isinstance(asked.get(name), (str, list))]
    return [(make_message('system', text), '') for text in texts if text]


def _answers(answered: Mapping[str, Any]) -> Any:
    """Returns the messages or items of a response."""
    choices, output = answered.get('choices'), answered.get('output')
    if anthropic_chat.is_response(answered):
        return [answered]
    if isinstance(choices, list):
        return [choice.get('message') for choice in choices[:1] if isinstance(choice, dict)]
    return [{'role': 'assistant', 'content': output}] if isinstance(output, str) else output or []


def read_messages(value: Any) -> Iterator[tuple[Message, str]]:
    """Yields messages of a chat, or of a list of items of the Responses API, each with the error of a result or ``''``.

    Raises:
        ValueError: One is no message.
    """
    items = [{'role': 'user', 'content': value}] if isinstance(value, str) else value
    if not isinstance(items, list):
        raise ValueError('its messages are no list')
    open_calls: list[ToolCall] = []
    for number, item in enumerate(items):
        if not isinstance(item, dict):
            raise ValueError(f'message {number} is no object')
        kind = item.get('type')
        if kind == 'function_call':
            open_calls.append(make_call(item.get('name'), item.get('arguments'), item.get('call_id')))
            continue
        if kind == 'reasoning' or kind == 'item_reference':
            continue
        if open_calls:
            yield make_message('assistant', '', open_calls), ''
            open_calls = []
        if kind == 'function_call_output':
            yield make_message(TOOL, text_of(item.get('output')), call_id=item.get('call_id')), ''
        elif anthropic_chat.has_blocks(item):
            yield from anthropic_chat.read_message(item)
        elif 'role' in item or kind is None:
            yield read_message(item), ''
        # Calls of the server's own tools, such as web_search_call, have neither a role nor a result.
    if open_calls:
        yield make_message('assistant', '', open_calls), ''


def read_message(raw: Mapping[str, Any]) -> Message:
    """Reads a message of a chat.

    Raises:
        ValueError: It has no role.
    """
    calls = raw.get('tool_calls')
    made = [_call(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    if isinstance(raw.get('function_call'), dict):
        made.append(_call({'function': raw['function_call']}))
    return make_message(raw.get('role'), text_of(raw.get('content')), made, raw.get('tool_call_id'))


def _call(raw: Mapping[str, Any]) -> ToolCall:
    inner: Mapping[str, Any] = next((raw[key] for key in ('function', 'custom') if isinstance(raw.get(key), dict)), {})
    return make_call(inner.get('name'), inner.get('arguments', inner.get('input')), raw.get('id'))


def _usage(raw: Any) -> Usage | None:
    if not isinstance(raw, dict):
        return None
    prompt, completion = (
        next((number for name in names if (number := whole_number(raw.get(name))) is not None), None)
        for names in (('prompt_tokens', 'input_tokens'), ('completion_tokens', 'output_tokens'))
    )
    cached = [whole_number(raw.get(f'cache_{part}_input_tokens')) or 0 for part in ('creation', 'read')]  # Anthropic's
    return Usage(None if prompt is None else prompt + sum(cached), completion)
