"""What is known of a server while it is looked at, and words that several checks have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.api.endpoint import Endpoint, RawReply

MAX_OUT_LEN = 512
"""Tokens that most data sets let a model answer with: the published setting."""

Message = dict[str, Any]


def user(text: str) -> Message:
    """A question."""
    return {'role': 'user', 'content': text}


QUESTION = user('Reply with the single word: ready')


@dataclass
class Probed:
    """What the checks before have found.

    Attributes:
        endpoint: Whom to ask.
        at_once: Requests in flight for the look at concurrency.
        long_prompt: Tokens of the long prompt; 0 for none.
        listed: What ``/models`` says, by name.
        settings: Sent with every question; what the server refuses is left out.
        limit: What the limit of tokens is called: ``max_tokens``.
        plain: The reply to :data:`QUESTION`.
        with_tool: The reply to a question with a tool.
        context: Tokens of the context, once known.
    """

    endpoint: Endpoint
    at_once: int = 16
    long_prompt: int = 6000
    listed: dict[str, Any] | None = None
    settings: dict[str, Any] = field(default_factory=lambda: {'temperature': 0})
    limit: str = 'max_tokens'
    plain: RawReply | None = None
    with_tool: RawReply | None = None
    context: int | None = None

    def ask(self, *messages: Message, tokens: int = MAX_OUT_LEN, **settings: Any) -> RawReply:
        """Asks with the settings that the server takes.

        Raises:
            Failure: No message came.
        """
        return self.endpoint.ask(messages, **{**self.settings, self.limit: tokens, **settings})

    def is_dropped(self, reply: RawReply) -> bool:
        """Whether what a request had more than :data:`QUESTION`, which is the shorter, did not reach the model.

        Chat templates drop what they do not know without a word; the tokens of the prompt tell.
        """
        more, less = reply.tokens('prompt'), self.plain.tokens('prompt') if self.plain else None
        return more is not None and less is not None and 0 < more <= less
