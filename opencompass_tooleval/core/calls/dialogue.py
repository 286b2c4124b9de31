"""Multi-round dialogues with a model, as generators that yield requests and receive answers.

A method that answers one question is a generator function::

    def two_steps(question: str) -> Dialogue[Answer]:
        plan = yield ModelRequest((Message('user', f'Plan: {question}'),))
        return (yield ModelRequest((Message('user', f'Carry out: {plan.text}'),)))

It does no input or output, so any number of dialogues can advance together, and an interrupted dialogue is restored by
sending it its earlier answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.messages import Message, messages_text
from opencompass_tooleval.core.calls.tool_set import ToolSet

T = TypeVar('T')


@dataclass(frozen=True)
class ModelRequest:
    """A request to a model in one round.

    Attributes:
        messages: The complete conversation that the model sees.
        gold: A perfect answer, for the oracle model only; with ``tools`` written by
            :func:`~opencompass_tooleval.core.calls.tool_calls.write_answer`.
        tools: The tools that the model may call natively; None if it may call none.
        model: ``''`` for the model under test, else the name of an auxiliary model, such as ``simulator``.
        may_be_too_long: True if the dialogue receives the failure of a too long prompt (an answer with the reason
            ``infra:truncated``) and shortens its request. If False, this failure ends the dialogue like any other.
        may_fail: True if the dialogue receives every failure (an answer with a reason ``infra:...``).
        name: Id of the recorded answer; the default is the dialogue's id with the round.
        key: Identifies a request to an auxiliary model that may be repeated; the default is a digest of the request.
    """

    messages: tuple[Message, ...]
    gold: str = ''
    tools: ToolSet | None = None
    model: str = ''
    may_be_too_long: bool = False
    may_fail: bool = False
    name: str = ''
    key: str = ''

    @cached_property
    def digest(self) -> str:
        """``key``, or else 32 hex digits that identify the request."""
        if self.key:
            return self.key
        text = messages_text(self.messages) + (self.tools.to_text() if self.tools else '')
        if self.model:
            text += json.dumps({'model': self.model})
        return hashlib.blake2b(text.encode('ascii'), digest_size=16).hexdigest()


Dialogue = Generator[ModelRequest, Answer, T]
"""A dialogue that returns a ``T``."""
