"""Results of checks of a server so far, and shared words of several checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.model_name import is_openais_reasoning
from opencompass_tooleval.findings.finding import Finding, fine, found, unknown
from opencompass_tooleval.models.api.endings import TOKEN_LIMITS
from opencompass_tooleval.models.api.endpoint import Endpoint
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.reply import Reply

MAX_OUT_LEN = 512
"""Tokens of an answer in most data sets: the published setting."""

_FEW_TOKENS = 8

Message = dict[str, Any]


def user(text: str) -> Message:
    """Builds a question."""
    return {'role': 'user', 'content': text}


QUESTION = user('Reply with the single word: ready')


def server_fault(check: str, text: str) -> Finding:
    """Returns the fault of a server that a check found."""
    return found(_kind(check), check, text)


def server_fine(check: str, text: str) -> Finding:
    """Returns the outcome of a check of a server that found no fault."""
    return fine(_kind(check), check, text)


def server_unknown(check: str, text: str) -> Finding:
    """Returns the outcome of a check of a server that cannot tell."""
    return unknown(_kind(check), check, text)


def _kind(check: str) -> str:
    return f'server:{check.replace(" ", "_")}'


@dataclass
class Probed:
    """Results of the checks so far.

    Attributes:
        endpoint: The server.
        at_once: Requests in flight for the check of concurrency.
        long_prompt: Tokens of the long prompt; 0 for none.
        listed: Models of ``/models``, by name.
        settings: Sent with every question; refused ones are removed.
        limit: Name of the limit of tokens: ``max_tokens``.
        plain: The reply to :data:`QUESTION`.
        failure: The failure of :data:`QUESTION`; None for none.
        calls_if_forced: True if a demanded call was returned.
        called: A question and an answer with calls, if possible with thoughts; None if none came.
        refused: Members of its messages that the server does not take back.
        context: Tokens of the context, if known.
    """

    endpoint: Endpoint
    at_once: int = 16
    long_prompt: int = 6000
    listed: dict[str, Any] | None = None
    settings: dict[str, Any] = field(default_factory=lambda: {'temperature': 0})
    limit: str = 'max_tokens'
    plain: Reply | None = None
    failure: Failure | None = None
    calls_if_forced: bool = False
    called: tuple[Message, Answer] | None = None
    refused: set[str] = field(default_factory=set)
    context: int | None = None

    def __post_init__(self) -> None:
        """Takes the settings of :class:`ToolEvalOpenAI` for reasoning models at OpenAI's own address."""
        if is_openais_reasoning(self.endpoint.url, self.endpoint.model):
            self.limit, self.settings = TOKEN_LIMITS[1], {}

    def ask(self, *messages: Message, tokens: int = MAX_OUT_LEN, **settings: Any) -> Reply:
        """Sends a question with the accepted settings.

        Raises:
            Failure: There was no message in reply.
        """
        return self.endpoint.ask(messages, **{**self.settings, self.limit: tokens, **settings})

    def is_dropped(self, reply: Reply, *messages: Message, **settings: Any) -> bool:
        """Tests if the additional part of a request did not reach the model, by sending the request without it.

        Chat templates silently drop unknown parts; the number of prompt tokens shows it.

        Args:
            reply: Reply to the request with the additional part.
            messages: Messages of the request without it.
            settings: Settings of the request without it.

        Raises:
            Failure: There was no message in reply.
        """
        more = reply.tokens('prompt')
        if not more:
            return False
        less = self.ask(*messages, tokens=_FEW_TOKENS, **settings).tokens('prompt')
        return bool(less and more <= less)
