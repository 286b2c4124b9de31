"""A task set on the notes server of tests: a task of each kind, with a fixture, live effects and facts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.tasks.goal import (
    FORBIDDEN,
    MISSING_PARAMETER,
    NO_TOOL,
    ORDINARY,
    RECOVERY,
    SIBLINGS,
    Goal,
)
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.error_texts import LIVE_ERRORS
from opencompass_tooleval.extras.mcp_servers.open_live import open_live, parse_probes
from opencompass_tooleval.extras.mcp_servers.state import TrialState
from opencompass_tooleval.extras.tasks.task_set import SET_FILE, TASKS_FILE, TaskSet, load_set
from tests.extras.mcp_servers.servers import NOTES

START = 'Marta keeps the shed key.\nThe ladder is at number 12.\nThe fence is done.\n'
PROBES = [{'leave_out': []}]
FIXTURE = 'fixture'
READ = GoldCall('read_notes', {})


def add(text: str, **more: Any) -> GoldCall:
    """A call that adds a note."""
    return GoldCall('add_note', {'text': text, **more})


def live_settings(fixture: str) -> dict[str, Any]:
    """The server, for a set whose fixture is at a path."""
    return {'server': NOTES, 'fixture': fixture, 'allow': ['add_note'], 'leave_out': ['hang', 'crash', 'huge']}


@cache
def tools() -> dict[str, ToolSchema]:
    """The server's tools by name, those that the set offers."""
    live = open_live(NOTES, allow=['add_note'])
    with live:
        listed = {tool.name: tool for tool in live.tools}
    return {name: listed[name] for name in ('read_notes', 'add_note', 'folder', 'clock')}


def task(
    number: int,
    query: str,
    goal: Goal,
    gold: Sequence[GoldCall] = (),
    offered: Sequence[str] = ('read_notes', 'add_note'),
) -> Task:
    """A task with its gold calls as the goal's calls, if the goal has none."""
    if not goal.calls:
        goal = replace(goal, calls=tuple((call,) for call in gold))
    return with_goal(Task(f't{number}', 'notes', query, tuple(tools()[name] for name in offered)), goal)


def with_goal(task: Task, goal: Goal) -> Task:
    """The task with another goal; its gold calls are the first alternatives of the goal's calls."""
    return replace(task, goal=goal, gold=tuple(alternatives[0] for alternatives in goal.calls))


def tasks() -> list[Task]:
    """The tasks, without effects."""
    both = ((add('Buy milk'), add('Buy milk', mark=None)), (add('Feed the cat'),))
    return [
        task(0, 'Please write down that we have to buy milk.', Goal(ORDINARY, answer='Done.'), [add('Buy milk')]),
        task(1, 'Who can open the shed for me?', Goal(ORDINARY, facts=('Marta',), answer='Ask Marta.'), [READ]),
        task(2, 'How much is two plus three?', Goal(NO_TOOL, answer='It is five.')),
        task(
            3,
            'I want something to be written down for later.',
            Goal(MISSING_PARAMETER, forbidden=('add_note',), missing='text', answer='What shall I write down?'),
        ),
        task(
            4,
            'Where did we leave the ladder? Just look it up and change nothing.',
            Goal(FORBIDDEN, forbidden=('add_note',), facts=('12',), answer='At number 12.'),
            [READ],
        ),
        task(
            5,
            'Which house has our ladder at the moment?',
            Goal(SIBLINGS, facts=('12',), answer='It is at number 12.'),
            [READ],
            ('read_notes', 'add_note', 'folder'),
        ),
        task(
            6,
            'Find out which neighbour looks after the garden hut.',
            Goal(RECOVERY, facts=('Marta',), fails_first='read_notes', answer='Marta does.'),
            [READ],
        ),
        task(
            7,
            'Put two things on the list, the dairy one and then the pet one.',
            Goal(ORDINARY, both, ((0, 1),), answer='Both are on the list.'),
        ),
    ]


def environment(fixture: Path) -> Environment:
    """What answers the set's calls."""
    live = open_live(**live_settings(str(fixture)))
    return Environment(errors=LIVE_ERRORS, live=live, state=TrialState(live, parse_probes(PROBES)))


def executed(task: Task, answers: Environment) -> Task:
    """A task with the effects of its gold calls as the goal's."""
    assert task.goal is not None
    session = answers.begin(task.id, task.schemas, fails_first=task.goal.fails_first)
    for call in task.oracle_calls:
        session.call(call.name, call.arguments)
    changes = session.changes()
    session.close()
    return with_goal(task, replace(task.goal, effects=changes))


@cache
def executed_tasks() -> tuple[Task, ...]:
    """The tasks with the effects of their gold calls; executed once."""
    with tempfile.TemporaryDirectory() as folder:
        answers = environment(write_fixture(Path(folder)))
        assert answers.live is not None
        with answers.live:
            return tuple(executed(one, answers) for one in tasks())


def write_fixture(folder: Path) -> Path:
    """Writes the folder of notes that each trial gets a copy of."""
    fixture = folder / FIXTURE
    fixture.mkdir(parents=True)
    (fixture / 'notes.txt').write_text(START)
    return fixture


def write_set(folder: Path, environment: Mapping[str, Any], tasks: Sequence[Task], name: str = 'notes') -> TaskSet:
    """Writes a set that this user trusts."""
    folder.mkdir(parents=True, exist_ok=True)
    head = {'tooleval_tasks': 1, 'name': name, 'environment': environment}
    (folder / SET_FILE).write_text(json.dumps(head), encoding='utf-8')
    (folder / TASKS_FILE).write_text(''.join(f'{task.to_payload()}\n' for task in tasks), encoding='utf-8')
    written = load_set(folder)
    written.trustee.trust()
    return written


def notes_set(
    folder: Path, tasks: Sequence[Task] | None = None, server: str = NOTES, probes: Sequence[Any] = PROBES
) -> TaskSet:
    """Writes the set, or one of other tasks, or with another command of the server."""
    if not (folder / FIXTURE).exists():
        write_fixture(folder)
    live = {**live_settings(FIXTURE), 'server': server, 'probes': list(probes)}
    environment = {'loop': 'function_calling', 'live': live}
    return write_set(folder, environment, executed_tasks() if tasks is None else tasks)
