"""A conversation as every model wrapper can take it."""

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
        role: system, user, assistant, ``tool``, or a benchmark's own such as function.
        content: The text.
        calls: Of an assistant that calls tools natively.
        call_id: Of a tool's answer to such a call: the call's id.
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
        """Itself: nothing of it changes, and wrappers of OpenCompass copy every conversation at every round."""
        return self

    def to_payload(self) -> dict[str, Any]:
        """The message as JSON values: role and content, and what else it has."""
        payload: dict[str, Any] = {'role': self.role, 'content': self.content}
        if self.calls:
            payload['calls'] = calls_payload(self.calls)
        return {**payload, 'call_id': self.call_id} if self.call_id else payload


def read_message(payload: Mapping[str, Any]) -> Message:
    """The inverse of :meth:`Message.to_payload`."""
    calls = read_calls(payload.get('calls'))
    return Message(payload['role'], payload['content'], calls, payload.get('call_id', ''))


def messages_payload(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages as JSON values."""
    return [message.to_payload() for message in messages]


def messages_text(messages: Iterable[Message]) -> str:
    """Messages as the text that a data set's column has."""
    return json.dumps(messages_payload(messages))


def read_messages(text: str) -> list[Message]:
    """The inverse of :func:`messages_text`."""
    return [read_message(payload) for payload in json.loads(text)]


def prompt_digest(text: str, function_role: str = 'user', system_role: str = 'system') -> str:
    """32 hex digits that stand for the prompt made of :func:`messages_text`: another text or role gives others."""
    settings: dict[str, Any] = {'function': function_role, 'tool': function_role, 'system': system_role}
    if system_role == 'user':
        settings['merge'] = False
    roles = json.dumps(settings).encode('ascii')
    return hashlib.blake2b(roles + text.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()


def normalise(messages: Iterable[Message], role_map: Mapping[str, str], merge: bool = True) -> list[Message]:
    """Renames roles, drops empty messages and merges neighbours of one role with one newline.

    Some wrappers of OpenCompass do the last two themselves and some do not; done here, all see the same. Native calls
    and the answers to them stay as they are.

    Args:
        messages: The conversation.
        role_map: Role -> role for those to rename, for example ``{'function': 'user'}``.
        merge: Whether neighbours of one role become one message.

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
