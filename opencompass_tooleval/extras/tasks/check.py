"""``tooleval tasks check``: runs the solutions, and agents without a model, which must not solve tasks."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, ClassVar

from opencompass_tooleval.agents.loops.loops import Loop, carry_out
from opencompass_tooleval.agents.loops.steps import MAX_TEXT, Chain, answered_call
from opencompass_tooleval.agents.tasks.task import Task, example_arguments
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.observation import ERROR
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.core.errors import first_of, shorten
from opencompass_tooleval.environments.environment import LIVE_ERRORS, Environment, Session, Tally
from opencompass_tooleval.extras.tasks.differences import changes
from opencompass_tooleval.extras.tasks.goal import Goal, check_goal, is_named, parse_goal
from opencompass_tooleval.extras.tasks.gold import Gold, free_parts, make_gold, wrong_state
from opencompass_tooleval.extras.tasks.gold_file import read_golds
from opencompass_tooleval.extras.tasks.leaves import Given, shown
from opencompass_tooleval.extras.tasks.opened import FolderState, Opened
from opencompass_tooleval.extras.tasks.task_file import NO_COPY, WrittenTask
from opencompass_tooleval.extras.tasks.typed_result import LIST, NUMBER, PAIRS, SET, items_of, pairs_of, plain_text
from opencompass_tooleval.models.dialogue_runner import DialogueRunner

SOLUTION = 'makes the calls of the solution'
SAYS_DONE, ASKS_BACK = 'does nothing', 'asks back'
CALLS_EVERYTHING, SAYS_RESULT = 'calls everything', 'answers the result without calls'
_DONE = 'I have done it.'
_NUMBER = re.compile(r'\d{1,15}')
_MAX_TEXT = 4_000


class Scripted:
    """Makes calls, and answers with a text.

    Args:
        calls: Returns the calls for a task, each with tool and arguments.
        text: Returns the final answer for a task.
        tells: True to append the observations to the final answer.
    """

    settings: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        calls: Callable[[Task], Sequence[tuple[str, Mapping[str, Any]]]],
        text: Callable[[Task], str],
        tells: bool = False,
    ) -> None:
        self._calls, self._text, self._tells = calls, text, tells

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        yield from ()
        chain, texts = Chain('scripted', self.settings), [self._text(task)]
        chain.add(Answer(''))
        for name, arguments in self._calls(task):
            observation = session.call(name, arguments)
            chain.add_call(answered_call(name, arguments, observation, MAX_TEXT))
            texts.append(observation.text)
        return chain.end('\n'.join(texts) if self._tells else texts[0])


def agents(callable_tools: Sequence[str] = ('*',)) -> dict[str, Loop]:
    """Returns name -> agent.

    Args:
        callable_tools: Patterns of tools for the agent that calls everything.
    """
    return {
        SOLUTION: Scripted(_solution, lambda task: task.gold_answer),
        SAYS_DONE: Scripted(_none, lambda task: _DONE),
        ASKS_BACK: Scripted(_none, lambda task: 'Which one do you mean?'),
        CALLS_EVERYTHING: Scripted(
            lambda task: [
                (tool.name, example_arguments(tool.parameters))
                for tool in task.tools
                if is_named(tool.name, callable_tools)
            ],
            lambda task: _DONE,
            tells=True,
        ),
        SAYS_RESULT: Scripted(_none, lambda task: task.gold_answer),
    }


def _none(task: Task) -> list[tuple[str, Mapping[str, Any]]]:
    return []


def _solution(task: Task) -> list[tuple[str, Mapping[str, Any]]]:
    return [(call.name, call.arguments) for call in task.gold or ()]


def changed_arguments(
    arguments: Mapping[str, Any], tools: Sequence[ToolSchema], name: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the arguments of a call with one value changed or left out, each after the change in words.

    Args:
        arguments: The arguments, as JSON values.
        tools: The tools of the server.
        name: The called tool.
    """
    required = next((tool.parameters.get('required', ()) for tool in tools if tool.name == name), ())
    yield from _changed(dict(arguments), '')
    for key in arguments:
        if key not in required:
            yield f'no {key}', {one: value for one, value in arguments.items() if one != key}


