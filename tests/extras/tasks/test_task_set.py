"""A task set is read line by line; damaged, hostile and untrusted ones are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.tasks.goal import FORBIDDEN, Goal
from opencompass_tooleval.agents.tasks.task import Task, parse_task
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.tasks.task_set import SET_FILE, TASKS_FILE, load_set
from opencompass_tooleval.work_dir.trust import UntrustedError
from tests.extras.tasks.notes_tasks import write_set

READ = ToolSchema('read', 'Reads a note.', {'type': 'object', 'properties': {'id': {'type': 'integer'}}})
GOLD = GoldCall('read', {'id': 1})
LIVE = {'server': 'python server.py', 'fixture': 'fixture'}


def task(number: int = 0, order: tuple[tuple[int, int], ...] = ()) -> Task:
    goal = Goal(FORBIDDEN, ((GOLD, GoldCall('read', {'id': '1'})), (GOLD,)), order, ('drop',), {'a': ''}, ('7',))
    return Task(f't{number}', 'notes', 'What is in note 1?', (READ,), (GOLD, GOLD), goal=goal)


def test_a_set_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / 'notes' / 'fixture').mkdir(parents=True)
    tasks = (task(0), task(1))
    found = write_set(tmp_path / 'notes', {'loop': 'react', 'bank': 'responses.bank', 'live': LIVE}, tasks)
    assert found.tasks == tasks
    assert found.trusted_environment()['live']['fixture'] == str(tmp_path / 'notes' / 'fixture')
    assert found.trusted_environment()['bank'] == str(tmp_path / 'notes' / 'responses.bank')


def test_a_changed_set_is_not_trusted(tmp_path: Path) -> None:
    write_set(tmp_path, {'loop': 'react', 'live': {'server': 'python server.py'}}, [task()])
    write = tmp_path / TASKS_FILE
    write.write_text(write.read_text() + task(1).to_payload())
    with pytest.raises(UntrustedError, match='command: python server'):
        load_set(tmp_path).trusted_environment()


def test_a_task_without_a_goal_keeps_its_payload() -> None:
    plain = Task('q', 's', 'Do it.', (READ,), (GOLD,))
    assert 'goal' not in plain.to_payload()
    assert parse_task(plain.to_payload()) == plain


def test_the_oracle_repeats_the_call_that_fails_first() -> None:
    goal = Goal(fails_first='read', calls=((GOLD,),))
    assert Task('q', 's', 'Do it.', (READ,), (GOLD,), goal=goal).oracle_calls == (GOLD, GOLD)


def without(*path: str) -> str:
    row = json.loads(task().to_payload())
    inner = row
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return json.dumps(row)


@pytest.mark.parametrize(
    'line',
    [
        *('{}', '[]', 'no json', '{"id": "x"}', 'null', '[' * 500, without('goal'), without('query')),
        json.dumps({**json.loads(task().to_payload()), 'language': 'DE'}),
        json.dumps({**json.loads(task().to_payload()), 'query': 7}),
        task(0).to_payload(),
        task(1, ((0, 1), (1, 0))).to_payload(),
        task(1, ((0, 2),)).to_payload(),
    ],
)
def test_a_damaged_line_is_named(line: str, tmp_path: Path) -> None:
    write_set(tmp_path, {'loop': 'react'}, [task()])
    (tmp_path / TASKS_FILE).write_text(f'{task().to_payload()}\n{line}\n')
    with pytest.raises(DataError, match='line 2'):
        load_set(tmp_path)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'tooleval_tasks': 2}, 'reads 1'),
        ({'name': 'a b'}, 'not a name of a set'),
        ({'environment': {'loop': 'none'}}, 'no loop'),
        ({'environment': {'loop': 'react', 'bank': '/etc/passwd'}}, 'not a path in the folder'),
        ({'environment': {'loop': 'react', 'live': {**LIVE, 'fixture': '../x'}}}, 'not a path in the folder'),
        ({'environment': {'loop': 'react', 'live': 'x'}}, 'not an object'),
        ({'environment': {'loop': 'react', 'live': {'server': 7}}}, 'its server is not a string'),
        ({'environment': {'loop': 'react', 'live': {**LIVE, 'env': {'A': 1}}}}, 'are not strings'),
        ({'environment': {'loop': 'react', 'live': {**LIVE, 'probes': ['x']}}}, 'probes of its server is not a list'),
        ({'environment': None}, 'TypeError'),
    ],
)
def test_a_damaged_head_is_named(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    write_set(tmp_path, {'loop': 'react'}, [task()])
    head = json.loads((tmp_path / SET_FILE).read_text())
    (tmp_path / SET_FILE).write_text(json.dumps({**head, **changes}))
    with pytest.raises(DataError, match=f'{SET_FILE}.*{message}'):
        load_set(tmp_path)


def test_a_set_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match='not found'):
        load_set(tmp_path / 'none')
    write_set(tmp_path, {'loop': 'react'}, [task()])
    (tmp_path / TASKS_FILE).write_text('\n')
    with pytest.raises(DataError, match='no task'):
        load_set(tmp_path)
