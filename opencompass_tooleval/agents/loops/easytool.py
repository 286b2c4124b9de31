"""EasyTool's published method: :class:`Query`, and its use with ToolBench's tools (Section 5.1).

FuncQA's runs (Section 5.3) omit some requests and parse some replies differently; these differences are in
:mod:`~opencompass_tooleval.agents.loops.funcqa_easytool`.

The model decomposes a question, and orders its tasks. For each task it first decides if a tool is needed. Then, up to
five times, it chooses a tool, APIs of the tool, and the parameters of each API; the APIs are called, the model writes
an answer from the results, and checks it. Finally the model summarizes the accepted answers and checks the summary;
this check has no effect. An error that stops the published run ends ours with a reason.

A try without a readable tool, API or parameters has an empty result; the model still writes an answer from it.

If a tool rejects the arguments of a call, the call is tried again with other argument names; if all are rejected, the
model sees no result (:mod:`~opencompass_tooleval.agents.loops.easytool`).

There is one deviation from the published run: a task that needs no tool is answered directly, as intended. The
published code raises there, since it calls a function without the model's name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.loops import easytool_prompts as prompts
from opencompass_tooleval.agents.loops.easytool_tools import ShownTool, nearest, tools_of, tools_of_instructions
from opencompass_tooleval.agents.loops.steps import MAX_TEXT, Chain, answered_call, as_written
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.answer import strip_reasoning
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.observation import WRONG_ARGUMENTS, Observation
from opencompass_tooleval.core.calls.one_call import UNKNOWN_TOOL
from opencompass_tooleval.core.calls.tool_calls import MAX_NAME_CHARS, GoldCall
from opencompass_tooleval.core.calls.trajectory import (
    NOT_FINISHED,
    OVER_CONTEXT,
    TOO_MANY_CALLS,
    TOO_MANY_STEPS,
    Trajectory,
)
from opencompass_tooleval.core.scoring.result import TRUNCATED
from opencompass_tooleval.core.scoring.scorer import Similarity
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.data_path import candidate_paths, resolve_data_path
from opencompass_tooleval.environments.environment import Session
from opencompass_tooleval.instructions import method_replies as replies
from opencompass_tooleval.instructions.method_replies import READINGS, Reader, Unreadable
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions
from opencompass_tooleval.work_dir.data_files import command_to_generate

_RESERVED = frozenset({'from', 'class', 'return', 'false', 'true', 'id', 'and', '', 'ID'})

_REWRITINGS: tuple[Callable[[str], str], ...] = (
    str,
    str.lower,
    lambda name: name.replace('-', '_'),
    lambda name: name.replace('\\', ''),
)
"""The rewriting of each try; each is applied to the names of the try before."""


def rewritten_arguments(arguments: Mapping[Any, Any], parameters: Collection[str]) -> Iterator[dict[Any, Any]]:
    """Yields the arguments for each try of a call, without repetitions.

    Args:
        arguments: The model's arguments.
        parameters: Names of the tool's parameters, which stay. No ToolBench function has a reserved name, but tools of
            other benchmarks do.
    """

    def renamed(name: Any, rewrite: Callable[[str], str]) -> Any:
        if not isinstance(name, str) or name in parameters:
            return name
        name = rewrite(name)
        return f'is_{name.lower()}' if name in _RESERVED and name not in parameters else name

    passed, tried = dict(arguments), None
    for rewrite in _REWRITINGS:
        passed = {renamed(name, rewrite): value for name, value in passed.items()}
        if passed != tried:
            yield passed
        tried = passed


NAME = 'easytool'
UNREADABLE_REPLY = 'parse:not_a_literal'
NO_TASKS = 'plan:no_tasks'
NO_ORDER = 'plan:no_order'
NO_CHOICE = 'parse:no_choice'
UNREADABLE_PARAMETERS = 'args:unreadable'

MAX_TRIES = 5
MAX_REQUESTS = 12

MAX_FIELD = 50_000
"""Maximum length of a prompt's field; the published runs have no limit, and real answers are far shorter."""

