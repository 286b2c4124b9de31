"""Records made by hand, and a driver for dialogues."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from opencompass_tooleval.core.rounds import Rounds, Turn
from opencompass_tooleval.easytool.funcqa.dialogue import Options
from opencompass_tooleval.easytool.funcqa.records import Record, Step
from opencompass_tooleval.easytool.shapes import load_instructions
from tests.easytool.funcqa.funcqa_script import STAGES
from tests.easytool.shared_data import DEMO

T = TypeVar('T')

INSTRUCTIONS = load_instructions(DEMO / 'funcqa' / 'functions_data.json')
OPTIONS = Options(INSTRUCTIONS, source='demo')

RECORD = Record(
    id='7',
    subset='multi_hop',
    question='Twelve crates hold 25 pears each. How many are left when 42 are sold?',
    answer=258,
    published=258,
    gold='official',
    steps=(Step('multiply_', (12, 25), 300), Step('subtract_', (300, 42), 258)),
)


def drive(dialogue: Rounds[T], reply: Callable[[Turn], str]) -> T:
    """Runs a dialogue to its end on ``reply``."""
    turn = next(dialogue)
    while True:
        try:
            turn = dialogue.send(reply(turn))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def by_stage(**answers: str) -> Callable[[Turn], str]:
    """Gold answers, but for the stages named: those of ``STAGES``, or ``answer`` for methods of one round."""

    def reply(turn: Turn) -> str:
        prompt = turn.messages[-1].content
        stage = next((name for name, mark in STAGES.items() if mark in prompt), 'answer')
        return answers.get(stage, turn.gold)

    return reply
