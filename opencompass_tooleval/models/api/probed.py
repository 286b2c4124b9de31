"""The state that checks of a server share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.model_name import is_openais_reasoning
from opencompass_tooleval.findings.finding import Finding, fine, found, unknown
from opencompass_tooleval.models.api.endpoint import Endpoint, Turn
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.reply import Reply
from opencompass_tooleval.models.api.wires.chat import CHAT

MAX_OUT_LEN = 512
"""Token limit of an answer in most datasets (the published setting)."""

FEW_TOKENS = 16
"""Token limit of short answers; Responses refuses a lower one."""


def user(text: str) -> dict[str, Any]:
    """Returns a user's message."""
    return {'role': 'user', 'content': text}


QUESTION = user('Reply with the single word: ready')


def server_fault(check: str, text: str) -> Finding:
    """Returns the finding of a check that failed."""
    return found(_kind(check), check, text)


def server_fine(check: str, text: str) -> Finding:
    """Returns the finding of a check that passed."""
    return fine(_kind(check), check, text)


def server_unknown(check: str, text: str) -> Finding:
    """Returns the finding of a check without a result."""
    return unknown(_kind(check), check, text)


def _kind(check: str) -> str:
    return f'server:{check.replace(" ", "_")}'


@dataclass
class Probed:
    """Results of the checks so far.

    Attributes:
        endpoint: The server.
        at_once: Number of simultaneous requests in the concurrency check.
        long_prompt: Tokens of the long prompt; 0 to send none.
        listed: Models that ``/models`` lists, by name; None if there is no list.
        settings: Members of each request. Those that the server refuses are removed.
        accepted: Settings of a config that replace those that the server refuses.
        limit: Name of the token limit in requests, such as ``max_tokens``.
        plain: The reply to :data:`QUESTION`.
        failure: The failure of :data:`QUESTION`; None if it succeeded.
        calls_if_forced: True if the server returned a call that the request demanded.
        called: A question and an answer with calls, if possible with thoughts; None without such an answer.
        refused: Members of the server's messages that it refuses when they are sent back.
        context: Length of the context in tokens, if known.
    """

    endpoint: Endpoint
    at_once: int = 16
    long_prompt: int = 6000
    listed: dict[str, Any] | None = None
    settings: dict[str, Any] = field(default_factory=lambda: {'temperature': 0})
    accepted: dict[str, Any] = field(default_factory=dict)
    limit: str = 'max_tokens'
    plain: Reply | None = None
    failure: Failure | None = None
    calls_if_forced: bool = False
    called: tuple[Turn, Answer] | None = None
    refused: set[str] = field(default_factory=set)
    context: int | None = None

    def __post_init__(self) -> None:
        """Uses the settings of :class:`ToolEvalOpenAI` for reasoning models at OpenAI's own address."""
        wire = self.endpoint.wire
        is_reasoning = is_openais_reasoning(self.endpoint.url, self.endpoint.model)
        self.limit = wire.limits[is_reasoning and wire is CHAT]
        if is_reasoning or wire.no_temperature:
            self.settings = {}

    def ask(self, *messages: Turn, tokens: int = MAX_OUT_LEN, **settings: Any) -> Reply:
        """Sends a question with the accepted settings.

        Raises:
            Failure: The request failed, or the reply has no message.
        """
        return self.endpoint.ask(messages, **{**self.settings, self.limit: tokens, **settings})

    def is_dropped(self, reply: Reply, *messages: Turn, **settings: Any) -> bool:
        """Tests if a part of a request did not reach the model, by sending the request without this part.

        Chat templates may drop parts silently; then the number of prompt tokens is the same.

        Args:
            reply: Reply to the request with the part.
            messages: Messages of the request without the part.
            settings: Settings of the request without the part.

        Raises:
            Failure: The request failed, or the reply has no message.
        """
        more = reply.tokens('prompt')
        if not more:
            return False
        less = self.ask(*messages, tokens=FEW_TOKENS, **settings).tokens('prompt')
        return bool(less and more <= less)
