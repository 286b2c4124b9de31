"""EasyTool's own method over ToolBench's tools, as its published runs have it (EasyTool, Section 5.1).

A question is decomposed, and its tasks are put in order. Per task: is a tool needed at all? Then up to five times a
tool is chosen, APIs of it, and the parameters of each; they are called, an answer is made of the results, and the model
checks it. At the end the answers are summarized. What stops the published run ends ours under a reason.

Of the published run this differs in one thing: a task that needs no tool is answered directly, as was meant; there the
published code calls a function without its model's name, and raises.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents import easytool_prompts as prompts
from opencompass_tooleval.agents.easytool_tools import ShownTool, nearest, tools_of, tools_of_instructions
from opencompass_tooleval.agents.prompts import GOLD_ANSWER
from opencompass_tooleval.agents.steps import MAX_TEXT, Chain, answered_call
from opencompass_tooleval.agents.task import GoldCall, Task
from opencompass_tooleval.agents.trajectory import (
    NO_ROOM,
    NOT_FINISHED,
    TOO_MANY_CALLS,
    TOO_MANY_STEPS,
    Trajectory,
)
from opencompass_tooleval.core.answer import Answer, as_answer, strip_reasoning
from opencompass_tooleval.core.jsonable import bounded_text
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.result import TRUNCATED
from opencompass_tooleval.core.rounds import Rounds, Turn
from opencompass_tooleval.core.similarity import Similarity
from opencompass_tooleval.easytool import method_replies as replies
from opencompass_tooleval.easytool.method import (
    MAX_FIELD,
    MAX_REQUESTS,
    MAX_TRIES,
    NO_TOOL,
    UNREADABLE_PARAMETERS,
    MethodStopped,
    ask_until_read,
    filled,
    plan,
)
from opencompass_tooleval.easytool.method_prompts import ANSWER_CHECK, ANSWER_SUMMARIZE, SYSTEM, TASK_TOPOLOGY
from opencompass_tooleval.easytool.method_replies import READINGS, Reader, Unreadable
from opencompass_tooleval.easytool.shapes import load_instructions
from opencompass_tooleval.easytool.toolbench.prompts import PUBLISHED_SELECTION
from opencompass_tooleval.environments.environment import Session
from opencompass_tooleval.host.data_path import resolve_data_path

NAME = 'easytool'
UNKNOWN_TOOL_NUMBER = 'tool:unknown_name'
UNREADABLE_REPLY = 'parse:not_a_literal'
MAX_RESULT = 1_000
"""Characters of the results of a try that the model is shown, as published."""

NEAREST = 5
"""Tools that are retrieved, as published."""

Log = list[dict[str, Any]] | None
"""Task and answer of each that a task depends on; None where it depends on none."""

_CHOOSE_TOOL = PUBLISHED_SELECTION
_PURPOSES = {
    prompts.TASK_DECOMPOSE: 'task_decompose',
    TASK_TOPOLOGY: 'task_topology',
    prompts.TOOL_CHECK: 'tool_check',
    _CHOOSE_TOOL: 'choose_tool',
    prompts.CHOOSE_API: 'choose_API',
    prompts.CHOOSE_PARAMETER: 'choose_parameter',
    prompts.CHOOSE_PARAMETER_DEPEND: 'choose_parameter_depend',
    prompts.ANSWER_GENERATION: 'answer_generation',
    prompts.ANSWER_GENERATION_DEPEND: 'answer_generation_depend',
    prompts.ANSWER_GENERATION_DIRECT: 'answer_generation_direct',
    ANSWER_CHECK: 'answer_check',
    ANSWER_SUMMARIZE: 'answer_summarize',
}
"""Prompt -> what EasyTool's code calls it: the purpose of a step."""


