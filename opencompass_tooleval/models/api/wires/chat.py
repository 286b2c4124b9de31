"""OpenAI's chat completions, which all open engines speak."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.models.api.endings import TOKEN_LIMITS
from opencompass_tooleval.models.api.reply import StreamReader, read_completion
from opencompass_tooleval.models.api.wires.wire import Choice, Wire

if TYPE_CHECKING:
    from opencompass_tooleval.models.conversation import Conversation

USAGE = 'stream_options'


def _encode(conversation: Conversation, without: Collection[str]) -> str:
    return f'"messages": {conversation.request_text(without)}'


def _offer(tools: ToolSet, choice: Choice) -> dict[str, Any]:
    parallel = {} if choice.parallel is None else {'parallel_tool_calls': choice.parallel}
    offered = tools.as_request()
    if choice.strict is not None:
        offered = [{**tool, 'function': {**tool['function'], 'strict': choice.strict}} for tool in offered]
    return {'tools': offered, 'tool_choice': choice.tools, **parallel}


CHAT = Wire(
    '/chat/completions',
    'messages',
    TOKEN_LIMITS,
    _encode,
    _offer,
    read_completion,
    StreamReader,
    streamed={'stream': True, USAGE: {'include_usage': True}},
)
