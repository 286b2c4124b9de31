"""A conversation as every model wrapper can take it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

ROLES = ('system', 'user', 'assistant')


@dataclass(frozen=True)
class Message:
    """One turn: ``role`` is system, user, assistant, or a benchmark's own such as function."""

    role: str
    content: str


def messages_text(messages: Iterable[Message]) -> str:
    """Messages as the text that a data set's column has."""
    return json.dumps([vars(message) for message in messages])


def prompt_digest(text: str, function_role: str = 'user', system_role: str = 'system') -> str:
    """32 hex digits that stand for the prompt made of :func:`messages_text`: another text or role gives others."""
    settings: dict[str, Any] = {'function': function_role, 'tool': function_role, 'system': system_role}
    if system_role == 'user':
        settings['merge'] = False
    roles = json.dumps(settings).encode('ascii')
    return hashlib.blake2b(roles + text.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()


def normalise(messages: Iterable[Message], role_map: Mapping[str, str], merge: bool = True) -> list[Message]:
    """Renames roles, drops empty messages and merges neighbours of one role with one newline.

    Some wrappers of OpenCompass do the last two themselves and some do not; done here, all see the same.

    Args:
        messages: The conversation.
        role_map: Role -> role for those to rename, for example ``{'function': 'user'}``.
        merge: Whether neighbours of one role become one message.

    Raises:
        ValueError: A role is not in ``ROLES`` after renaming, or nothing is left.
    """
    merged: list[Message] = []
    for message in messages:
        role = role_map.get(message.role, message.role)
        if role not in ROLES:
            raise ValueError(f'role {role!r} is none of {", ".join(ROLES)}')
        if not message.content:
            continue
        if merge and merged and merged[-1].role == role:
            merged[-1] = Message(role, f'{merged[-1].content}\n{message.content}')
        else:
            merged.append(Message(role, message.content))
    if not merged:
        raise ValueError('the conversation is empty')
    return merged
