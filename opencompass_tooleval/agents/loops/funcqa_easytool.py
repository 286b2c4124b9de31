"""EasyTool's method in its published FuncQA runs (EasyTool, Section 5.3): the differences from ToolBench's runs.

A one-hop question is a single task, without a plan and without a log. Every task needs a tool, each tool has one API,
and a task is done when a call has a result. In a multi-hop question, each task sees the answers of all others.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from opencompass_tooleval.agents.loops import easytool
from opencompass_tooleval.agents.loops.easytool import NO_TASK, UNREADABLE_PARAMETERS, EasyTool, Log, MethodStopped
from opencompass_tooleval.agents.loops.easytool_tools import ShownTool
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.benchmarks.funcqa import prompts as funcqa_prompts
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.observation import ERROR
from opencompass_tooleval.core.calls.one_call import NOT_AN_OBJECT, UNKNOWN_TOOL
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.trajectory import NOT_FINISHED, TOO_MANY_STEPS, Trajectory
from opencompass_tooleval.environments.environment import Session
from opencompass_tooleval.environments.funcqa_tools import FuncQASession
from opencompass_tooleval.instructions import method_replies as replies
from opencompass_tooleval.instructions.method_replies import Reader, Unreadable
from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import to_entry

_FAILED = ('', '-1')
"""Results that count as a failed try; as published, this includes a correct result of -1."""


class FuncQAEasyTool(EasyTool):
    """The method on FuncQA.

    Attributes:
        entries: The tools as the model sees them.

    Args:
        instructions: The tools.
        options: Options of :class:`~opencompass_tooleval.agents.loops.easytool.EasyTool`; ``max_calls`` also bounds the
            tries.
    """

    def __init__(self, instructions: Mapping[str, ToolInstruction], **options: Any) -> None:
        super().__init__(max_steps=sys.maxsize, **options)
        self.entries: list[dict[str, Any]] = []
        self._tools = {}
        for index, tool in enumerate(instructions.values()):
            number = index if tool.id is None else tool.id
            self.entries.append({'ID': number, 'description': tool.description})
            usage = to_entry(tool, 'funcqa')['Usage']
            self._tools[str(number)] = ShownTool(tool.name, tool.description, {tool.name: usage})

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        """Runs a task; the trajectory has the state of each subtask."""
        assert isinstance(session, FuncQASession)
        return (yield from _Question(self, task, session, self._tools).run())


class _Question(easytool.Query):
    """State of one question."""

    prompts = funcqa_prompts
    max_result = 5_000
    kept = staticmethod(str)
    method: FuncQAEasyTool
    session: FuncQASession

    def run(self) -> Dialogue[Trajectory]:
        end = yield from super().run()
        check = replies.read_check(self.checked) if self.checked is not None else ''
        stopped = '' if end.stopped == NOT_FINISHED else end.stopped  # a summary may be empty
        return replace(end, stopped=stopped, tasks=tuple(self.tasks), check=check)

    @property
    def _is_one_hop(self) -> bool:
        return self.task.subset == 'one_hop'

    def _plan(self) -> Dialogue[list[dict[str, Any]]]:
        if self._is_one_hop:
            return [{'task': self.task.query, 'id': 1, 'dep': [NO_TASK]}]
        order = yield from super()._plan()
        if len(order) > self.method.max_calls:
            raise MethodStopped(TOO_MANY_STEPS)
        return order

    def _listed(self) -> dict[str, Any]:
        return {'Tool_list': [str(entry) for entry in self.method.entries]}

    def _log(self, row: Mapping[str, Any], answers: Mapping[Any, Any]) -> Log:
        return None if self._is_one_hop else {'Original Question': self.task.query, **answers}

    def _needs_tool(self, task: Any, gold: GoldCall | None) -> Dialogue[bool]:
        yield from ()
        return True

    def _begin_try(self) -> None:
        tries = 1 + sum(task['tries'] for task in self.tasks)
        if max(tries, len(self.session.calls)) > self.method.max_calls:
            raise MethodStopped(TOO_MANY_STEPS)

    def _selection(
        self, task: Any, shown: Mapping[str, ShownTool], tried: Collection[str]
    ) -> tuple[str, Reader, dict[str, Any]]:
        return self.prompts.CHOOSE_TOOL, replies.read_choice, {'question': task, 'Too_list': self.method.entries}

    def _number(self, chosen: Any) -> str:
        if str(chosen) not in self.tools:
            self.session.note(str(chosen), None, UNKNOWN_TOOL)
            raise MethodStopped(UNKNOWN_TOOL)
        return str(chosen)

    def _call_apis(self, task: Any, tool: ShownTool, log: Log, gold: GoldCall | None) -> Dialogue[list[str]]:
        try:
            passed = yield from self._parameters(task, tool.apis[tool.name], log, gold)
        except Unreadable as error:
            self.session.note(tool.name, str(error), UNREADABLE_PARAMETERS)
            return []
        if not isinstance(passed, (dict, list)):
            self.session.note(tool.name, passed, NOT_AN_OBJECT)
            return []
        results = []
        for given in passed if isinstance(passed, list) else [passed]:
            if len(self.session.calls) >= self.method.max_calls:
                raise MethodStopped(TOO_MANY_STEPS)
            observation = yield from self.session.ask(tool.name, given)
            if not isinstance(given, dict) and given not in ([], '', ()):
                raise MethodStopped(NOT_AN_OBJECT)  # the published run looks up keys without a check
            if observation.error == UNKNOWN_TOOL:
                results.append(f'No function named {tool.name} in data_funcqa/funchub/math.py')
            elif observation.source != ERROR:
                results.append(observation.text)
        return results

    def _is_done(self, task: Any, result: str, answer: str) -> Dialogue[bool]:
        yield from ()
        return result.strip() not in _FAILED
