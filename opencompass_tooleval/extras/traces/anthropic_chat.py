"""Messages of Anthropic's API: content in blocks, among them ``tool_use`` and ``tool_result``.

A request has the system prompt beside its messages, and its tools have an ``input_schema``. Results of tools are blocks
of a user's message. A response is one message, ``{"type": "message", "role": "assistant", "content": [...]}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opencompass_tooleval.core.calls.messages import TOOL, Message
from opencompass_tooleval.core.calls.other_formats import text_of
from opencompass_tooleval.core.calls.tool_calls import make_call
from opencompass_tooleval.extras.traces.conversation import make_message

CALL, RESULT = 'tool_use', 'tool_result'
FAILED = 'tool_error'
"""Error of a call whose result has ``is_error``."""


def has_blocks(raw: Mapping[str, Any]) -> bool:
    """Tests if a message has calls or results of tools among its content."""
    return any(block.get('type') in (CALL, RESULT) for block in _blocks(raw))


def is_response(value: Any) -> bool:
    """Tests if a value is the response to a request."""
    return isinstance(value, dict) and value.get('type') == 'message' and isinstance(value.get('content'), list)


def read_message(raw: Mapping[str, Any]) -> Iterator[tuple[Message, str]]:
    """Yields the messages of one with blocks, each with its error or ``''``: results of tools first, then the rest.

    Raises:
        ValueError: It has no role.
    """
    for block in _blocks(raw):
        if block.get('type') == RESULT:
            error = FAILED if block.get('is_error') is True else ''
            yield make_message(TOOL, text_of(block.get('content')), call_id=block.get('tool_use_id')), error
    rest = [block for block in _blocks(raw) if block.get('type') not in (CALL, RESULT)]
    calls = [
        make_call(block.get('name'), block.get('input'), block.get('id'))
        for block in _blocks(raw)
        if block.get('type') == CALL
    ]
    if rest or calls:
        yield make_message(raw.get('role'), text_of(rest), calls), ''


def _blocks(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = raw.get('content')
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