class EasyTool:
    """The method EasyTool.

    Args:
        retrieve: Whether a tool is chosen among the five whose descriptions are nearest to the task, of those of the
            query and those of ``corpus``; else among all of the query.
        corpus: A file of instructions whose tools may be retrieved too, looked for as data is.
        encoder: What finds the nearest: ``offline``, a folder or a hub id; by default ``$TOOLEVAL_ENCODER`` or the
            official one. Loaded with the first task.
        similarity: Gives it instead, when it is needed.
        max_tries: Choices of a tool per task at most (the paper's R).
        max_requests: How often the model is asked at most, until a reply can be read.
        max_calls: APIs chosen and called per query at most; the published run has no bound.
        max_steps: Answers of the model per query at most; the published run has no bound.
        reading: How replies are read, one of :data:`~opencompass_tooleval.easytool.method_replies.READINGS`.

    Raises:
        ValueError: There is no such reading, a bound is no positive number, or there is a corpus and no retrieval.
    """

    def __init__(
        self,
        *,
        retrieve: bool = False,
        corpus: str | None = None,
        encoder: str | None = None,
        similarity: Callable[[], Similarity] | None = None,
        max_tries: int = MAX_TRIES,
        max_requests: int = MAX_REQUESTS,
        max_calls: int = 100,
        max_steps: int = 500,
        reading: str = 'official',
    ) -> None:
        if reading not in READINGS:
            raise ValueError(f'reading is {reading!r}; it is one of {", ".join(READINGS)}')
        if min(max_tries, max_requests, max_calls, max_steps) < 1:
            raise ValueError('max_tries, max_requests, max_calls and max_steps are 1 at least')
        if corpus and not retrieve:
            raise ValueError('a corpus is for retrieve=True')
        self.retrieve = retrieve
        self.corpus = corpus
        self.max_tries = max_tries
        self.max_requests = max_requests
        self.max_calls = max_calls
        self.max_steps = max_steps
        self.reading = reading
        self._encoder = encoder
        self._similarity = similarity

    @property
    def settings(self) -> dict[str, Any]:
        """What a trajectory says of the options."""
        retrieval = (
            {'corpus': self.corpus and Path(self.corpus).name, 'encoder': self.similarity().name}
            if self.retrieve
            else {}
        )
        return {
            'retrieve': self.retrieve,
            **retrieval,
            'max_tries': self.max_tries,
            'max_requests': self.max_requests,
            'max_calls': self.max_calls,
            'max_steps': self.max_steps,
            'reading': self.reading,
            'prompts': 'published',
        }

    def similarity(self) -> Similarity:
        """What finds the nearest tools."""
        return self._similarity() if self._similarity else _shared_similarity(self._encoder)

    def run(self, task: Task, session: Session) -> Rounds[Trajectory]:
        """Carries out a task; a step is one answer of the model, and a call belongs to that which gave its parameters.

        Args:
            task: The task.
            session: What answers its calls.
        """
        tools = tools_of(task)
        if self.corpus:
            own = {tool.name for tool in tools}
            more = [tool for tool in _corpus(self.corpus) if tool.name not in own]
            session.offer({api: {} for tool in more for api in tool.apis})
            tools += more
        return (yield from _Query(self, task, session, tools).run())


@lru_cache(maxsize=4)
def _corpus(path: str) -> list[ShownTool]:
    file = resolve_data_path(path, f'tooleval easytool generate --source toolbench --input DATA --out {path}')
    return tools_of_instructions(load_instructions(file))


def _shared_similarity(encoder: str | None) -> Similarity:
    # Here, since the first commands must not import numpy, and the other loops need no encoder.
    from opencompass_tooleval.embedding.cache import default_cache
    from opencompass_tooleval.embedding.encoder import shared_encoder
    from opencompass_tooleval.embedding.locate import choose_encoder, locate_encoder

    return shared_encoder(locate_encoder(choose_encoder(encoder, 'EN')), default_cache())


