"""Records made by hand, and a driver for dialogues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from opencompass_tooleval.agents.loops.funcqa import FuncQADialogues
from opencompass_tooleval.benchmarks.funcqa.data import Calculation, Record
from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions
from tests.benchmarks.funcqa.funcqa_script import STAGES
from tests.instructions.shared_data import DEMO

T = TypeVar('T')

INSTRUCTIONS = load_instructions(DEMO / 'funcqa' / 'functions_data.json')
INSTRUCTIONS_FILE = 'tooleval:demo/funcqa/functions_data.json'

RECORD = Record(
    id='7',
    subset='multi_hop',
    question='Twelve crates hold 25 pears each. How many are left when 42 are sold?',
    answer=258,
    published=258,
    gold='official',
    steps=(Calculation('multiply_', (12, 25), 300), Calculation('subtract_', (300, 42), 258)),
)


def begin(method: str, record: Record = RECORD, **options: Any) -> Dialogue[Trajectory]:
    """The dialogue of a method about a question, with the demo's instructions."""
    return FuncQADialogues(method, **{'instructions': INSTRUCTIONS_FILE, **options}).begin(record)


def drive(dialogue: Dialogue[T], reply: Callable[[ModelRequest], Answer | str]) -> T:
    request = next(dialogue)
    while True:
        try:
            request = dialogue.send(as_answer(reply(request)))
        except StopIteration as end:
            return end.value


def by_stage(**answers: str) -> Callable[[ModelRequest], str]:
    """Gold answers, but for the stages named: those of ``STAGES``, or ``answer`` for methods of one round."""

    def reply(request: ModelRequest) -> str:
        prompt = request.messages[-1].content
        stage = next((name for name, mark in STAGES.items() if mark in prompt), 'answer')
        return answers.get(stage, request.gold)

    return reply
