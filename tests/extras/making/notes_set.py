"""A made set on the notes server of tests: a task of each kind, with a fixture, live effects and facts."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
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
from opencompass_tooleval.extras.making.made_set import FIXTURE_FOLDER, MadeSet
from opencompass_tooleval.extras.making.made_task import MadeTask, Solution, SolvedCall
from opencompass_tooleval.extras.mcp_servers.open_live import open_live, parse_probes
from opencompass_tooleval.extras.mcp_servers.state import TrialState
from tests.extras.mcp_servers.servers import NOTES

START = 'Marta keeps the shed key.\nThe ladder is at number 12.\nThe fence is done.\n'
PROBES = [{'leave_out': []}]
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
) -> MadeTask:
    """A task with its gold calls as the goal's calls, if the goal has none."""
    if not goal.calls:
        goal = replace(goal, calls=tuple((call,) for call in gold))
    made = Task(f't{number}', 'notes', query, tuple(tools()[name] for name in offered), goal=goal)
    return MadeTask(made, made_by={'query': 'maker', 'solution': 'maker', 'second': 'second'}).with_goal(goal)


def tasks() -> list[MadeTask]:
    """The tasks; effects and solutions are not yet in them."""
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


def executed(made: MadeTask, answers: Environment) -> MadeTask:
    """A task with the effects of its gold calls as the goal's, and a solution of each maker."""
    session = answers.begin(made.task.id, made.task.schemas, fails_first=made.goal.fails_first)
    calls = tuple(made.task.oracle_calls)
    observed = [session.call(call.name, call.arguments) for call in calls]
    changes = session.changes()
    session.close()
    solved = tuple(
        SolvedCall(call.name, call.arguments, seen.text, source=seen.source, error=seen.error)
        for call, seen in zip(calls, observed, strict=True)
    )
    solutions = tuple(Solution(model, solved, made.goal.answer, changes) for model in ('maker', 'second'))
    return replace(made.with_goal(replace(made.goal, effects=changes)), solutions=solutions)


@cache
def executed_tasks() -> tuple[MadeTask, ...]:
    """The tasks with what their gold calls led to; executed once."""
    with tempfile.TemporaryDirectory() as folder:
        answers = environment(write_fixture(Path(folder)))
        assert answers.live is not None
        with answers.live:
            return tuple(executed(one, answers) for one in tasks())


def write_fixture(folder: Path) -> Path:
    """Writes the folder of notes that each trial gets a copy of."""
    fixture = folder / FIXTURE_FOLDER
    fixture.mkdir(parents=True)
    (fixture / 'notes.txt').write_text(START)
    return fixture


def notes_set(folder: Path, made: Sequence[MadeTask] | None = None, server: str = NOTES) -> MadeSet:
    """Writes the set, or one of other tasks, or with another command of the server."""
    write_fixture(folder)
    written = MadeSet(
        folder,
        'notes',
        {'kind': 'mcp', 'input': 'notes_server'},
        {'loop': 'function_calling', 'live': {**live_settings(FIXTURE_FOLDER), 'server': server, 'probes': PROBES}},
        {'query': 'maker', 'solution': 'maker', 'second': 'second'},
        tasks=executed_tasks() if made is None else tuple(made),
    )
    written.write()
    return written
