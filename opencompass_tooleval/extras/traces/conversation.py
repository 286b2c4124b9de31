"""A recorded conversation of a model with its tools, in one form for every format of traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from opencompass_tooleval.core.calls.messages import TOOL, Message
from opencompass_tooleval.core.calls.tool_calls import MAX_CALLS, MAX_NAME_CHARS, ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.scoring.usage import Usage

MAX_MESSAGES = 2_000
"""Maximum number of messages of a conversation."""

_ASSISTANT, _USER, _SYSTEM = 'assistant', 'user', 'system'
_ROLES = {'developer': _SYSTEM, 'function': TOOL, 'human': _USER, 'ai': _ASSISTANT, 'model': _ASSISTANT}


@dataclass(frozen=True)
class RecordedStep:
    """An answer of the model, and its calls with their results.

    Attributes:
        text: The text beside the calls.
        calls: The calls in order, each with its result; None for a result that is not recorded.
    """

    text: str
    calls: tuple[tuple[ToolCall, str | None], ...] = ()


@dataclass(frozen=True)
class Conversation:
    """One recorded conversation.

    Attributes:
        location: File and line, sample or trace that it was read from.
        messages: The messages; a tool's message refers to its call by id, or without ids by its order.
        tools: The offered tools; None if the record does not say.
        model: Name of the model; ``''`` if unknown.
        usage: Tokens and seconds of all answers; None if unknown.
        errors: Id of a call -> its error in one word, if the record marks failed calls; else None.
        scores: Scores in the record, by name, as JSON values.
    """

    location: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] | None = None
    model: str = ''
    usage: Usage | None = None
    errors: Mapping[str, str] | None = None
    scores: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def _turn(self) -> tuple[int, int]:
        """First answer of the model, and the user's next message."""
        roles = [message.role for message in self.messages]
        first = roles.index(_ASSISTANT) if _ASSISTANT in roles else len(roles)
        return first, roles.index(_USER, first) if _USER in roles[first:] else len(roles)

    def _before_answers(self, role: str) -> str:
        texts = (message.content for message in self.messages[: self._turn[0]] if message.role == role)
        return '\n'.join(text for text in texts if text.strip())

    @property
    def system(self) -> str:
        """The system prompt."""
        return self._before_answers(_SYSTEM)

    @property
    def query(self) -> str:
        """The user's request: everything before the first answer."""
        return self._before_answers(_USER)

    @property
    def goes_on(self) -> bool:
        """True if the user wrote again after an answer."""
        return self._turn[1] < len(self.messages)

    @property
    def steps(self) -> list[RecordedStep]:
        """The answers to the request, up to the user's next message."""
        return list(_steps(self.messages[slice(*self._turn)]))

    @property
    def all_steps(self) -> list[RecordedStep]:
        """All answers."""
        return list(_steps(self.messages))

    @property
    def final_answer(self) -> str:
        """The text of the last answer to the request; ``''`` if it calls tools."""
        steps = self.steps
        return '' if not steps or steps[-1].calls else steps[-1].text

    @property
    def fault(self) -> str:
        """The reason for which it is no task, or ``''``."""
        if len(self.messages) > MAX_MESSAGES:
            return f'it has more than {MAX_MESSAGES} messages'
        if not self.query:
            return 'it has no text of a user before an answer'
        return '' if self.steps else 'it has no answer of a model'


def _steps(messages: Sequence[Message]) -> Iterator[RecordedStep]:
    starts = [index for index, message in enumerate(messages) if message.role == _ASSISTANT]
    for start, end in zip(starts, [*starts[1:], len(messages)], strict=False):
        replies = [message for message in messages[start:end] if message.role == TOOL]
        yield RecordedStep(messages[start].content, tuple(_answered(messages[start].calls, replies)))


def _answered(calls: Sequence[ToolCall], replies: list[Message]) -> Iterator[tuple[ToolCall, str | None]]:
    for call in calls:
        # Without ids, as in `function_call`, the first reply without one belongs to the call.
        reply = next((reply for reply in replies if reply.call_id == call.id), None)
        if reply:
            replies.remove(reply)
        yield call, reply.content if reply else None


def distinct_ids(messages: Iterable[Message]) -> list[Message]:
    """Renames calls whose id an earlier call has, with their results: some programs begin anew with each answer."""
    used: Counter[str] = Counter()
    waiting: dict[str, list[str]] = {}
    renamed = []
    for message in messages:
        calls = []
        waiting = {} if message.calls else waiting
        for call in message.calls:
            used[call.id] += 1
            name = f'{call.id}#{used[call.id]}' if call.id and used[call.id] > 1 else call.id
            waiting.setdefault(call.id, []).append(name)
            calls.append(replace(call, id=name))
        names = waiting.get(message.call_id, []) if message.role == TOOL else []
        call_id = (names.pop(0) if len(names) > 1 else names[0]) if names else message.call_id
        renamed.append(replace(message, calls=tuple(calls), call_id=call_id))
    return renamed


def make_message(role: Any, text: str, calls: Iterable[ToolCall] = (), call_id: Any = '') -> Message:
    """Creates a message from values of a file.

    Raises:
        ValueError: The role is no text.
    """
    if not isinstance(role, str):
        raise ValueError('a message has no role')
    role = _ROLES.get(role, role)[:MAX_NAME_CHARS]
    return Message(role, text, tuple(calls)[:MAX_CALLS], call_id[:MAX_NAME_CHARS] if isinstance(call_id, str) else '')


def without_beginnings(conversations: Sequence[Conversation]) -> tuple[list[Conversation], int]:
    """Leaves out conversations with which another one begins: a client logs each request with all earlier messages.

    Returns:
        The others, and the number of those left out.
    """
    hashes = [[hash((one.model, digest)) for digest in running_hashes(one.messages)] for one in conversations]
    begun = {beginning for of_one in hashes for beginning in of_one[:-1]}
    kept = [one for one, of_one in zip(conversations, hashes, strict=True) if of_one[-1] not in begun]
    return kept, len(conversations) - len(kept)


def running_hashes(messages: Iterable[Message], running: int = 0) -> Iterator[int]:
    """Yields for each message a number that stands for all messages up to it; ids of calls have no effect.

    Args:
        messages: The messages.
        running: The number of the message before them; 0 if there is none.
    """
    for message in messages:
        calls = repr([(call.name, call.arguments) for call in message.calls])
        running = hash((running, message.role, message.content.strip(), calls))
        yield running
