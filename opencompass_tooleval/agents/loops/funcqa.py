"""FuncQA with the loops of agents: each method (EasyTool, Table 6) is a row of :data:`METHODS`.

A question is a task whose tools are FuncQA's functions. A loop's result is converted to the trajectory that FuncQA
stores and scores. The loops differ from those of other tasks in their prompts and in the methods that each row's class
overrides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from opencompass_tooleval.agents.loops import prompts as agent_prompts
from opencompass_tooleval.agents.loops.easytool import MAX_REQUESTS, MAX_TRIES
from opencompass_tooleval.agents.loops.funcqa_easytool import FuncQAEasyTool
from opencompass_tooleval.agents.loops.function_calling import FunctionCalling
from opencompass_tooleval.agents.loops.loops import Loop
from opencompass_tooleval.agents.loops.react import ReAct
from opencompass_tooleval.agents.loops.steps import Chain
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.benchmarks.funcqa import prompts
from opencompass_tooleval.benchmarks.funcqa.data import FIX, PARAMETER, TOOL_NAMES, Record, parse_payload
from opencompass_tooleval.benchmarks.funcqa.scoring import EASYTOOL
from opencompass_tooleval.core.calls.answer import USAGE, Answer, step_payloads, strip_reasoning
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import TOOL, Message, tool_messages
from opencompass_tooleval.core.calls.one_call import METHOD
from opencompass_tooleval.core.calls.tool_calls import GoldCall, calls_text
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import (
    NOT_FINISHED,
    TOO_MANY_CALLS,
    TOO_MANY_STEPS,
    AnsweredCall,
    Step,
    Trajectory,
)
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.environments.environment import Session
from opencompass_tooleval.environments.funcqa_tools import FuncQASession
from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions, to_entry
from opencompass_tooleval.work_dir.data_files import read_plain

if TYPE_CHECKING:
    from opencompass_tooleval.agents.loops.lagent_bridge import ToolReActProtocol

MAX_STEPS = 20
MAX_CALLS = 100

PARAMETERS = {
    'type': 'object',
    'properties': {PARAMETER: {'type': 'array', 'items': {'type': 'number'}}},
    'required': [PARAMETER],
}
"""Parameters of every tool: one list of numbers."""

TOOLS = tuple(ToolSchema(name, prompts.CALLING_FORMS[name], PARAMETERS) for name in TOOL_NAMES)
"""The 13 tools with their calling forms, the only documentation in the published data."""

DOCUMENTS = {
    tool.name: {
        'description': tool.description,
        'parameters': [{'name': PARAMETER, 'type': 'List'}],
        'required': [PARAMETER],
    }
    for tool in TOOLS
}
"""The tools as ReAct shows them."""


@dataclass(frozen=True)
class FuncQATask(Task):
    """A question of FuncQA as a task."""

    gold_answer: str = ''


def question_of(record: Record) -> FuncQATask:
    """Returns the task of a record."""
    gold = tuple(GoldCall(step.tool, step.parameters) for step in record.steps)
    return FuncQATask(record.id, record.subset, record.question, TOOLS, gold, DOCUMENTS, gold_answer=record.gold_answer)


class OneRound:
    """Sends one request for the answer, or for thoughts and the answer, without tools.

    Args:
        template: The prompt, with ``{question}``.
    """

    def __init__(self, template: str) -> None:
        self._template = template
        self.settings: dict[str, Any] = {}

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        """Runs a task."""
        chain = Chain('', self.settings)
        message = Message('user', self._template.format(question=task.query))
        chain.add((yield ModelRequest((message,), task.gold_answer)))
        return chain.end()


class FuncQAReAct(ReAct):
    """ReAct with FuncQA's prompt and demonstrations."""

    def _protocol(self, task: Task) -> ToolReActProtocol:
        from opencompass_tooleval.agents.loops.lagent_bridge import ToolReActProtocol

        return ToolReActProtocol(prompts.REACT_SYSTEM, prompts.REACT_STOP_WORDS)

    def _golds(self, task: Task) -> list[str]:
        *calls, _ = super()._golds(task)
        return [*calls, f'Final Answer: {task.gold_answer.removeprefix("Answer: ")}']

    def _beginning(self, task: Task) -> list[Message]:
        shown = [Message(role, content) for role, content in prompts.DEMONSTRATIONS]
        return [*shown, Message('user', prompts.REACT_QUESTION.format(question=task.query))]