MAX_RESULT = 1_000
"""Maximum number of characters of a try's results in the prompt, as published."""

NEAREST = 5
"""Number of retrieved tools, as published."""

PREPARED, BY_ID = 'prepared', 'by_id'
TOOL_LISTS = (PREPARED, BY_ID)
"""Forms of the list of tools from which the model chooses one."""

UNKNOWN_DEPENDENCY = 'plan:unknown_dependency'

Log = Any
"""Earlier tasks and answers that a task sees, as a list or dict; None if it sees nothing."""

NOTHING = NO_TASK = -1
"""Value that means "no tool" and "no dependency" in the published code."""

_PURPOSES = {
    prompts.TASK_DECOMPOSE: 'task_decompose',
    prompts.TASK_TOPOLOGY: 'task_topology',
    prompts.TOOL_CHECK: 'tool_check',
    prompts.CHOOSE_TOOL: 'choose_tool',
    prompts.CHOOSE_API: 'choose_API',
    prompts.CHOOSE_PARAMETER: 'choose_parameter',
    prompts.CHOOSE_PARAMETER_DEPEND: 'choose_parameter_depend',
    prompts.ANSWER_GENERATION: 'answer_generation',
    prompts.ANSWER_GENERATION_DEPEND: 'answer_generation_depend',
    prompts.ANSWER_GENERATION_DIRECT: 'answer_generation_direct',
    prompts.ANSWER_CHECK: 'answer_check',
    prompts.ANSWER_SUMMARIZE: 'answer_summarize',
}
"""Prompt -> its name in EasyTool's code: the purpose of a step."""


