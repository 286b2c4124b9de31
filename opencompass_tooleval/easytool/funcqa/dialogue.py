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
from opencompass_tooleval.easytool.method import MAX_REQUESTS, MAX_TRIES

MAX_STEPS = 20
MAX_CALLS = 100


@dataclass(frozen=True)
class Options:
    """What a method is run with.

    Attributes:
        instructions: Tool name -> instruction, for the methods that show any.
        max_steps: ReAct and function calling: answers of the model per question at most.
        max_tries: EasyTool: choices of a tool per task at most, until a call gives something (the paper's R).
        max_requests: EasyTool: how often the model is asked at most, until a reply can be read.
        max_calls: EasyTool: tries, and calls of tools, per question at most; the published run has no bound. Of
            ChatGPT's questions none needs more than 17. Function calling: calls.
        reading: EasyTool: how replies are read, one of :data:`~opencompass_tooleval.easytool.method_replies.READINGS`.
        rounded: Whether results are rounded as published.
        source: Names the file of the instructions, for the record.
    """

    instructions: Mapping[str, ToolInstruction] = field(default_factory=dict)
    max_steps: int = MAX_STEPS
    max_tries: int = MAX_TRIES
    max_requests: int = MAX_REQUESTS
    max_calls: int = MAX_CALLS
    reading: str = 'official'
    rounded: bool = True
    source: str = ''

    def settings(self) -> dict[str, Any]:
        """What a trajectory of the method EasyTool says of them."""
        return {
            'max_tries': self.max_tries,
            'max_requests': self.max_requests,
            'max_calls': self.max_calls,
            'reading': self.reading,
            'rounded': self.rounded,
            'instructions': self.source,
        }


class Talk:
    """Asks in single messages, and keeps what was asked and answered.

    Args:
        system: Stands before each of them; ``''`` for none.
    """

    def __init__(self, system: str = '') -> None:
        self._before = (Message('system', system),) if system else ()
        self.rounds: list[dict[str, str]] = []

    def ask(self, prompt: str, gold: str) -> Rounds[Answer]:
        """Asks; returns the answer without a reasoning model's thoughts.

        Args:
            prompt: The message.
            gold: What a perfect model would say.
        """
        answer = yield Turn((*self._before, Message('user', prompt)), gold)
        self.rounds.append({'asked': prompt, 'answer': str(answer)})
        return strip_reasoning(answer)


def gold_answer(record: Record) -> str:
    """What a perfect model ends with."""
    return f'Answer: {plain(record.answer)}'


def gold_parameters(step: Step) -> dict[str, Any]:
    """What a perfect model passes in a step of the published calculation."""
    return {PARAMETER: list(step.numbers)}
