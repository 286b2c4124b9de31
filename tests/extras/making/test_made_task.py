"""A made set is read as it was written; a damaged one is refused by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opencompass_tooleval.agents.tasks.goal import FORBIDDEN, Goal
from opencompass_tooleval.agents.tasks.task import Task, parse_task
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.making.made_set import Dropped, MadeSet, load_set
from opencompass_tooleval.extras.making.made_task import MadeTask, Solution, SolvedCall, read_tasks

READ = ToolSchema('read', 'Reads a note.', {'type': 'object', 'properties': {'id': {'type': 'integer'}}})
GOLD = GoldCall('read', {'id': 1})


def made_task(number: int = 0) -> MadeTask:
    goal = Goal(
        FORBIDDEN, ((GOLD, GoldCall('read', {'id': '1'})),), ((0, 0),), ('drop',), {'a': ''}, ('7',), answer='It is 7.'
    )
    task = Task(f't{number}', 'notes', 'What is in note 1?', (READ,), (GOLD,), goal=goal)
    solution = Solution('m', (SolvedCall('read', {'id': 1}, '7', 'I read it.', 'live', ''),), 'It is 7.', {'a': ''})
    return MadeTask(task, (solution,), 'complicate', {'query': 'm'}, True, 'good')


def test_a_set_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = MadeSet(
        tmp_path / 'notes',
        'notes',
        {'kind': 'mcp', 'input': 'server'},
        {'loop': 'react', 'bank': 'responses.bank', 'live': {'server': 'x', 'fixture': 'fixture'}},
        {'query': 'm'},
        {'seed': 1},
        (made_task(0), made_task(1)),
        (Dropped('t2', 'agreement', 'agreement:none', 'two and three'),),
    )
    made.write()
    again = load_set(made.folder)
    assert again == made
    assert again.environment_here['live']['fixture'] == str(tmp_path / 'notes' / 'fixture')


def test_a_task_without_a_goal_keeps_its_payload() -> None:
    task = Task('q', 's', 'Do it.', (READ,), (GOLD,))
    assert 'goal' not in task.to_payload()
    assert parse_task(task.to_payload()) == task


def test_the_oracle_repeats_the_call_that_fails_first() -> None:
    goal = Goal(fails_first='read', calls=((GOLD,),))
    task = Task('q', 's', 'Do it.', (READ,), (GOLD,), goal=goal)
    assert task.oracle_calls == (GOLD, GOLD)


def test_a_set_of_version_1_is_read_and_one_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    made = MadeSet(tmp_path / 'notes', 'notes', {}, {'loop': 'react'}, {'query': 'm'}, tasks=(made_task(),), version=1)
    made.write()
    assert load_set(made.folder) == made
    head, tasks = made.folder / 'set.json', made.folder / 'tasks.jsonl'
    old = json.loads(head.read_text())
    del old['scripted']
    row = json.loads(tasks.read_text())
    assert row['task']['goal'].pop('form') == row['task']['goal'].pop('result') == ''
    head.write_text(json.dumps(old))
    tasks.write_text(json.dumps(row))
    assert load_set(made.folder) == made
    for wrong, message in (({'tooleval_made_set': 99}, 'reads up to'), ({'scripted': {'a': 1}}, 'scripted agent')):
        head.write_text(json.dumps({**old, **wrong}))
        with pytest.raises(DataError, match=message):
            load_set(made.folder)


@pytest.mark.parametrize('line', ['{}', '[]', 'no json', '{"task": {"id": "x"}}', '{"task": null}'])
def test_a_damaged_line_is_named(line: str, tmp_path: Path) -> None:
    file = tmp_path / 'tasks.jsonl'
    file.write_text(f'\n{line}\n')
    with pytest.raises(DataError, match='line 2'):
        read_tasks(file)
