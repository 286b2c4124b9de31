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
"""Under this key a model sees arguments that it wrote and that are no object."""


def object_arguments(arguments: Any) -> dict[str, Any]:
    """Arguments as they stand in the conversation that goes on: an object in any case.

    Servers read the arguments of earlier calls as JSON, and their chat templates take an object: what a model wrote
    otherwise, as ``{"input": [1, 2`` that was cut, ends in a refused request (llama.cpp: status 500), which is no
    fault of the server. It stands under :data:`UNREADABLE`.
    """
    return arguments if isinstance(arguments, dict) else {UNREADABLE: arguments}


def tool_messages(answer: Answer, replies: Sequence[str], earlier: int = 0) -> tuple[Message, ...]:
    """The answer as a message, without thoughts, and one message of role ``tool`` per call.

    A call without an id, or with that of another call of the answer, gets one. Arguments are as
    :func:`object_arguments` has them.

    Args:
        answer: With the calls that are replied to.
        replies: What the tools say, one per call.
        earlier: How many calls of the conversation were replied to before.

    Raises:
        ValueError: There are more calls than replies or fewer.
    """
    calls = _with_ids(answer.calls, earlier)
    message = Message('assistant', strip_reasoning(answer.text).text, calls)
    told = [Message(TOOL, reply, call_id=call.id) for call, reply in zip(calls, replies, strict=True)]
    return (message, *told)


def _with_ids(calls: Sequence[ToolCall], earlier: int) -> tuple[ToolCall, ...]:
    free = (f'call{number:05d}' for number in count(earlier))  # Mistral's templates want nine letters and digits
    used: set[str] = set()
    named = []
    for call in calls:
        call_id = call.id if call.id and call.id not in used else next(name for name in free if name not in used)
        used.add(call_id)
        named.append(replace(call, id=call_id, arguments=object_arguments(call.arguments)))
    return tuple(named)
