"""What is known of a server while it is looked at, and words that several checks have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.models.api.endpoint import Endpoint, RawReply

MAX_OUT_LEN = 512
"""Tokens that most data sets let a model answer with: the published setting."""

_FEW_TOKENS = 8

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
        calls_if_forced: Whether a call came back that was demanded.
        context: Tokens of the context, once known.
    """

    endpoint: Endpoint
    at_once: int = 16
    long_prompt: int = 6000
    listed: dict[str, Any] | None = None
    settings: dict[str, Any] = field(default_factory=lambda: {'temperature': 0})
    limit: str = 'max_tokens'
    plain: RawReply | None = None
    calls_if_forced: bool = False
    context: int | None = None

    def ask(self, *messages: Message, tokens: int = MAX_OUT_LEN, **settings: Any) -> RawReply:
        """Asks with the settings that the server takes.

        Raises:
            Failure: No message came.
        """
        return self.endpoint.ask(messages, **{**self.settings, self.limit: tokens, **settings})

    def is_dropped(self, reply: RawReply, *messages: Message, **settings: Any) -> bool:
        """Whether what a request had more than another did not reach the model; the other is sent to find out.

        Chat templates drop what they do not know without a word; the tokens of the prompt tell.

        Args:
            reply: To the request that had more.
            messages: Of the other.
            settings: Of the other.

        Raises:
            Failure: No message came.
        """
        more = reply.tokens('prompt')
        if not more:
            return False
        less = self.ask(*messages, tokens=_FEW_TOKENS, **settings).tokens('prompt')
        return bool(less and more <= less)
