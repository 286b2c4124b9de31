"""Messages of a conversation, in a format for all model wrappers.

Includes the messages after native calls: the answer with the calls, and the results of tools. Reads content in parts,
as in OpenAI's API: ``[{"type": "text", "text": "..."}, ...]``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import count
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer, strip_reasoning
from opencompass_tooleval.core.calls.sent import Sent, carried_out
from opencompass_tooleval.core.calls.tool_calls import MAX_CALLS, ToolCall, calls_payload, read_calls

ROLES = ('system', 'user', 'assistant')
TOOL = 'tool'
"""The role of the result of a native call."""


@dataclass(frozen=True)
class Message:
    """One message.

    Attributes:
        role: system, user, assistant, ``tool``, or a role of a benchmark such as function.
        calls: Native calls of an assistant.
        call_id: Id of the call whose result this message has.
        content: The text.
        sent: Members of the server's message to send back unchanged, from
            :func:`~opencompass_tooleval.core.calls.sent.carried_out`; None if there are none.
    """

    role: str
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ''
    sent: Sent | None = None

    @property
    def is_native(self) -> bool:
        """True if it belongs to native tool calls, so it cannot be replaced by text."""
        return bool(self.calls or self.call_id or (self.sent and self.content))

    def __deepcopy__(self, memo: Any) -> Message:
        """Returns the message itself, which never changes: OpenCompass's wrappers copy conversations in each round."""
        return self

    def to_payload(self) -> dict[str, Any]:
        """Converts the message to JSON values: role, content and members that are not empty."""
        payload: dict[str, Any] = {'role': self.role, 'content': self.content}
        if self.calls:
            payload['calls'] = calls_payload(self.calls)
        if self.sent:
            payload['sent'] = self.sent
        return {**payload, 'call_id': self.call_id} if self.call_id else payload

    @cached_property
    def text(self) -> str:
        """JSON of :meth:`to_payload`, encoded once, since later rounds of a dialogue repeat the message."""
        return json.dumps(self.to_payload())


def read_message(payload: Mapping[str, Any]) -> Message:
    """Reads the values of :meth:`Message.to_payload`."""
    calls = read_calls(payload.get('calls'))
    return Message(payload['role'], payload['content'], calls, payload.get('call_id', ''), payload.get('sent'))


