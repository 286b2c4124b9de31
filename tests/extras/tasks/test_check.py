"""``tooleval tasks check`` on live servers: right gold, wrong gold, free points, servers that do not reset."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from opencompass_tooleval.agents.tasks.goal import NO_TOOL, Goal
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.extras.mcp_servers.open_live import open_live
from opencompass_tooleval.extras.tasks.check import check_set, check_tasks
from tests.cli.conftest import Command
from tests.extras.mcp_servers.servers import NOTES, NOTES_SERVER, QUICK_PYTHON
from tests.extras.tasks.notes_tasks import FIXTURE, executed_tasks, notes_set, with_goal, write_set

TICKETS = shlex.join([*QUICK_PYTHON, str(NOTES_SERVER.with_name('tickets_server.py'))])


def changed(task: Task, **changes: object) -> Task:
    assert task.goal is not None
    return with_goal(task, replace(task.goal, **changes))  # type: ignore[arg-type]


def test_a_right_set_passes(tmp_path: Path, tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = notes_set(tmp_path / 'notes')
    monkeypatch.setenv('TOOLEVAL_CACHE', str(tmp_path / 'cache'))  # another user, who has not trusted it
    refused = tooleval('tasks', 'check', notes.folder)
    assert refused.code == 1 and 'run the command again with --trust' in refused.err
    done = tooleval('tasks', 'check', notes.folder, '--trust')
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        'an agent that does nothing: solved 0.00, restraint 50.00',
        'an agent that asks back: solved 0.00, restraint 100.00',
        'an agent that calls everything: solved 0.00, restraint 0.00',
        '8 tasks, 0 with a fault',
    ]
    assert tooleval('tasks', 'check', notes.folder).code == 0, 'it is trusted once'


def test_each_fault_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = executed_tasks()
    free = Task('free', 'notes', 'Say hello.', right[0].tools, goal=Goal(answer='Hello.'), gold=())
    wrong = [
        changed(right[0], effects={'file notes.txt': 'other'}),
        changed(right[1], facts=('Otto',)),
        changed(right[4], calls=((GoldCall('burn_notes', {}),),)),
        free,
        right[7],
    ]
    assert check_tasks(notes_set(tmp_path / 'notes', wrong).folder) == 1
    shown = capsys.readouterr().out
    assert "FAULT t0: the gold calls have the effects {'file notes.txt': " in shown
    assert 'FAULT t1: the gold calls score goal:facts' in shown
    assert 'FAULT t4: the gold call of burn_notes fails: ' in shown
    assert 'FAULT free: an agent that does nothing or asks back' in shown
    assert 't7' not in shown and '5 tasks, 4 with a fault' in shown


def tickets(folder: Path, keeps: str, *more: str) -> list[Task]:
    with open_live(f'{TICKETS} {keeps} {shlex.join(more)}'.strip(), allow=['*']) as live:
        tools = tuple(ToolSchema(tool.name, tool.description, tool.parameters) for tool in live.tools)
    calls = [GoldCall('list_tickets', {}), GoldCall('open_ticket', {'title': 'lift'})]
    return [
        with_goal(Task(f't{i}', 'tickets', 'Do it.', tools), Goal(calls=((call,),), answer='Done.'))
        for i, call in enumerate(calls)
    ]


def test_a_server_that_keeps_its_state_elsewhere_is_refused_by_its_state(tmp_path: Path) -> None:
    kept = tmp_path / 'kept.txt'
    kept.write_text('Buy 12 pears\n')
    probes = [{'tool': 'read_notes', 'arguments': {}}]
    tasks = [changed(task, effects=None) for task in executed_tasks()[:2]]
    notes = notes_set(tmp_path / 'notes', tasks, f'{NOTES} {kept}', probes)
    with pytest.raises(ServerError, match=r'does not reset: after calls of add_note.*read_notes\(\)'):
        check_set(notes)


def test_a_server_that_nothing_reads_is_refused_by_its_answers(tmp_path: Path) -> None:
    (tmp_path / 'desk').mkdir()
    server = shlex.join([*shlex.split(TICKETS), 'elsewhere', str(tmp_path / 'desk')])
    environment = {'loop': 'function_calling', 'live': {'server': server, 'allow': ['*']}}
    tasks = write_set(tmp_path / 'set', environment, tickets(tmp_path, 'elsewhere', str(tmp_path / 'desk')), 'tickets')
    with pytest.raises(ServerError, match=r'does not reset: .*, a new start answers list_tickets differently: '):
        check_set(tasks)


def test_volatile_effects_are_a_fault_until_they_are_masked(tmp_path: Path) -> None:
    (tmp_path / 'set' / FIXTURE).mkdir(parents=True)
    live = {'server': f'{TICKETS} fields', 'fixture': FIXTURE, 'allow': ['*'], 'probes': [{'leave_out': []}]}
    opens = tickets(tmp_path, 'fields')[1:]
    environment = {'loop': 'function_calling', 'live': live}
    raw = check_set(write_set(tmp_path / 'set', environment, [changed(opens[0], effects={'file tickets.json': 'x'})]))
    assert 'the gold calls have the effects' in raw.faults['t1'][0]


def test_restraint_is_no_free_point(tmp_path: Path) -> None:
    sums = Task(
        'sum', 'notes', 'How much is 2 and 3?', executed_tasks()[0].tools, goal=Goal(NO_TOOL, answer='5'), gold=()
    )
    found = check_set(notes_set(tmp_path / 'notes', [sums]))
    assert found.faults == {}
    assert found.scripted['does nothing'] == {'solved': None, 'restraint': 100.0}