def _changed(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yields a value with one number, text or boolean in it changed, each after the change in words."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from ((words, {**value, key: other}) for words, other in _changed(one, f'{path}.{key}'.lstrip('.')))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            for words, other in _changed(one, f'{path}[{place}]'):
                yield words, [*value[:place], other, *value[place + 1 :]]
    else:
        yield from ((f'{path}={shown(other)}', other) for other in _others(value))


def _others(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
    elif isinstance(value, str):
        if numbers := list(_NUMBER.finditer(value[:_MAX_TEXT])):
            start, end = numbers[-1].span()
            yield f'{value[:start]}{int(value[start:end]) + 1}{value[end:]}'
        yield f'{value}x'


def run_agent(
    tasks: Sequence[Task], carry_out: Callable[[Task], Dialogue[Trajectory]], threads: int = 1
) -> dict[str, Trajectory]:
    """Runs an agent without a model; returns task -> trajectory.

    Args:
        tasks: The tasks.
        carry_out: Carries out a task from a fresh state.
        threads: Number of tasks that run at the same time.

    Raises:
        ServerError: The server cannot be started.
    """

    runner = DialogueRunner(None, None, 1, threads=threads)
    ended = runner.run({task.id: carry_out(task) for task in tasks})
    return {name: outcome.value for name, outcome in ended.items() if outcome.value}


_MOST_CHANGED = 20
SECONDS_APART = 1.1
"""Time between two runs of a solution, after which a time in seconds is another one."""
_MOST_TEXT = 160


@dataclass
class Checked:
    """The result of a check.

    Attributes:
        faults: Problems that make scores wrong, in words.
        notes: Hints for the owner of the tasks.
        agents: Agent without a model -> percentage of the tasks that it solves.
        tools: Tool -> number of tasks that need it, number of calls, number of failed calls, and the last failure.
    """

    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    agents: dict[str, float] = field(default_factory=dict)
    tools: dict[str, tuple[int, int, int, str]] = field(default_factory=dict)


def check_opened(opened: Opened, only: str = '') -> Checked:
    """Checks the tasks of an opened file, and writes the golds that are missing or outdated.

    Args:
        opened: The file.
        only: The one task to check; by default all.

    Raises:
        DataError: An effect or a call of a task does not fit the server.
        ServerError: The server cannot be started.
    """
    written = {task.id: task for task in opened.file.tasks if only in ('', task.id)}
    tasks, found = [task for task in opened.tasks_with({}) if task.id in written], Checked()
    environment = Environment(errors=LIVE_ERRORS, live=opened.live, state=opened.state)
    callable_tools = ('*',) if opened.state else opened.reads
    solved_by = [
        task
        for task in tasks
        if task.gold is not None and all(is_named(call.name, callable_tools) for call in task.gold)
    ]
    if opened.state is None:
        found.notes.append(f'{NO_COPY}: only tools that read are called (reads)')
    scripted, tools = agents(callable_tools), {tool.name for tool in opened.live.tools}

    def runs(name: str, of: Sequence[Task]) -> dict[str, Trajectory]:
        return run_agent(of, partial(carry_out, loop=scripted[name], environment=environment), environment.threads)

    found.faults += _start_faults(opened)
    carried_out = [*solved_by, *_other_solutions(opened, solved_by)]
    first = runs(SOLUTION, carried_out)
    if opened.needing_gold:
        time.sleep(SECONDS_APART)
    again = runs(SOLUTION, carried_out)
    found.tools = _tool_rows(tasks, environment.tally)
    golds, unclear = _golds(opened, written, first, again)
    tasks = [task for task in opened.tasks_with(golds) if task.id in written]
    for task in tasks:
        if task.id in unclear:
            found.faults.append(f'{task.id}: {unclear[task.id]}')
            continue
        both = [first.get(task.id), again.get(task.id)]
        if free := [part for gold in golds.get(task.id, ()) for part in free_parts(gold)]:
            found.notes.append(f'{task.id}: its gold leaves free: {first_of(free)}')
        faults = _faults(task, written[task.id].is_checked, task.id in golds, both)
        found.faults += [f'{task.id}: {fault}' for fault in faults]
        found.notes += [f'{task.id}: {note}' for note in _notes(task, both[0])]
    found.notes += _equal_golds(tasks)
    for name in scripted:
        done = first if name == SOLUTION else runs(name, tasks)
        solved = [
            task.id
            for task in tasks
            if task.id not in unclear
            and (run := done.get(task.id))
            and check_goal(parse_goal(task.goal or {}), run).is_solved
        ]
        found.agents[name] = 100 * len(solved) / len(tasks) if tasks else 0.0
        free = [task for task in solved if name != SOLUTION and not _may_solve(written[task], name, tools)]
        found.faults += [f'{task}: an agent that {name} solves it' for task in free]
    if opened.state:
        clear = [task for task in tasks if task.id not in unclear]
        found.faults += _weak_golds(opened, clear, carried_out, (first, again), partial(runs, SOLUTION))
    opened.live.check_fixture()
    return found


def _other_solutions(opened: Opened, tasks: Sequence[Task]) -> list[Task]:
    """Returns a task for each further solution of a task."""
    calls = {task.id: opened.solutions(task)[1:] for task in opened.file.tasks}
    return [
        replace(task, id=_numbered(task.id, number), gold=tuple(gold))
        for task in tasks
        for number, gold in enumerate(calls[task.id], 1)
    ]


def _numbered(task: str, number: int) -> str:
    return f'{task} (solution {number + 1})' if number else task


def _golds(
    opened: Opened,
    written: Mapping[str, WrittenTask],
    first: Mapping[str, Trajectory],
    again: Mapping[str, Trajectory],
) -> tuple[dict[str, Sequence[Gold]], dict[str, str]]:
    """Makes the golds from two runs of each solution, and writes those that are missing or outdated.

    Returns:
        Task -> its golds; task -> why it has none.
    """
    file, now = read_golds(opened.file), datetime.now().astimezone()
    golds: dict[str, Sequence[Gold]] = {}
    unclear: dict[str, str] = {}
    for task in written.values():
        if task.id not in opened.needing_gold:
            continue
        names = [_numbered(task.id, number) for number in range(len(task.solutions))]
        try:
            made = [
                gold_of(opened, task, calls, [run.changes for run in (first[name], again[name])], now)
                for name, calls in zip(names, opened.solutions(task), strict=True)
            ]
        except ValueError as error:
            unclear[task.id] = str(error)
            continue
        if file.is_current(task):
            golds[task.id] = file.golds(task)
            runs = [run for name in names for run in (first[name], again[name])]
            if any(wrong_state(golds[task.id], run.changes or {}) for run in runs):
                unclear[task.id] = (
                    f'its solution leaves another state than that of {file.entries[task.id]["day"]}: see what changed. '
                    f'To take the new one: {file.fix_damaged}'
                )
        else:
            golds[task.id] = made
            file.add(task, made, now)
    file.write()
    return golds, unclear


def gold_of(
    opened: Opened,
    task: WrittenTask,
    calls: Sequence[GoldCall] | None,
    changes_: Sequence[Mapping[str, str] | None],
    now: datetime | None,
) -> Gold:
    """Makes the gold of a solution from the changes of two runs; without calls and time, only differences are free.

    Raises:
        ValueError: The runs differ in more than values, too much differs to be compared, or a state was not read.
    """
    first, second = changes_
    if opened.state is None or first is None or second is None:
        raise ValueError('the state after its solution cannot be read')
    given = Given.of(task.request, [call.arguments for call in calls], now) if calls is not None and now else None
    return make_gold(opened.state.start, first, second, given, task.free)


def _may_solve(written: WrittenTask, name: str, tools: set[str]) -> bool:
    """Tests if, according to its owner, an agent may solve the task without calls, or by calling every tool."""
    if name == CALLS_EVERYTHING:
        return {call for call, _ in next(iter(written.solutions), ())} >= tools
    return (written.asks and name in (ASKS_BACK, SAYS_RESULT)) or (written.needs == () and name == SAYS_RESULT)


def _changed_solution(opened: Opened, solution: Task) -> Iterator[tuple[str, Task]]:
    """Yields the agents that make the calls of a solution with one argument changed, each after the change in words."""
    calls = list(solution.gold or ())
    for place, call in enumerate(calls):
        if call.name not in opened.reads:
            for words, arguments in changed_arguments(call.arguments, opened.live.tools, call.name):
                changed = (*calls[:place], GoldCall(call.name, arguments), *calls[place + 1 :])
                yield f'{call.name} with {words}', replace(solution, gold=changed)


def _weak_golds(
    opened: Opened,
    tasks: Sequence[Task],
    solutions: Sequence[Task],
    runs: tuple[Mapping[str, Trajectory], ...],
    run: Callable[[list[Task]], dict[str, Trajectory]],
) -> Iterator[str]:
    """Yields the tasks that a changed solution solves, although it leaves another state than the solutions."""
    written = {task.id: task for task in opened.file.tasks}
    changed: dict[str, tuple[str, str, Task]] = {}
    strict: dict[str, list[Gold]] = {}
    golds = {task.id: parse_goal(task.goal or {}).golds for task in tasks}
    for name in filter(lambda one: any(golds[one]), golds):
        numbered = [_numbered(name, number) for number in range(len(written[name].solutions))]
        if any('free' in effect for effect in written[name].effects) or not set(numbered) <= runs[0].keys():
            continue
        with suppress(ValueError):  # effects decide, and two runs of the solution differ in more than values
            made = [[one[number].changes for one in runs] for number in numbered]
            strict[name] = [gold_of(opened, written[name], None, both, None) for both in made]
            variants = (one for task in solutions if task.id in numbered for one in _changed_solution(opened, task))
            for number, (words, task) in enumerate(islice(variants, _MOST_CHANGED)):
                changed[f'{name} (changed {number})'] = name, words, task
    ended = run([replace(task, id=agent) for agent, (_, _, task) in changed.items()])
    for agent, (name, words, _) in changed.items():
        left = ended[agent].changes if agent in ended else None
        if left is not None and not wrong_state(golds[name], left) and wrong_state(strict[name], left):
            yield f'{name}: an agent that calls {words} solves it: see what its gold leaves free'


def _start_faults(opened: Opened) -> Iterator[str]:
    """Yields the parts of the state that differ between two starts of the server without calls."""
    if opened.state is None:
        return
    for part, text in changes(opened.state.start, FolderState(opened.live, opened.state.ignore).start).items():
        yield f'{part} differs between two starts without a call; add it to ignore: {shorten(text, _MOST_TEXT)}'


def _faults(task: Task, is_checked: bool, has_gold: bool, runs: Sequence[Trajectory | None]) -> Iterator[str]:
    goal = parse_goal(task.goal or {})
    if not is_checked and not any(goal.golds):
        yield 'nothing decides if it is solved: give a solution that changes something, effects, a result or needs'
    if goal.form and all(_stands_in(task.query.rpartition('\n\n')[0], text) for text in _values(goal)):
        yield f'its result {goal.results[0]} stands in the request'
    for run in runs:
        if run is None:
            continue
        result = check_goal(goal, run)
        failed = [call for call in run.calls if call.source == ERROR or call.error]
        if failed and has_gold:
            yield f'its solution fails: {failed[0].name}: {shorten(failed[0].observation, 3 * _MOST_TEXT)}'
            return
        if not result.is_solved:
            why = [f'{call.name} fails: {call.observation}' for call in failed]
            why += [f'{part} {words}' for part, words in result.wrong_effects.items()]
            why += [f'no call of {tool} is answered' for tool in result.missing_tools]
            yield f'its solution scores 0 ({result.reason}): {shorten("; ".join(why), 3 * _MOST_TEXT)}'
            return


def _notes(task: Task, run: Trajectory | None) -> Iterator[str]:
    goal = parse_goal(task.goal or {})
    if run is None:
        yield 'unproven: it has no solution that can be executed'
    elif goal.form and goal.needs:
        seen = plain_text('\n'.join(call.observation for call in run.calls))
        missing = [text for text in _values(goal) if text not in seen]
        if missing:
            yield f'its result {first_of(missing)} stands in no answer of a tool; an agent has to compute it'


def _values(goal: Goal) -> list[str]:
    """Returns the single values of the first accepted result, as normalized texts."""
    text = goal.results[0]
    if goal.form == PAIRS:
        text = json.dumps([one for pair in pairs_of(text) for one in pair[1:]])
    values = items_of(text) if goal.form in (LIST, SET, PAIRS) else [text]
    return [plain_text(value).replace(' ', '' if goal.form == NUMBER else ' ') for value in values]


def _stands_in(text: str, value: str) -> bool:
    """Tests if a text contains a value as a whole word or number."""
    words = ''.join(one if one.isalnum() or one in '.-:' else ' ' for one in plain_text(text))
    return any(f' {value}{mark} ' in f' {words} ' for mark in ('', '.', ':'))


def _equal_golds(tasks: Sequence[Task]) -> Iterator[str]:
    golds: dict[str, list[str]] = {}
    for task in tasks:
        goal = task.goal or {}
        key = json.dumps([goal.get('results'), goal.get('golds')], sort_keys=True)
        golds.setdefault(key, []).append(task.id)
    for names in golds.values():
        if len(names) > 1:
            yield f'{first_of(names)}: they have the same gold'


def _tool_rows(tasks: Sequence[Task], tally: Tally) -> dict[str, tuple[int, int, int, str]]:
    needed = Counter(name for task in tasks for name in {call.name for call in task.gold or ()})
    tools, rows = tally.tools, {}
    for name in sorted(needed | Counter(tools.keys())):
        counts = tools.get(name)
        rows[name] = (needed[name], counts.called, counts.failed, counts.why) if counts else (needed[name], 0, 0, '')
    return rows