def messages_payload(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Converts messages to JSON values."""
    return [message.to_payload() for message in messages]


def messages_text(messages: Iterable[Message]) -> str:
    """Converts messages to text for a dataset's column."""
    return f'[{", ".join(message.text for message in messages)}]'


def read_messages(text: str) -> list[Message]:
    """Reads the text of :func:`messages_text`."""
    return [read_message(payload) for payload in json.loads(text)]


def prompt_digest(text: str, function_role: str = 'user', system_role: str = 'system') -> str:
    """Returns 32 hex digits that identify a prompt, from the text of :func:`messages_text` and the roles."""
    roles = _roles_text(function_role, system_role)
    return hashlib.blake2b(roles + text.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()


@cache
def _roles_text(function_role: str, system_role: str) -> bytes:
    settings: dict[str, Any] = {'function': function_role, 'tool': function_role, 'system': system_role}
    if system_role == 'user':
        settings['merge'] = False
    return json.dumps(settings).encode('ascii')


def normalise(messages: Iterable[Message], role_map: Mapping[str, str], merge: bool = True) -> list[Message]:
    """Renames roles, removes empty messages, and merges adjacent messages of one role with a newline.

    Some OpenCompass wrappers do the last two themselves and some do not; this function gives all the same input.
    Native calls and their results stay unchanged.

    Args:
        messages: The conversation.
        role_map: Role -> new role, for example ``{'function': 'user'}``.
        merge: True to merge adjacent messages of one role.

    Raises:
        ValueError: A role is not in ``ROLES`` after renaming, or nothing is left.
    """
    merged: list[Message] = []
    for message in messages:
        if message.is_native:
            merged.append(message)
            continue
        role = role_map.get(message.role, message.role)
        if role not in ROLES:
            raise ValueError(f'role {role!r} is not one of {", ".join(ROLES)}')
        if not message.content:
            continue
        if merge and merged and merged[-1].role == role and not merged[-1].is_native:
            merged[-1] = Message(role, f'{merged[-1].content}\n{message.content}')
        else:
            merged.append(message if message.role == role else Message(role, message.content))
    if not merged:
        raise ValueError('the conversation is empty')
    return merged


_TEXT_TYPES = ('text', 'output_text')
_MOST_SHOWN = 40


def is_parts(content: Any) -> bool:
    """Tests if a value is a list of parts. Each has a type, unlike the steps, calls and tools in an answer."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(part, dict) and isinstance(part.get('type'), str) for part in content)
    )


def joined_text(content: Any) -> Any:
    """Joins the texts of parts, or of a whole message (``{"role", "content"}``); returns other values unchanged.

    Raises:
        ValueError: A part is not text, for example an image.
    """
    if isinstance(content, dict) and isinstance(content.get('role'), str) and 'content' in content:
        content = content['content']
    if not is_parts(content):
        return content
    for part in content:
        if part['type'] not in _TEXT_TYPES or not isinstance(part.get('text'), str):
            raise ValueError(f'its answer has a part of type {part["type"][:_MOST_SHOWN]!r}, which is not text')
    return ''.join(part['text'] for part in content)


UNREADABLE = 'unreadable_arguments'
"""Key under which a model sees its own arguments if they are not an object."""


def object_arguments(arguments: Any) -> dict[str, Any]:
    """Returns arguments for the continued conversation, converted to an object.

    Servers parse the arguments of earlier calls as JSON, and their chat templates require an object. Other arguments,
    such as the truncated ``{"input": [1, 2``, would make the server refuse the request (llama.cpp: status 500) through
    no fault of its own. They become the value of :data:`UNREADABLE`.
    """
    return arguments if isinstance(arguments, dict) else {UNREADABLE: arguments}


_NUMBER_AT_END = re.compile(r'[0-9]{1,9}\Z')
_NINE = re.compile(r'[A-Za-z0-9]{9}')
"""The only ids that Mistral's templates accept."""


def tool_messages(answer: Answer, replies: Sequence[str], earlier: Iterable[Message] = ()) -> tuple[Message, ...]:
    """Returns the answer as a message, and one message of role ``tool`` per call.

    The message has no thoughts in its text, and keeps the members that the server sent with the answer and the calls. A
    call without an id, or with the id of an earlier call, gets a new one. :func:`object_arguments` converts the
    arguments.

    Args:
        answer: The answer with its calls.
        replies: Results of the tools, one per call.
        earlier: The conversation before the answer.

    Raises:
        ValueError: The numbers of calls and replies differ.
    """
    calls = _with_ids(answer.calls, [call.id for message in earlier for call in message.calls])
    sent = carried_out(answer.sent, calls)
    message = Message('assistant', strip_reasoning(answer.text).text, calls, sent=sent)
    results = [Message(TOOL, reply, call_id=call.id) for call, reply in zip(calls, replies, strict=True)]
    return (message, *results)


def _with_ids(calls: Sequence[ToolCall], earlier: Sequence[str]) -> tuple[ToolCall, ...]:
    used, taken = set(earlier), {*earlier, *(call.id for call in calls)}
    named = []
    for call in calls:
        call_id = call.id
        if not call_id or call_id in used:
            call_id = next(name for name in _ids_like(call_id, len(earlier)) if name not in taken)
        used.add(call_id)
        taken.add(call_id)
        named.append(replace(call, id=call_id, arguments=object_arguments(call.arguments)))
    return tuple(named)


def _ids_like(call_id: str, earlier: int) -> Iterator[str]:
    """Yields ids: the server's with a higher number at its end, else of nine letters and digits."""
    if number := _NUMBER_AT_END.search(call_id):
        width, stem = len(number[0]), call_id[: number.start()]
        for raised in range(int(number[0]) + 1, int(number[0]) + earlier + MAX_CALLS + 2):
            if len(name := f'{stem}{raised:0{width}}') > len(call_id) and _NINE.fullmatch(call_id):
                break
            yield name
    yield from (f'call{number:05d}' for number in count(earlier))