class _Query:
    """What has been done for one query."""

    def __init__(self, method: EasyTool, task: Task, session: Session, tools: Sequence[ShownTool]) -> None:
        self.method = method
        self.task = task
        self.session = session
        self.tools = {str(number): tool for number, tool in enumerate(tools, start=1)}
        self.apis = {name: tool.apis[name] for tool in tools for name in tool.apis}
        self.chain = Chain(NAME, method.settings)
        self.called = 0

    def run(self) -> Rounds[Trajectory]:
        try:
            answer = bounded_text((yield from self._answer()), MAX_TEXT)
        except MethodStopped as stop:
            return self.chain.end(stopped=stop.reason)
        return self.chain.end(answer, '' if answer else NOT_FINISHED)

    def _answer(self) -> Rounds[Answer]:
        golds = self.task.oracle_calls
        query = self.task.query
        steps = [f'Use {call.name}.' for call in golds] or [query]
        tasks = yield from plan(self._read, prompts.TASK_DECOMPOSE, query, {}, steps)
        answers: dict[str, dict[str, Any]] = {}
        for place, row in enumerate(tasks):
            log = None if -1 in row['dep'] else [answers[key] for key in map(str, row['dep']) if key in answers]
            gold = golds[min(place, len(golds) - 1)] if golds else None
            answer = yield from self._carry_out(row['task'], log, gold)
            answers[str(row['id'])] = {'task': row['task'], 'answer': answer}
        answered = [row for row in answers.values() if row['answer']]
        return (yield from self._ask(ANSWER_SUMMARIZE, GOLD_ANSWER, {'question': query, 'answer_task': answered}))

    def _ask(self, template: str, gold: str, fields: Mapping[str, Any]) -> Rounds[Answer]:
        """Asks once; the answer, without a reasoning model's thoughts, is a step."""
        if len(self.chain.steps) >= self.method.max_steps:
            raise MethodStopped(TOO_MANY_STEPS)
        system = prompts.TOOL_CHECK_SYSTEM if template == prompts.TOOL_CHECK else SYSTEM
        messages = Message('system', system), Message('user', filled(template, fields))
        answer = as_answer((yield Turn(messages, gold, may_be_too_long=True)))
        if answer.reason == TRUNCATED:
            raise MethodStopped(NO_ROOM)
        self.chain.add(answer, purpose=_PURPOSES[template])
        return strip_reasoning(answer)

    def _read(self, template: str, gold: Any, read: Reader, fields: Mapping[str, Any]) -> Rounds[Any]:
        """Asks until a reply can be read; raises :class:`Unreadable` if none can."""

        def read_step(reply: str, reading: str) -> Any:
            try:
                return read(reply, reading)
            except Unreadable:
                self.chain.add_reason(UNREADABLE_REPLY)
                raise

        limits = self.method.max_requests, self.method.reading
        return (yield from ask_until_read(self._ask, template, gold, read_step, fields, *limits))

    def _carry_out(self, task: Any, log: Log, gold: GoldCall | None) -> Rounds[str]:
        """Tries a task until the model is content with its answer; returns the last answer, or ``''``."""
        if not (yield from self._needs_tool(task, gold)):
            direct = yield from self._ask(prompts.ANSWER_GENERATION_DIRECT, GOLD_ANSWER, {'task': task})
            return bounded_text(direct, MAX_TEXT)
        answer = ''
        left = dict(self.tools)
        for _ in range(self.method.max_tries):
            if not left:
                break
            tool = yield from self._choose_tool(task, left, gold)
            if tool is None:
                continue
            results = yield from self._call_apis(task, tool, log, gold)
            if not results:
                continue
            answer = yield from self._generate(task, '\n\n'.join(results)[:MAX_RESULT], log)
            if (yield from self._is_content(task, answer)):
                break
        return answer

    def _needs_tool(self, task: Any, gold: GoldCall | None) -> Rounds[bool]:
        gold_reply = {'Reason': 'The task says so.', 'Choice': 'Yes' if gold else 'No'}
        try:
            return bool((yield from self._read(prompts.TOOL_CHECK, gold_reply, replies.read_need, {'task': task})))
        except Unreadable:
            return True

    def _choose_tool(self, task: Any, left: dict[str, ShownTool], gold: GoldCall | None) -> Rounds[ShownTool | None]:
        """The tool that is chosen, which is no longer left; None where no reply can be read."""
        shown: Mapping[str, ShownTool] = left
        if self.method.retrieve:
            shown = nearest(str(task)[:MAX_FIELD], left, self.method.similarity(), NEAREST)
        listed = '\n'.join(f'ID: {number}\n{tool.description}' for number, tool in shown.items())
        gold_number = next((number for number, tool in shown.items() if gold and gold.name in tool.apis), '1')
        fields = {'query': task, 'tools': listed}
        try:
            choice = yield from self._read(_CHOOSE_TOOL, {'ID': int(gold_number)}, replies.read_choice_at_end, fields)
        except Unreadable:
            return None
        if not isinstance(choice, dict) or 'ID' not in choice:
            raise MethodStopped(NO_TOOL)
        number = str(choice['ID'])
        if number not in self.tools:
            self.chain.add_reason(UNKNOWN_TOOL_NUMBER)
            raise MethodStopped(UNKNOWN_TOOL_NUMBER)
        left.pop(number, None)
        return self.tools[number]

    def _call_apis(self, task: Any, tool: ShownTool, log: Log, gold: GoldCall | None) -> Rounds[list[str]]:
        """What the calls of a tool's APIs return."""
        fields = {
            'API_instruction': tool.description,
            'input_execute_rapidapi_api_note': '',
            'API_list': list(tool.apis),
            'question': task,
        }
        try:
            names = yield from self._read(prompts.CHOOSE_API, [gold.name] if gold else [], replies.read_names, fields)
        except Unreadable:
            return []
        results: list[str] = []
        for name in names:
            self._count_call()
            guideline = tool.apis.get(name) or self.apis.get(name)
            if guideline is None:
                results.append((yield from self._call(name, {})))  # there is nothing to choose its parameters by
                continue
            for place, passed in enumerate((yield from self._parameters(task, guideline, log, gold))):
                if place:
                    self._count_call()
                results.append((yield from self._call(name, passed)))
        return results

    def _count_call(self) -> None:
        self.called += 1
        if self.called > self.method.max_calls:
            raise MethodStopped(TOO_MANY_CALLS)

    def _parameters(
        self, task: Any, guideline: Mapping[str, Any], log: Log, gold: GoldCall | None
    ) -> Rounds[Iterator[Any]]:
        """What is passed in each call of an API: one for an object, several for a list of them."""
        gold_reply = {'Parameters': gold.arguments if gold else {}}
        fields = {'question': task, 'api_dic': dict(guideline), 'previous_log': log}
        template = prompts.CHOOSE_PARAMETER_DEPEND if log is not None else prompts.CHOOSE_PARAMETER
        read = replies.read_parameters_depend if log is not None else replies.read_parameters
        try:
            passed = yield from self._read(template, gold_reply, read, fields)
        except Unreadable:
            self.chain.add_reason(UNREADABLE_PARAMETERS)
            return iter(())
        if not isinstance(passed, (dict, list)):
            self.chain.add_reason(UNREADABLE_PARAMETERS)
            return iter(())
        return iter(passed if isinstance(passed, list) else [passed])

    def _call(self, name: str, arguments: Any) -> Rounds[str]:
        observation = yield from self.session.ask(name, arguments)
        call = answered_call(name, arguments, observation, MAX_RESULT)
        self.chain.add_call(call)
        return observation.text[: MAX_RESULT + 1]

    def _generate(self, task: Any, result: str, log: Log) -> Rounds[str]:
        template = prompts.ANSWER_GENERATION_DEPEND if log is not None else prompts.ANSWER_GENERATION
        fields = {'question': task, 'call_result': result, 'previous_log': log}
        return bounded_text((yield from self._ask(template, GOLD_ANSWER, fields)), MAX_TEXT)

    def _is_content(self, task: Any, answer: str) -> Rounds[bool]:
        gold = json.dumps({'Reason': 'It says what was called.', 'Choice': 'Yes'})
        reply = yield from self._ask(ANSWER_CHECK, gold, {'question': task, 'answer': answer})
        return 'yes' in reply.lower()
