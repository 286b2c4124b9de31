"""What a conversation goes on with after native calls: the answer that made them, and what each tool says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from opencompass_tooleval.core.answer import Answer, strip_reasoning
from opencompass_tooleval.core.messages import TOOL, Message
from opencompass_tooleval.core.tool_calls import ToolCall


def tool_messages(answer: Answer, replies: Sequence[str], earlier: int = 0) -> tuple[Message, ...]:
    """The answer as a message, without thoughts, and one message of role ``tool`` per call.

    A call without an id, or with that of another call of the answer, gets one.

    Args:
        answer: With the calls that are replied to.
        replies: What the tools say, one per call.
        earlier: How many calls of the conversation were replied to before.

    Raises:
        ValueError: There are more calls than replies or fewer.
    """
    calls = _with_ids(answer.calls, earlier)
    spoken = Message('assistant', str(strip_reasoning(answer)), calls)
    told = [Message(TOOL, reply, call_id=call.id) for call, reply in zip(calls, replies, strict=True)]
    return (spoken, *told)


def _with_ids(calls: Sequence[ToolCall], earlier: int) -> tuple[ToolCall, ...]:
    free = (f'call{number:05d}' for number in count(earlier))  # Mistral's templates want nine letters and digits
    used: set[str] = set()
    named = []
    for call in calls:
        call_id = call.id if call.id and call.id not in used else next(name for name in free if name not in used)
        used.add(call_id)
        named.append(replace(call, id=call_id))
    return tuple(named)
