"""A task, an environment, and scripted models, for the tests of loops."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.loops.finish import finish_call
from opencompass_tooleval.agents.loops.loops import Loop
from opencompass_tooleval.agents.tasks.records import Data, find_subset, load_data
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.benchmarks.funcqa.data import PARAMETER, TOOL_NAMES, call_tool
from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.core.calls.dialogue import ModelRequest
from opencompass_tooleval.core.calls.tool_calls import GoldCall, ToolCall, read_answer
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.environments.bank import Bank, RecordedCall, write_bank
from opencompass_tooleval.environments.environment import Environment, FunctionAnswer, FunctionTool, Session
from tests.instructions.shared_data import real

NUMBERS = {
    'type': 'object',
    'properties': {PARAMETER: {'type': 'array', 'items': {'type': 'number'}}},
    'required': [PARAMETER],
}
TOOLS = (
    ToolSchema('multiply_', 'The product of numbers.', NUMBERS),
    ToolSchema('subtract_', 'The first number less the second.', NUMBERS),
)
TASK = Task(
    'q1',
    'support',
    'What is 12 * 25 - 42?',
    TOOLS,
    (GoldCall('multiply_', {'input': [12, 25]}), GoldCall('subtract_', {'input': [300, 42]})),
)
PRODUCT = ('multiply_', {'input': [12, 25]})
REST = ('subtract_', {'input': [300, 42]})


class Tools:
    """Tools that answer with what a function returns, and learn nothing."""

    def __init__(self, names: Sequence[str], answer: Callable[[str, Mapping[str, Any]], FunctionAnswer | str]) -> None:
        self.names, self._answer = tuple(names), answer

    def call(self, name: str, arguments: Mapping[str, Any]) -> FunctionAnswer:
        answer = self._answer(name, arguments)
        return FunctionAnswer(answer) if isinstance(answer, str) else answer

    def learn(self, name: str, arguments: Mapping[str, Any], response: str) -> None:
        """Nothing."""


def funcqa_functions() -> tuple[FunctionTool, ...]:
    """The published functions of a question, their rounding included."""

    def work_out(name: str, arguments: Mapping[str, Any]) -> FunctionAnswer:
        result = call_tool(name, dict(arguments))
        return FunctionAnswer(result.text, is_wrong_call=bool(result.error))

    return (Tools(TOOL_NAMES, work_out),)


@cache
def published(subset: str) -> Data:
    """The published tasks of a subset; skips the test where they are not at hand."""
    row = find_subset(subset)
    return load_data(real(f'{row.folder.removeprefix("data/")}/{row.file}'), subset)


def session_of(task: Task = TASK) -> Session:
    return Environment(stateful_tools=funcqa_functions).begin(task.id, task.schemas)


def oracle(request: ModelRequest, number: int = 0) -> Answer:
    if request.tools is None:
        return Answer(request.gold)
    text, calls = read_answer(request.gold)
    return Answer(text, calls=calls)


def calling(*calls: tuple[str, Any], text: str = '') -> Answer:
    return Answer(text, calls=tuple(ToolCall(name, arguments, f'id{n}') for n, (name, arguments) in enumerate(calls)))


def action(name: str, arguments: Any, thought: str = 'so') -> str:
    """A call in lagent's format; arguments may be a text that is no JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return f'Thought: {thought}\nAction: {name}\nAction Input: {text}'


def final(answer: str) -> str:
    return f'Thought: done\nFinal Answer: {answer}'


def finishing(answer: str = '258') -> tuple[str, dict[str, Any]]:
    """ToolBench's call that ends a run."""
    return 'Finish', finish_call(answer).arguments


def bank_of(folder: Path, calls: Iterable[RecordedCall]) -> Bank:
    write_bank(calls, folder / 'bank')
    return Bank(folder / 'bank')


def talk(
    loop: Loop, model: Callable[[ModelRequest, int], Answer | str], task: Task = TASK, session: Session | None = None
) -> tuple[Trajectory, list[ModelRequest]]:
    """What comes of a scripted model, and what it was asked.

    Args:
        loop: The loop.
        model: ModelRequest and how many turns there were before -> answer.
        task: The task.
        session: What answers; by default numbers are worked out.
    """
    dialogue = loop.run(task, session or session_of(task))
    requests: list[ModelRequest] = []
    try:
        request = next(dialogue)
        while True:
            requests.append(request)
            request = dialogue.send(as_answer(model(request, len(requests) - 1)))
    except StopIteration as end:
        return end.value, requests


def drive(loop: Loop, *answers: Answer | str, task: Task = TASK) -> tuple[Trajectory, list[ModelRequest]]:
    """What comes of given answers; the last is repeated as long as anything is asked."""
    return talk(loop, lambda _, number: answers[min(number, len(answers) - 1)], task)
