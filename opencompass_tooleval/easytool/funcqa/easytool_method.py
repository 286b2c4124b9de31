"""The EasyTool method as its published FuncQA runs have it: tasks, and per task a tool, its parameters and an answer.

A question of one hop is its only task. One of several is decomposed, and its tasks are put in order. What stops the
published run ends the question without an answer, under a reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.core.jsonable import bounded_text
from opencompass_tooleval.core.rounds import Rounds
from opencompass_tooleval.easytool import method_replies as replies
from opencompass_tooleval.easytool.funcqa import easytool_prompts as prompts
from opencompass_tooleval.easytool.funcqa.arithmetic import (
    NOT_AN_OBJECT,
    UNKNOWN_NAME,
    ToolResult,
    call_tool,
    plain,
)
from opencompass_tooleval.easytool.funcqa.dialogue import Options, Talk, gold_answer, gold_parameters
from opencompass_tooleval.easytool.funcqa.records import Record, Step
from opencompass_tooleval.easytool.funcqa.trajectory import EASYTOOL, TOO_MANY_STEPS, ToolCall, Trajectory
from opencompass_tooleval.easytool.method import (
    NO_TOOL,
    UNREADABLE_PARAMETERS,
    MethodStopped,
    ask_until_read,
    filled,
    plan,
)
from opencompass_tooleval.easytool.method_replies import Reader, Unreadable
from opencompass_tooleval.easytool.shapes import to_entry

MAX_RESULT = 5_000
"""Characters of a result that the model is shown, as published."""

_FAILED = ('', '-1')
"""Results that make a try a failed one. A true result of -1 is one of them, as published."""


def easytool(record: Record, options: Options) -> Rounds[Trajectory]:
    """Runs the method; ``options.instructions`` holds all tools."""
    return (yield from _Question(record, options).run())


@dataclass(frozen=True)
class _Tool:
    """What the model is shown of a tool."""

    name: str
    usage: Any
    entry: Mapping[str, Any]


def _tools(options: Options) -> dict[str, _Tool]:
    """The tools by the text of their ID: as in the published file, else their place in it."""
    tools = {}
    for place, instruction in enumerate(options.instructions.values()):
        number = place if instruction.id is None else instruction.id
        entry = {'ID': number, 'description': instruction.description}
        tools[str(number)] = _Tool(instruction.name, to_entry(instruction, 'funcqa')['Usage'], entry)
    return tools


@dataclass
class _Question:
    """What has been done for one question."""

    record: Record
    options: Options
    talk: Talk = field(default_factory=lambda: Talk(prompts.SYSTEM))
    calls: list[ToolCall] = field(default_factory=list)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    tries: int = 0

    def __post_init__(self) -> None:
        self.tools = _tools(self.options)
        self.ids = {tool.name: tool.entry['ID'] for tool in self.tools.values()}

    def run(self) -> Rounds[Trajectory]:
        answer, stopped, check = '', '', ''
        try:
            answer = yield from self._answer()
            check = yield from self._check(answer)
        except MethodStopped as stop:
            stopped = stop.reason
        rounds, tasks = tuple(self.talk.rounds), tuple(self.tasks)
        return Trajectory(EASYTOOL, tuple(self.calls), answer, rounds, stopped, self.options.settings(), tasks, check)

    def _answer(self) -> Rounds[str]:
        if self.record.subset == 'one_hop':
            yield from self._carry_out(self.record.question, None, self.record.steps[0])
        else:
            order = yield from self._plan()
            log: dict[Any, Any] = {'Original Question': self.record.question}
            log |= {task['id']: {'task': task['task'], 'answer': ''} for task in order}
            for place, task in enumerate(order):
                # The model may plan more tasks than the published calculation has steps.
                step = self.record.steps[min(place, len(self.record.steps) - 1)]
                log[task['id']]['answer'] = yield from self._carry_out(task['task'], log, step)
        answers = [{'task': task['task'], 'answer': task['answer']} for task in self.tasks if task['done']]
        fields = {'question': self.record.question, 'answer_task': answers}
        return (yield from self._ask(prompts.ANSWER_SUMMARIZE, gold_answer(self.record), fields))

    def _ask(self, template: str, gold: str, fields: Mapping[str, Any]) -> Rounds[Answer]:
        return (yield from self.talk.ask(filled(template, fields), gold))

    def _read(self, template: str, gold: Any, read: Reader, fields: Mapping[str, Any]) -> Rounds[Any]:
        """Asks until a reply can be read; raises :class:`Unreadable` if none can."""
        limits = self.options.max_requests, self.options.reading
        return (yield from ask_until_read(self._ask, template, gold, read, fields, *limits))

    def _plan(self) -> Rounds[list[dict[str, Any]]]:
        steps = [f'{step.tool} of {", ".join(map(plain, step.numbers))}' for step in self.record.steps]
        listed = {'Tool_list': [str(tool.entry) for tool in self.tools.values()]}
        order = yield from plan(self._read, prompts.TASK_DECOMPOSE, self.record.question, listed, steps)
        if len(order) > self.options.max_calls:
            raise MethodStopped(TOO_MANY_STEPS)
        return order

    def _carry_out(self, task: Any, log: Mapping[Any, Any] | None, step: Step) -> Rounds[str]:
        """Tries a task until a call gives something; returns the last answer, good or not."""
        row = {'task': task, 'answer': '', 'done': False, 'tries': 0}
        self.tasks.append(row)
        while not row['done'] and row['tries'] < self.options.max_tries:
            self._count_try()
            row['tries'] += 1
            result = (yield from self._try(task, log, step))[:MAX_RESULT]
            template = prompts.ANSWER_GENERATION if log is None else prompts.ANSWER_GENERATION_DEPEND
            fields = {'question': task, 'call_result': result, 'previous_log': log}
            row['answer'] = str((yield from self._ask(template, f'The result is {result}.', fields)))
            row['done'] = result.strip() not in _FAILED
        return str(row['answer'])

    def _count_try(self) -> None:
        self.tries += 1
        if max(self.tries, len(self.calls)) > self.options.max_calls:
            raise MethodStopped(TOO_MANY_STEPS)

    def _try(self, task: Any, log: Mapping[Any, Any] | None, step: Step) -> Rounds[str]:
        """Chooses a tool and its parameters, and calls it; returns the result as text, ``''`` if there is none."""
        fields = {'question': task, 'Too_list': [tool.entry for tool in self.tools.values()]}
        try:
            chosen = yield from self._read(
                prompts.CHOOSE_TOOL, {'ID': self.ids[step.tool]}, replies.read_choice, fields
            )
        except Unreadable:
            return ''
        if chosen == -1:
            return ''
        tool = self._find(chosen)
        one_hop = log is None
        try:
            parameters = yield from self._read(
                prompts.CHOOSE_PARAMETER if one_hop else prompts.CHOOSE_PARAMETER_DEPEND,
                {'Parameters': gold_parameters(step)},
                replies.read_parameters if one_hop else replies.read_parameters_depend,
                {'question': task, 'api_dic': tool.usage, 'previous_log': log},
            )
        except Unreadable as error:
            self._note(tool.name, str(error), UNREADABLE_PARAMETERS)
            return ''
        return '\n\n'.join(self._call_all(tool.name, parameters))

    def _find(self, chosen: Any) -> _Tool:
        if not isinstance(chosen, dict) or 'ID' not in chosen:
            raise MethodStopped(NO_TOOL)
        tool = self.tools.get(str(chosen['ID']))
        if tool is None:
            self._note(str(chosen['ID']), None, UNKNOWN_NAME)
            raise MethodStopped(UNKNOWN_NAME)
        return tool

    def _note(self, name: str, parameters: Any, error: str) -> None:
        self.calls.append(ToolCall.of(name, bounded_text(parameters) or None, ToolResult('', error)))

    def _call_all(self, name: str, parameters: Any) -> Iterator[str]:
        """The results of the calls that succeed: one of an object, several of a list of them."""
        if not isinstance(parameters, (dict, list)):
            self._note(name, parameters, NOT_AN_OBJECT)
            return
        for given in parameters if isinstance(parameters, list) else [parameters]:
            if len(self.calls) >= self.options.max_calls:
                raise MethodStopped(TOO_MANY_STEPS)
            result = call_tool(name, given, self.options.rounded)
            self.calls.append(ToolCall.of(name, given, result))
            if not isinstance(given, dict) and given not in ([], '', ()):
                raise MethodStopped(NOT_AN_OBJECT)  # the published run looks up the keys of what has none
            if result.error == UNKNOWN_NAME:
                yield f'No function named {name} in data_funcqa/funchub/math.py'
            elif result.value is not None:
                yield result.value

    def _check(self, answer: str) -> Rounds[str]:
        fields = {'question': self.record.question, 'answer': answer}
        gold = json.dumps({'Reason': 'It is the result of the calculation.', 'Choice': 'Yes'})
        return replies.read_check((yield from self._ask(prompts.ANSWER_CHECK, gold, fields)))
