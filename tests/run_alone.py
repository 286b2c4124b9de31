"""A dialogue on given answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.core.calls.dialogue import Dialogue

T = TypeVar('T')


def run_alone(dialogue: Dialogue[T], answers: Sequence[Answer | str]) -> T:
    """Runs one dialogue on given answers.

    Raises:
        ValueError: It asks for more than there is, or ends before the last.
    """
    rest = iter(answers)
    try:
        next(dialogue)
        for answer in rest:
            dialogue.send(as_answer(answer))
    except StopIteration as end:
        left = len(list(rest))
        if left:
            raise ValueError(f'the dialogue ended with {left} answers left') from None
        return end.value
    raise ValueError(f'the dialogue asks for more than {len(answers)} answers')
