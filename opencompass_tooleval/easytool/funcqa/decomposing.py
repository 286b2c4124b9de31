"""The EasyTool method: decompose, choose a tool, choose parameters, execute, answer (EasyTool, Sections 3.1 and 5.3).

A call that fails takes its subtask back to the choice of a tool, as the paper has it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.rounds import Rounds
from opencompass_tooleval.easytool.funcqa import prompts
from opencompass_tooleval.easytool.funcqa.arithmetic import ToolResult, call_tool, plain
from opencompass_tooleval.easytool.funcqa.dialogue import Options, Talk, gold_answer, gold_parameters
from opencompass_tooleval.easytool.funcqa.reading import read_object
from opencompass_tooleval.easytool.funcqa.records import Record, Step
from opencompass_tooleval.easytool.funcqa.trajectory import TOO_MANY_STEPS, ToolCall, Trajectory
from opencompass_tooleval.easytool.render import render_instruction

METHOD = 'easytool'
NO_TOOL = ToolResult(None, 'Error: this is no JSON such as {"Tool": "add_"}', 'tool:unreadable')
NO_PARAMETERS = ToolResult(None, 'Error: this is no JSON such as {"Parameters": {"input": [1, 2]}}', 'args:unreadable')


def easytool(record: Record, options: Options) -> Rounds[Trajectory]:
    """Runs the method; ``options.instructions`` holds all tools."""
    return (yield from _Question(record, options).run())


def read_tasks(text: str) -> list[str]:
    """The subtasks in ``{"Tasks": [...]}``; empty if there are none that can be read."""
    said = read_object(text)
    tasks = said.get('Tasks') if said else None
    return [prompts.shown(task) for task in tasks if isinstance(task, str)] if isinstance(tasks, list) else []


@dataclass
class _Question:
    """What has been done for one question."""

    record: Record
    options: Options
    talk: Talk = field(default_factory=Talk)
    calls: list[ToolCall] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    def run(self) -> Rounds[Trajectory]:
        tasks = yield from self._decompose()
        stopped = ''
        for number, task in enumerate(tasks):
            if len(self.calls) == self.options.max_steps:
                stopped = TOO_MANY_STEPS
                break
            yield from self._carry_out(task, self.record.steps[min(number, len(self.record.steps) - 1)])
        answer = yield from self._ask(prompts.ANSWER, gold_answer(self.record))
        rounds, settings = tuple(self.talk.rounds), self.options.settings()
        return Trajectory(METHOD, tuple(self.calls), answer, rounds, stopped, settings)

    def _ask(self, template: str, gold: str, **fields: str) -> Rounds[str]:
        tools = prompts.tool_list({name: tool.description for name, tool in self.options.instructions.items()})
        done = prompts.done_text(self.results)
        prompt = template.format(tools=tools, question=self.record.question, done=done, **fields)
        return (yield from self.talk.ask(prompt, gold))

    def _decompose(self) -> Rounds[list[str]]:
        gold = [f'{step.tool} of {", ".join(map(plain, step.numbers))}' for step in self.record.steps]
        said = yield from self._ask(prompts.DECOMPOSE, json.dumps({'Tasks': gold}))
        return read_tasks(said) or [self.record.question]

    def _carry_out(self, task: str, step: Step) -> Rounds[None]:
        failures: list[str] = []
        for _ in range(min(self.options.max_trials, self.options.max_steps - len(self.calls))):
            call, result = yield from self._try(task, step, failures)
            self.calls.append(call)
            said = prompts.call_text(call.name, call.parameters, result.text)
            if not result.error:
                self.results.append(f'{task}: {said}')
                return
            failures.append(said)
        self.results.append(f'{task}: no result')

    def _try(self, task: str, step: Step, failures: Sequence[str]) -> Rounds[tuple[ToolCall, ToolResult]]:
        failed = prompts.failed_text(failures)
        said = yield from self._ask(prompts.CHOOSE, json.dumps({'Tool': step.tool}), task=task, failed=failed)
        chosen = read_object(said)
        if chosen is None or 'Tool' not in chosen:
            return _called('', prompts.shown(said), NO_TOOL)
        name = chosen['Tool']
        if not isinstance(name, str) or name not in self.options.instructions:
            return _called(name, None, call_tool(name, None))
        said = yield from self._ask(
            prompts.PARAMETERS,
            json.dumps({'Parameters': gold_parameters(step)}),
            instruction=render_instruction(self.options.instructions[name]),
            task=task,
            failed=failed,
        )
        given = read_object(said)
        if given is None:
            return _called(name, prompts.shown(said), NO_PARAMETERS)
        parameters = given.get('Parameters', given)
        return _called(name, parameters, call_tool(name, parameters, self.options.rounded))


def _called(name: Any, parameters: Any, result: ToolResult) -> tuple[ToolCall, ToolResult]:
    return ToolCall.of(name, parameters, result), result
