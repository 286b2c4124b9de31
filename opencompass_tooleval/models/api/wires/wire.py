"""The request format of a server: encodes a conversation with tools, and reads the reply."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.models.api.reply import Reply, StreamReader

if TYPE_CHECKING:
    from opencompass_tooleval.models.conversation import Conversation


CHANGES = 'input_transformations'
"""Member of a reply with the changes that the server has made to the request."""
_LONGEST_REASON = 40


@dataclass(frozen=True)
class Choice:
    """The calls that an answer may have.

    Attributes:
        tools: ``auto``, ``required`` or ``none``.
        parallel: True if it may have several calls, False if one; None if the server is not told.
        strict: True if arguments must fit the schemas of tools, False if not; None if the server is not told.
    """

    tools: str
    parallel: bool | None = None
    strict: bool | None = None


def split_system(messages: Sequence[Message], role: str) -> tuple[str, list[Message]]:
    """Returns the text of the leading system messages, and the other messages. Later system messages get ``role``.

    A conversation of system messages alone is returned as messages: servers refuse an empty one.
    """
    count = next((place for place, message in enumerate(messages) if message.role != 'system'), 0)
    rest = [replace(message, role=role) if message.role == 'system' else message for message in messages[count:]]
    return '\n\n'.join(message.content for message in messages[:count]), rest


def reasons_of_withheld(reply: Mapping[str, Any]) -> set[str]:
    """Reads in a reply why the server has withheld earlier thoughts from the model."""
    changes = reply.get(CHANGES)
    changes = [change for change in changes if isinstance(change, Mapping)] if isinstance(changes, list) else []
    withheld = (one for one in changes if one.get('action') == 'removed' or one.get('type') == 'thinking_dropped')
    reasons = (one.get('reason') or one.get('type') for one in withheld)
    return {one for one in reasons if isinstance(one, str) and one.isidentifier() and len(one) <= _LONGEST_REASON}


@dataclass(frozen=True)
class Wire:
    """A request format.

    Attributes:
        path: Path of requests below the base URL.
        conversation: Name of the member with the conversation.
        limits: Members that set the token limit; the first is the default.
        encode: Returns the JSON of the members with the conversation, without the braces. It gets the conversation, and
            names of members of the server's earlier messages to leave out.
        offer: Returns the members of a request that offer tools.
        read: Returns the reply in the JSON of a response. It raises :class:`ValueError` if there is none.
        reader: Class that reads an event stream.
        members: Members that each request has, unless the config sets or removes them.
        streamed: Further members of a request whose answer is streamed.
        base: Base URL of the vendor.
        headers: Further headers.
        key: Environment variable with the key.
        no_temperature: Why no temperature is sent; ``''`` if one is.
        streams: True if answers are streamed by default.
    """

    path: str
    conversation: str
    limits: tuple[str, ...]
    encode: Callable[[Conversation, Collection[str]], str]
    offer: Callable[[ToolSet, Choice], dict[str, Any]]
    read: Callable[[Any], Reply]
    reader: Callable[[], StreamReader]
    members: Mapping[str, Any] = field(default_factory=dict)
    streamed: Mapping[str, Any] = field(default_factory=dict)
    base: str = 'https://api.openai.com/v1/'
    headers: Mapping[str, str] = field(default_factory=dict)
    key: str = 'OPENAI_API_KEY'
    no_temperature: str = ''
    streams: bool = False