class FuncQAFunctionCalling(FunctionCalling):
    """Function calling in which any answer without a call is the final answer."""

    systems = dict.fromkeys(agent_prompts.FUNCTION_CALLING, prompts.FUNCTION_CALLING)
    reminds = False
    splits_answers = False

    def _continuation(
        self, answer: Answer, carried_out: list[AnsweredCall], earlier: tuple[Message, ...]
    ) -> tuple[Message, ...]:
        return tool_messages(answer, [call.observation for call in carried_out], earlier)


def _last_answer(end: Trajectory, steps: list[Step]) -> str:
    return strip_reasoning(steps[-1].text).text


def _summary(end: Trajectory, steps: list[Step]) -> str:
    return strip_reasoning(steps[-2].text).text  # the last step is the check


def _finish(end: Trajectory, steps: list[Step]) -> str:
    return f'Answer: {end.steps[-1].calls[-1].arguments}'


@dataclass(frozen=True)
class Method:
    """A method.

    Attributes:
        loop: Creates the loop from the options of :class:`FuncQADialogues` that it takes.
        options: Names of the options that the loop takes.
        final_answer: Returns the text that contains the final answer.
        settings: Names of the options that go into the trajectory's settings.
    """

    loop: Callable[..., Loop]
    options: tuple[str, ...] = ()
    final_answer: Callable[[Trajectory, list[Step]], str] = _last_answer
    settings: tuple[str, ...] = ()


METHODS: Mapping[str, Method] = {
    'zero_shot': Method(lambda: OneRound(prompts.ZERO_SHOT)),
    'cot': Method(lambda: OneRound(prompts.COT)),
    'react': Method(FuncQAReAct, ('max_steps',), _finish, ('max_steps', 'rounded')),
    EASYTOOL: Method(
        FuncQAEasyTool,
        ('instructions', 'max_tries', 'max_requests', 'max_calls', 'reading'),
        _summary,
        ('max_tries', 'max_requests', 'max_calls', 'reading', 'rounded', 'instructions'),
    ),
    METHOD: Method(FuncQAFunctionCalling, ('max_steps', 'max_calls'), settings=('max_steps', 'max_calls', 'rounded')),
}

_STOPS = dict.fromkeys((TOO_MANY_CALLS, NOT_FINISHED), TOO_MANY_STEPS)
"""Reason why an agent's loop ended -> FuncQA's reason."""


