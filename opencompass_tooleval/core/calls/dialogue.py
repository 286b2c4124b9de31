"""Dialogues of several rounds with a model, as generators: they yield requests and receive answers.

A method for one question is a generator function::

    def two_steps(question: str) -> Dialogue[Answer]:
        plan = yield ModelRequest((Message('user', f'Plan: {question}'),))
        return (yield ModelRequest((Message('user', f'Carry out: {plan.text}'),)))

It does no input or output, so that any number of dialogues can advance together, and an interrupted one is restored
by sending it its earlier answers.
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
    """Request to a model in one round.

    Attributes:
        messages: The complete conversation that the model sees.
        gold: A perfect model's answer, for the oracle model only; with ``tools`` from
            :func:`~opencompass_tooleval.core.calls.tool_calls.write_answer`.
        tools: The tools that it may call natively; None for none.
        model: ``''`` for the model under test, else the name of another, such as ``simulator``.
        may_be_too_long: True if the dialogue receives a refusal for length (an answer with the reason
            ``infra:truncated``) and shortens its request; otherwise it ends the dialogue like any failure.
        may_fail: True if the dialogue receives any failure (an answer with a reason ``infra:...``).
        name: Id of the recorded answer; by default that of the dialogue, with the round.
        key: Identifies a request to an auxiliary model that may be repeated; by default a digest of the request.
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
        """``key``, or 32 hex digits that identify the request."""
        if self.key:
            return self.key
        text = messages_text(self.messages) + (self.tools.to_text() if self.tools else '')
        if self.model:
            text += json.dumps({'model': self.model})
        return hashlib.blake2b(text.encode('ascii'), digest_size=16).hexdigest()


Dialogue = Generator[ModelRequest, Answer, T]
"""A dialogue that ends in a ``T``."""
