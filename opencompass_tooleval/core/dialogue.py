"""Dialogues with a model that take several rounds, as generators: what to ask comes out, what was answered goes in.

A method for one question is a generator function::

    def two_steps(question: str) -> Dialogue[Answer]:
        plan = yield ModelRequest((Message('user', f'Plan: {question}'),))
        return (yield ModelRequest((Message('user', f'Carry out: {plan.text}'),)))

It does no input or output of its own, so that any number of dialogues can advance together, and one that was
interrupted is brought back by giving it the answers it had already.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.tool_set import ToolSet

T = TypeVar('T')


@dataclass(frozen=True)
class ModelRequest:
    """What a model is asked in one round.

    Attributes:
        messages: The whole conversation as the model sees it.
        gold: What a perfect model would say, for the oracle model only; with ``tools`` as
            :func:`~opencompass_tooleval.core.tool_calls.write_answer` has it.
        tools: What it may call natively; None for nothing.
        model: Whom to ask: ``''`` for the model under test, else another's name, such as ``simulator``.
        may_be_too_long: Whether a refusal for length (an answer with the reason ``infra:truncated``) is given to the
            dialogue, which then asks for less; otherwise it ends the dialogue as any failure does.
        may_fail: Whether any failure (an answer with a reason ``infra:...``) is given to the dialogue.
        name: Id under which a recorded answer is looked for; by default the dialogue's, with the round.
        key: Stands for the question where the same may be asked several times, of another model than that under test;
            by default a digest of what is asked.
    """

    messages: tuple[Message, ...]
    gold: str = ''
    tools: ToolSet | None = None
    model: str = ''
    may_be_too_long: bool = False
    may_fail: bool = False
    name: str = ''
    key: str = ''


Dialogue = Generator[ModelRequest, Answer, T]
"""A dialogue that ends in a ``T``."""
