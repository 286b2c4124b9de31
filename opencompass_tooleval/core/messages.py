"""A conversation in a format for every model wrapper."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.tool_calls import ToolCall, calls_payload, read_calls

ROLES = ('system', 'user', 'assistant')
TOOL = 'tool'
"""The role of a tool's answer to a native call."""


@dataclass(frozen=True)
class Message:
    """One turn.

    Attributes:
        role: system, user, assistant, ``tool``, or a role of a benchmark such as function.
        calls: Native calls of an assistant.
        call_id: Id of the call that a tool's message answers.
        content: The text.
    """

    role: str
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ''

    @property
    def is_native(self) -> bool:
        """True if it belongs to native calling of tools, so that text cannot replace it."""
        return bool(self.calls or self.call_id)

    def __deepcopy__(self, memo: Any) -> Message:
        """Returns itself: it never changes, and wrappers of OpenCompass copy every conversation at every round."""
        return self

    def to_payload(self) -> dict[str, Any]:
        """Converts the message to JSON values: role, content and further members."""
        payload: dict[str, Any] = {'role': self.role, 'content': self.content}
        if self.calls:
            payload['calls'] = calls_payload(self.calls)
        return {**payload, 'call_id': self.call_id} if self.call_id else payload


def read_message(payload: Mapping[str, Any]) -> Message:
    """Reads the values of :meth:`Message.to_payload`."""
    calls = read_calls(payload.get('calls'))
    return Message(payload['role'], payload['content'], calls, payload.get('call_id', ''))


def messages_payload(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Converts messages to JSON values."""
    return [message.to_payload() for message in messages]


def messages_text(messages: Iterable[Message]) -> str:
    """Converts messages to text for a data set's column."""
    return json.dumps(messages_payload(messages))


def read_messages(text: str) -> list[Message]:
    """Reads the text of :func:`messages_text`."""
    return [read_message(payload) for payload in json.loads(text)]


def prompt_digest(text: str, function_role: str = 'user', system_role: str = 'system') -> str:
    """Returns 32 hex digits that identify the prompt of :func:`messages_text`, from its text and roles."""
    settings: dict[str, Any] = {'function': function_role, 'tool': function_role, 'system': system_role}
    if system_role == 'user':
        settings['merge'] = False
    roles = json.dumps(settings).encode('ascii')
    return hashlib.blake2b(roles + text.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()


def normalise(messages: Iterable[Message], role_map: Mapping[str, str], merge: bool = True) -> list[Message]:
    """Renames roles, removes empty messages and merges adjacent messages of one role with one newline.

    Some wrappers of OpenCompass do the last two themselves and some do not; after this function all have the same
    input. Native calls and their answers do not change.

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
            raise ValueError(f'role {role!r} is none of {", ".join(ROLES)}')
        if not message.content:
            continue
        if merge and merged and merged[-1].role == role and not merged[-1].is_native:
            merged[-1] = Message(role, f'{merged[-1].content}\n{message.content}')
        else:
            merged.append(Message(role, message.content))
    if not merged:
        raise ValueError('the conversation is empty')
    return merged