class FuncQADialogues:
    """Starts the dialogues of a method: ``dialogues`` of the inferencer.

    Args:
        method: ``zero_shot``, ``cot``, ``react``, ``easytool`` or ``function_calling``.
        instructions: EasyTool: a file with the instructions of the 13 tools.
        max_steps: ReAct and function calling: maximum number of the model's answers per question.
        max_tries: EasyTool: maximum number of choices of a tool per task, until a call has a result (the paper's R).
        max_requests: EasyTool: maximum number of requests until a reply can be parsed. 1 is enough for a model that
            repeats its answer (temperature 0).
        max_calls: EasyTool: maximum number of tries, and of calls, per question; the published run has no limit,
            and ChatGPT needs at most 17 for a question. Function calling: maximum number of calls.
        reading: EasyTool: ``official`` parses replies as the published runs do; ``strict`` also accepts an object in
            a code fence or within text.
        rounded: True to round results of tools as published.

    Raises:
        DataError: The file of instructions is missing, or lacks a tool.
        ImportError: lagent, which ReAct needs, is not installed.
        ValueError: The method or reading does not exist, or a limit is below 1.
    """

    def __init__(
        self,
        method: str,
        instructions: str | None = None,
        max_steps: int = MAX_STEPS,
        max_tries: int = MAX_TRIES,
        max_requests: int = MAX_REQUESTS,
        max_calls: int = MAX_CALLS,
        reading: str = 'official',
        rounded: bool = True,
    ) -> None:
        if method not in METHODS:
            raise ValueError(f'FuncQA has methods {", ".join(METHODS)}, not {method!r}')
        if method == EASYTOOL and instructions is None:
            raise ValueError('method easytool needs instructions, such as data/easytool/functions_data.json')
        row = METHODS[method]
        tools, source = _load_tools(instructions) if instructions else ({}, '')
        options = {
            'max_steps': max_steps,
            'max_tries': max_tries,
            'max_requests': max_requests,
            'max_calls': max_calls,
            'reading': reading,
        }
        taken = {**options, 'instructions': tools}
        recorded = {**options, 'instructions': source, 'rounded': rounded}
        self._name = method
        self._loop = row.loop(**{name: taken[name] for name in row.options})
        self._final_answer = row.final_answer
        self._settings = {name: recorded[name] for name in row.settings}
        self._rounded = rounded

    def __call__(self, row: Mapping[str, Any]) -> Dialogue[str]:
        """Starts the dialogue for one row; it returns the trajectory as JSON."""
        return (yield from self.begin(parse_payload(row['record']))).to_json()

    def begin(self, record: Record) -> Dialogue[Trajectory]:
        """Starts the dialogue for a record; it returns the trajectory."""
        session = FuncQASession(record.id, self._rounded)
        steps: list[Step] = []
        end = yield from _recorded(self._loop.run(question_of(record), session), session, steps)
        stopped = _STOPS.get(end.stopped, end.stopped)
        return replace(
            end,
            loop=self._name,
            steps=tuple(steps),
            final_answer='' if stopped else self._final_answer(end, steps),
            stopped=stopped,
            path=tuple(range(len(steps))),
            settings=self._settings,
        )


def _recorded(dialogue: Dialogue[Trajectory], session: FuncQASession, steps: list[Step]) -> Dialogue[Trajectory]:
    """Runs a dialogue, and appends prompts, answers and calls unchanged to ``steps``. Too long prompts fail."""
    request = next(dialogue)
    while True:
        answer = yield replace(request, may_be_too_long=False)
        text = '\n'.join(filter(None, (answer.text, calls_text(answer.calls))))
        parts = {name: part for name, part in step_payloads(answer).items() if name != USAGE}
        step = Step(text, parent=len(steps) - 1, asked=_asked(request.messages), **parts)
        earlier = len(session.calls)
        try:
            request = dialogue.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            steps.append(replace(step, calls=tuple(session.calls[earlier:])))


def _asked(messages: tuple[Message, ...]) -> str:
    """Returns the text of the last message, or of all tool messages at the end."""
    first = len(messages) - 1
    while messages[first].role == messages[first - 1].role == TOOL:
        first -= 1
    return '\n'.join(message.content for message in messages[first:])


def _load_tools(path: str) -> tuple[dict[str, ToolInstruction], str]:
    file = resolve_data_path(path, FIX)
    tools = load_instructions(file)
    missing = [name for name in TOOL_NAMES if name not in tools]
    if missing:
        raise DataError(file, f'no instruction for {", ".join(missing)}', fix=FIX)
    for tool in tools.values():
        try:
            to_entry(tool, 'funcqa')
        except ValueError as error:
            raise DataError(file, str(error), tool.name, FIX) from error
    digest = hashlib.blake2b(read_plain(file), digest_size=8).hexdigest()
    return tools, f'{file.name} {digest}'
