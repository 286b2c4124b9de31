"""What all methods of FuncQA share: their options, asking, and what a perfect model would say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.answer import Answer, strip_reasoning
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.rounds import Rounds, Turn
from opencompass_tooleval.easytool.funcqa.arithmetic import PARAMETER, plain
from opencompass_tooleval.easytool.funcqa.records import Record, Step
from opencompass_tooleval.easytool.instruction import ToolInstruction

MAX_STEPS = 20
MAX_TRIALS = 3


@dataclass(frozen=True)
class Options:
    """What a method is run with.

    Attributes:
        instructions: Tool name -> instruction, for the methods that show any.
        max_steps: Calls of tools per question at most, failed ones included.
        max_trials: Calls per subtask at most, until one succeeds (the paper's R, whose value it does not say).
        rounded: Whether results are normalised as published.
        source: Names the file of the instructions, for the record.
    """

    instructions: Mapping[str, ToolInstruction] = field(default_factory=dict)
    max_steps: int = MAX_STEPS
    max_trials: int = MAX_TRIALS
    rounded: bool = True
    source: str = ''

    def settings(self) -> dict[str, Any]:
        """What the trajectory of a method with tools says of them."""
        return {
            'max_steps': self.max_steps,
            'max_trials': self.max_trials,
            'rounded': self.rounded,
            'instructions': self.source,
        }


class Talk:
    """Asks in single messages, and keeps what was said."""

    def __init__(self) -> None:
        self.rounds: list[dict[str, str]] = []

    def ask(self, prompt: str, gold: str) -> Rounds[Answer]:
        """Asks; returns the answer without a reasoning model's thoughts.

        Args:
            prompt: The message.
            gold: What a perfect model would say.
        """
        said = yield Turn((Message('user', prompt),), gold)
        self.rounds.append({'asked': prompt, 'answer': str(said)})
        return strip_reasoning(said)


def gold_answer(record: Record) -> str:
    """What a perfect model ends with."""
    return f'Answer: {plain(record.answer)}'


def gold_parameters(step: Step) -> dict[str, Any]:
    """What a perfect model passes in a step of the published calculation."""
    return {PARAMETER: list(step.numbers)}