class MethodStopped(Exception):
    """The published run stops here.

    Attributes:
        reason: The reason, as ``area:code``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class EasyTool:
    """The method EasyTool.

    Args:
        retrieve: True if the model chooses among the five tools of the query and of ``corpus`` whose descriptions are
            nearest to the task; False if it chooses among all tools of the query.
        tool_list: The form of the list of tools in the request to choose one. ``prepared``: as in the published runs,
            which list each key and value of a prepared tool as if it were a tool (``ID: ID``, ``7``,
            ``ID: Description``, text); tools that were tried stay in the list. ``by_id``: ``ID: 7``, text, without
            tools that were tried. The default is ``by_id`` with retrieval, as published, else ``prepared``.
        corpus: A file of instructions with more tools to retrieve; its path is resolved like that of a data file.
        encoder: Sentence encoder for retrieval: ``offline``, a folder or a hub id; the default is
            ``$TOOLEVAL_ENCODER``, else the official encoder. It is loaded with the first task.
        similarity: Creates the similarity, in place of ``encoder``, when it is needed.
        max_tries: Maximum number of choices of a tool per task (the paper's R).
        max_requests: Maximum number of requests until a reply can be parsed.
        max_calls: Maximum number of calls per query; the published run has no limit.
        max_steps: Maximum number of the model's answers per query; the published run has no limit.
        reading: Parser of replies, one of :data:`~opencompass_tooleval.instructions.method_replies.READINGS`.

    Raises:
        ValueError: The reading or list of tools does not exist, a limit is below 1, or a corpus is given without
            retrieval.
    """

    def __init__(
        self,
        *,
        retrieve: bool = False,
        tool_list: str | None = None,
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
        if tool_list not in (None, *TOOL_LISTS):
            raise ValueError(f'tool_list is {tool_list!r}; it is one of {", ".join(TOOL_LISTS)}')
        if min(max_tries, max_requests, max_calls, max_steps) < 1:
            raise ValueError('max_tries, max_requests, max_calls and max_steps must be at least 1')
        if corpus and not retrieve:
            raise ValueError('corpus needs retrieve=True')
        self.retrieve = retrieve
        self.tool_list = tool_list or (BY_ID if retrieve else PREPARED)
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
        """Options for the trajectory's settings."""
        retrieval = (
            {'corpus': self.corpus and Path(self.corpus).name, 'encoder': self.similarity().name}
            if self.retrieve
            else {}
        )
        return {
            'retrieve': self.retrieve,
            'tool_list': self.tool_list,
            **retrieval,
            'max_tries': self.max_tries,
            'max_requests': self.max_requests,
            'max_calls': self.max_calls,
            'max_steps': self.max_steps,
            'reading': self.reading,
            'prompts': 'published',
        }

    def similarity(self) -> Similarity:
        """Returns the similarity for retrieval."""
        return self._similarity() if self._similarity else _shared_similarity(self._encoder)

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        """Runs a task; a step is one answer of the model, and a call belongs to the step with its parameters.

        Args:
            task: The task.
            session: Answers its calls.
        """
        tools = tools_of(task)
        if self.corpus:
            offered = {tool.name for tool in tools}
            more = [tool for tool in _corpus(self.corpus) if tool.name not in offered]
            session.offer({api: {} for tool in more for api in tool.apis})
            tools += more
        return (yield from Query(self, task, session, {str(n): tool for n, tool in enumerate(tools, start=1)}).run())


@lru_cache(maxsize=4)
def _corpus(path: str) -> list[ShownTool]:
    file = resolve_data_path(path, command_to_generate('toolbench', Path('DATA'), candidate_paths(path)[0]))
    return tools_of_instructions(load_instructions(file))


def _shared_similarity(encoder: str | None) -> Similarity:
    # Imported here: fast commands must not import numpy, and the other loops need no encoder.
    from opencompass_tooleval.embedding.encoder import shared_encoder
    from opencompass_tooleval.embedding.locate import choose_encoder, default_cache, locate_encoder

    return shared_encoder(locate_encoder(choose_encoder(encoder, 'EN')), default_cache())


def listed_tools(shown: Mapping[str, ShownTool], tried: Collection[str], form: str) -> str:
    """Returns the list of tools in the request to choose one.

    Args:
        shown: Number -> tool.
        tried: Numbers that were chosen before.
        form: One of :data:`TOOL_LISTS`. As published, the keys of a prepared entry are listed as if they were numbers,
            and keys that were chosen are left out: a model that chooses ``ID`` sees no number any more.
    """
    if form == BY_ID:
        rows = [(number, tool.description) for number, tool in shown.items()]
    else:
        rows = [row for number, tool in shown.items() for row in (('ID', number), ('Description', tool.description))]
    return '\n'.join(f'ID: {key}\n{value}' for key, value in rows if key not in tried)


class Query:
    """State of one query.

    Attributes:
        tasks: ``task``, ``answer``, ``done`` (True if the answer is accepted) and ``tries`` of each task, in order.
        checked: The model's check of its summary; None if it was not requested.

    Args:
        method: The options.
        task: The query.
        session: Answers its calls.
        tools: The tools by number, as text.
    """

    prompts: Any = prompts
    max_result = MAX_RESULT
    kept: Callable[[str], str] = staticmethod(as_written)
    """Limits the length of a task's answer."""

    def __init__(self, method: EasyTool, task: Task, session: Session, tools: Mapping[str, ShownTool]) -> None:
        self.method = method
        self.task = task
        self.session = session
        self.tools = tools
        self.chain = Chain(NAME, method.settings)
        self.called = 0
        self.tasks: list[dict[str, Any]] = []
        self.checked: str | None = None

    def run(self) -> Dialogue[Trajectory]:
        """Runs all requests and calls, and returns the trajectory."""
        try:
            answer = bounded_text((yield from self._answer()), MAX_TEXT)
        except MethodStopped as stop:
            return self.chain.end(stopped=stop.reason)
        return self.chain.end(answer, '' if answer else NOT_FINISHED)

    def _answer(self) -> Dialogue[str]:
        golds, query = self.task.oracle_calls, self.task.query
        rows = yield from self._plan()
        answers: dict[Any, Any] = {row['id']: {'task': row['task'], 'answer': ''} for row in rows}
        for number, row in enumerate(rows):
            gold = golds[min(number, len(golds) - 1)] if golds else None
            answers[row['id']]['answer'] = yield from self._carry_out(row, answers, gold)
        accepted = [{'task': task['task'], 'answer': task['answer']} for task in self.tasks if task['done']]
        fields = {'question': query, 'answer_task': accepted}
        summary = yield from self._ask(prompts.ANSWER_SUMMARIZE, self.task.gold_answer, fields)
        with suppress(MethodStopped):  # the check has no effect
            self.checked = yield from self._check(query, summary)
        return summary

    def _ask(self, template: str, gold: str, fields: Mapping[str, Any]) -> Dialogue[str]:
        """Sends one request; returns the answer's text without a reasoning model's thoughts. The answer is one step.

        Fields are formatted by Python's ``str``.
        """
        if len(self.chain.steps) >= self.method.max_steps:
            raise MethodStopped(TOO_MANY_STEPS)
        system = prompts.TOOL_CHECK_SYSTEM if template == prompts.TOOL_CHECK else prompts.SYSTEM
        filled = template.format(**{name: str(value)[:MAX_FIELD] for name, value in fields.items()})
        messages = Message('system', system), Message('user', filled)
        answer = yield ModelRequest(messages, gold, may_be_too_long=True)
        if answer.reason == TRUNCATED:
            raise MethodStopped(OVER_CONTEXT)
        self.chain.add(answer, purpose=_PURPOSES.get(template, ''))
        return strip_reasoning(answer.text).text

    def _read(self, template: str, gold: Any, read: Reader, fields: Mapping[str, Any]) -> Dialogue[Any]:
        """Requests replies until one can be parsed; otherwise raises :class:`Unreadable` with the last reply."""
        written = json.dumps(gold)
        gold_reply = repr(gold) if 'null' in written else written  # null is not a Python literal
        reply: str = ''
        for _ in range(self.method.max_requests):
            reply = yield from self._ask(template, gold_reply, fields)
            try:
                return read(reply, self.method.reading)
            except Unreadable:
                self.chain.add_reason(UNREADABLE_REPLY)
        raise Unreadable(reply)

    def _plan(self) -> Dialogue[list[dict[str, Any]]]:
        """Decomposes the query and orders its tasks; each has ``task``, ``id`` and ``dep``, a list of ids."""
        query = self.task.query
        steps = [f'Use {call.name}.' for call in self.task.oracle_calls] or [query]
        fields = {'question': query, **self._listed()}
        try:
            tasks = yield from self._read(self.prompts.TASK_DECOMPOSE, {'Tasks': steps}, replies.read_tasks, fields)
        except Unreadable:
            raise MethodStopped(NO_TASKS) from None
        if not isinstance(tasks, (list, tuple, str)):
            raise MethodStopped(NO_TASKS)
        numbered = [{'task': task, 'id': number} for number, task in enumerate(tasks, start=1)]
        gold = [{'task': step, 'id': number, 'dep': [number - 1 or -1]} for number, step in enumerate(steps, start=1)]
        fields = {'question': query, 'task_ls': numbered}
        try:
            order = yield from self._read(prompts.TASK_TOPOLOGY, gold, replies.read_topology, fields)
        except Unreadable:
            raise MethodStopped(NO_ORDER) from None
        if not all({'task', 'id'} <= set(task) and _is_key(task['id']) for task in order):
            raise MethodStopped(NO_ORDER)
        return order  # type: ignore[no-any-return]

    def _listed(self) -> dict[str, Any]:
        """Returns the tools for the request that decomposes the query."""
        return {}

    def _log(self, row: Mapping[str, Any], answers: Mapping[Any, Any]) -> Log:
        """Returns the answers that a task depends on; None if its first dependency is -1."""
        depends = row['dep']
        if depends[:1] == [NO_TASK]:
            return None
        if not depends or not all(number in answers for number in depends):
            raise MethodStopped(UNKNOWN_DEPENDENCY)
        return [answers[number] for number in depends]

    def _carry_out(self, row: Mapping[str, Any], answers: Mapping[Any, Any], gold: GoldCall | None) -> Dialogue[str]:
        """Tries a task until its answer is accepted; returns the last answer."""
        task = row['task']
        done = {'task': task, 'answer': '', 'done': False, 'tries': 0}
        self.tasks.append(done)
        if not (yield from self._needs_tool(task, gold)):
            direct = yield from self._ask(prompts.ANSWER_GENERATION_DIRECT, self.task.gold_answer, {'task': task})
            done |= {'answer': self.kept(direct), 'done': True}
            return str(done['answer'])
        log = self._log(row, answers)
        shown, tried = self._shown(task), set[str]()
        for number_of_tries in range(1, self.method.max_tries + 1):
            self._begin_try()
            done['tries'] = number_of_tries
            number = yield from self._choose_tool(task, shown, tried, gold)
            results = (yield from self._call_apis(task, self.tools[number], log, gold)) if number in self.tools else []
            result = '\n\n'.join(results)[: self.max_result]
            answer = yield from self._generate(task, result, log)
            done |= {'answer': answer, 'done': (yield from self._is_done(task, result, answer))}
            if done['done']:
                break
            tried.add(number)
        return str(done['answer'])

    def _begin_try(self) -> None:
        """Stops the method if there are too many tries."""

    def _shown(self, task: Any) -> dict[str, ShownTool]:
        """Returns the tools that a task may use, tried ones included."""
        if self.method.retrieve:
            return nearest(str(task)[:MAX_FIELD], self.tools, self.method.similarity(), NEAREST)
        return dict(self.tools)

    def _needs_tool(self, task: Any, gold: GoldCall | None) -> Dialogue[bool]:
        gold_reply = {'Reason': 'The task says so.', 'Choice': 'Yes' if gold else 'No'}
        try:
            return bool((yield from self._read(prompts.TOOL_CHECK, gold_reply, replies.read_need, {'task': task})))
        except Unreadable:
            return True

    def _choose_tool(
        self, task: Any, shown: Mapping[str, ShownTool], tried: Collection[str], gold: GoldCall | None
    ) -> Dialogue[str]:
        """Returns the number of the chosen tool, even if it was not shown; ``''`` if no reply can be parsed."""
        gold_number = next((number for number, tool in shown.items() if gold and gold.name in tool.apis), '1')
        gold_id = int(gold_number) if gold_number.isdecimal() else gold_number
        template, read, fields = self._selection(task, shown, tried)
        try:
            choice = yield from self._read(template, {'ID': gold_id}, read, fields)
        except Unreadable:
            return ''
        if choice == NOTHING:
            return ''
        if not isinstance(choice, dict) or 'ID' not in choice:
            raise MethodStopped(NO_CHOICE)
        return self._number(choice['ID'])

    def _selection(
        self, task: Any, shown: Mapping[str, ShownTool], tried: Collection[str]
    ) -> tuple[str, Reader, dict[str, Any]]:
        """Returns the request for a tool: the prompt, the parser of its reply, and its fields."""
        listed = listed_tools(shown, tried, self.method.tool_list)
        return prompts.CHOOSE_TOOL, replies.read_choice_at_end, {'query': task, 'tools': listed}

    def _number(self, chosen: Any) -> str:
        """Converts the chosen ID to a tool's number, as text."""
        number = bounded_text(str(chosen), MAX_NAME_CHARS)
        if number not in self.tools:
            self.chain.add_reason(UNKNOWN_TOOL)
        return number

    def _call_apis(self, task: Any, tool: ShownTool, log: Log, gold: GoldCall | None) -> Dialogue[list[str]]:
        """Returns the results of a tool's APIs; the model chooses all parameters before the first call."""
        fields = {
            'API_instruction': tool.description,
            'input_execute_rapidapi_api_note': prompts.CHOOSE_API_NOTE,
            'API_list': list(tool.apis),
            'question': task,
        }
        try:
            names = yield from self._read(prompts.CHOOSE_API, [gold.name] if gold else [], replies.read_names, fields)
        except Unreadable:
            return []
        chosen: list[tuple[str, Any, int]] = []
        for name in names:
            if isinstance(name, str) and name in tool.apis:
                try:
                    passed = yield from self._parameters(task, tool.apis[name], log, gold)
                except Unreadable:
                    passed = None
                if not isinstance(passed, (dict, list)):
                    self.chain.add_reason(UNREADABLE_PARAMETERS)
                chosen.append((name, passed, len(self.chain.steps) - 1))
        results: list[str] = []
        for name, passed, step in chosen:
            for arguments in passed if isinstance(passed, list) else [passed] if isinstance(passed, dict) else []:
                result = yield from self._call(name, arguments, step)
                if result is not None:
                    results.append(result)
        return results

    def _parameters(self, task: Any, guideline: Any, log: Log, gold: GoldCall | None) -> Dialogue[Any]:
        """Returns the parameters: an object for one call, a list of objects for several; other values make no call."""
        gold_reply = {'Parameters': gold.arguments if gold else {}}
        fields = {'question': task, 'api_dic': guideline, 'previous_log': log}
        if log is None:
            template, read = self.prompts.CHOOSE_PARAMETER, replies.read_parameters
        else:
            template, read = self.prompts.CHOOSE_PARAMETER_DEPEND, replies.read_parameters_depend
        return (yield from self._read(template, gold_reply, read, fields))

    def _call(self, name: str, arguments: Any, step: int) -> Dialogue[str | None]:
        """Calls an API; the call belongs to the step that chose its parameters.

        Returns:
            The response; None if the tool rejects its arguments under all names.
        """
        if not isinstance(arguments, dict) and (arguments is None or arguments not in ('', [], ())):
            raise MethodStopped(UNREADABLE_PARAMETERS)
        self.called += 1
        if self.called > self.method.max_calls:
            raise MethodStopped(TOO_MANY_CALLS)
        passed, observation = yield from self._answered(name, arguments or {})
        is_refused = observation.fault == WRONG_ARGUMENTS
        shown = replace(observation, text='') if is_refused else observation
        self.chain.add_call(answered_call(name, passed, shown, MAX_RESULT), step)
        return None if is_refused else observation.text[: MAX_RESULT + 1]

    def _answered(self, name: str, arguments: dict[Any, Any]) -> Dialogue[tuple[dict[Any, Any], Observation]]:
        """Tries a call until its arguments are accepted; returns the last arguments and their observation."""
        if self.session.has_recorded(name, arguments):  # recordings of the published runs keep the model's names
            return arguments, (yield from self.session.ask(name, arguments))
        parameters = (self.task.schemas.get(name) or {}).get('properties') or ()
        for passed in rewritten_arguments(arguments, parameters):
            observation = yield from self.session.ask(name, passed)
            if observation.fault != WRONG_ARGUMENTS:
                break
        return passed, observation

    def _generate(self, task: Any, result: str, log: Log) -> Dialogue[str]:
        template = self.prompts.ANSWER_GENERATION if log is None else self.prompts.ANSWER_GENERATION_DEPEND
        fields = {'question': task, 'call_result': result, 'previous_log': log}
        return self.kept((yield from self._ask(template, self.task.gold_answer, fields)))

    def _is_done(self, task: Any, result: str, answer: str) -> Dialogue[bool]:
        """Tests if an answer is accepted."""
        return 'yes' in (yield from self._check(task, answer)).lower()

    def _check(self, task: Any, answer: str) -> Dialogue[str]:
        gold = json.dumps({'Reason': 'It says what was called.', 'Choice': 'Yes'})
        return (yield from self._ask(prompts.ANSWER_CHECK, gold, {'question': task, 'answer': answer}))


def _is_key(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
