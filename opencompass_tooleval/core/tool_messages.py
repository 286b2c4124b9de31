"""Messages that continue a conversation after native calls: the answer with the calls, and the tools' replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from opencompass_tooleval.core.answer import Answer, strip_reasoning
from opencompass_tooleval.core.messages import TOOL, Message
from opencompass_tooleval.core.tool_calls import ToolCall

UNREADABLE = 'unreadable_arguments'
"""Key under which a model sees its arguments that are no object."""


def object_arguments(arguments: Any) -> dict[str, Any]:
    """Converts arguments for the continued conversation to an object.

    Servers read the arguments of earlier calls as JSON, and their chat templates require an object. Other arguments,
    such as the truncated ``{"input": [1, 2``, would cause a refused request (llama.cpp: status 500), which is no fault
    of the server. They become the value of :data:`UNREADABLE`.
    """
    return arguments if isinstance(arguments, dict) else {UNREADABLE: arguments}


def tool_messages(answer: Answer, replies: Sequence[str], earlier: int = 0) -> tuple[Message, ...]:
    """Returns the answer as a message, without thoughts, and one message of role ``tool`` per call.

    A call without an id, or with the id of another call of the answer, gets a new one. :func:`object_arguments`
    converts the arguments.

    Args:
        answer: The answer with its calls.
        replies: Replies of the tools, one per call.
        earlier: Number of earlier calls in the conversation.

    Raises:
        ValueError: The numbers of calls and replies differ.
    """
    calls = _with_ids(answer.calls, earlier)
    message = Message('assistant', strip_reasoning(answer.text).text, calls)
    told = [Message(TOOL, reply, call_id=call.id) for call, reply in zip(calls, replies, strict=True)]
    return (message, *told)


def _with_ids(calls: Sequence[ToolCall], earlier: int) -> tuple[ToolCall, ...]:
    free = (f'call{number:05d}' for number in count(earlier))  # Mistral's templates require nine letters and digits
    used: set[str] = set()
    named = []
    for call in calls:
        call_id = call.id if call.id and call.id not in used else next(name for name in free if name not in used)
        used.add(call_id)
        named.append(replace(call, id=call_id, arguments=object_arguments(call.arguments)))
    return tuple(named)
