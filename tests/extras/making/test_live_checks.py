"""Making a set on live servers that keep state elsewhere, generate ids and times, or fail again and again."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.extras.making.commands.check import check_made_set
from opencompass_tooleval.extras.making.made_set import load_set
from tests.extras.making.conftest import Start
from tests.extras.making.worlds import NOTES_KEY, run, write_model_config
from tests.extras.mcp_servers.servers import NOTES, NOTES_SERVER, QUICK_PYTHON, installed_by_npm

TICKETS = shlex.join([*QUICK_PYTHON, str(NOTES_SERVER.with_name('tickets_server.py'))])
TICKETS_KEY = {
    'list_tickets': [['tell me which tickets are open', {}]],
    'open_ticket': [
        [clause, {'title': title}]
        for clause, title in (
            ('report that nobody can use the lift', 'lift'),
            ('the coffee machine of the third floor leaks, have that looked at', 'coffee'),
            ('I cannot print, somebody should come', 'printer'),
            ('ask for a new lock at the front door', 'lock'),
        )
    ],
}
MEMORY_KEY = {
    'create_entities': [
        [f'remember {name}', {'entities': [{'name': name, 'entityType': 'person', 'observations': ['likes tea']}]}]
        for name in ('Ada', 'Grace')
    ],
    'read_graph': [['tell me all that is remembered', {}]],
}


def options(folder: Path, server: str, **more: Any) -> dict[str, Any]:
    fixture = folder / 'tickets'
    fixture.mkdir(exist_ok=True)
    allowed = {'source': 'mcp', 'input_': server, 'allow': ['*'], 'kinds': ['ordinary=1'], 'trials': 2}
    return {**allowed, 'fixture': fixture, **more}


@pytest.mark.parametrize(
    ('keeps', 'masked'),
    [
        ('fields', {'file tickets.json': ['[].id', '[].created_at']}),
        pytest.param('lines', {'file tickets.txt': ['*[0]', '*[4]']}, marks=pytest.mark.long),
    ],
)
def test_ids_and_times_are_masked(
    keeps: str, masked: dict[str, list[str]], start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_model_config(tmp_path / 'model.py', start(TICKETS_KEY))
    status, report = run(tmp_path / 'desk', model, 2, **options(tmp_path, f'{TICKETS} {keeps}'))
    assert (status, report['tasks'], report['masked']) == (0, 2, masked)
    (file, fields), *_ = masked.items()
    assert f'masked in {file}, since the same calls leave other values: {", ".join(fields)}' in capsys.readouterr().out
    made = load_set(tmp_path / 'desk')
    assert made.environment['live']['probes'] == [{'leave_out': [], 'mask': {file.removeprefix('file '): fields}}]
    effects = {tuple(task.goal.effects or ()): task.goal.effects for task in made.tasks if task.goal.effects}
    assert effects.keys() == {(file,)}
    check_made_set(made.folder, json_out=str(tmp_path / 'gates.json'))
    assert '"name": "reproduced gold",\n      "status": "passed"' in (tmp_path / 'gates.json').read_text()


@pytest.mark.parametrize(
    ('keeps', 'detail'),
    [
        pytest.param('nothing', 'open_ticket: file tickets.json: [].id: ', marks=pytest.mark.long),
        ('names', 'open_ticket: file '),
    ],
)
def test_a_tool_that_leaves_nothing_to_compare_is_left_out(
    keeps: str, detail: str, start: Start, tmp_path: Path
) -> None:
    server = start(TICKETS_KEY)
    model = write_model_config(tmp_path / 'model.py', server)
    _, report = run(tmp_path / 'desk', model, 4, **options(tmp_path, f'{TICKETS} {keeps}'))
    assert report['left_out_tools'] == {'open_ticket': 'environment:volatile_effects'}
    assert set(report['dropped']) <= {
        'execution environment:volatile_effects',
        'draft environment:volatile_effects',
        'agreement agreement:nothing_to_check',
        'duplicate query:duplicate',
        'execution execution:free',  # there is no ticket to list
    }
    dropped = [one for one in load_rows(tmp_path / 'desk') if one['reason'] == 'environment:volatile_effects']
    dropped = [one for one in dropped if one['stage'] == 'execution']
    assert dropped and all(one['detail'].startswith(detail) for one in dropped)


def load_rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / 'dropped.jsonl').read_text(encoding='utf-8').splitlines()]


def test_a_server_that_crashes_at_each_second_call_ends_the_run(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start(TICKETS_KEY)
    model = write_model_config(tmp_path / 'model.py', server)
    status, report = run(tmp_path / 'desk', model, 8, **options(tmp_path, f'{TICKETS} crashes', trials=3))
    assert (status, report['tasks']) == (1, 0) and report['ended']
    assert server.stats()['requests'] < 120  # 388 in earlier versions
    printed = capsys.readouterr().out
    assert 'tool          needed  called  failed  why' in printed and 'FAILED ' in printed
    rows = [line.split(maxsplit=4) for line in printed.splitlines() if line.startswith(('list_', 'open_'))]
    assert len(rows) == 2 and all(int(row[2]) > int(row[3]) > 0 == int(row[1]) for row in rows)
    assert all(re.search(r'crash \d+x \(.*out of licences', row[4]) for row in rows)


def test_a_server_that_keeps_its_state_elsewhere_is_refused(start: Start, tmp_path: Path) -> None:
    kept = tmp_path / 'kept.txt'
    kept.write_text('Buy 12 pears\n')
    model = write_model_config(tmp_path / 'model.py', start(NOTES_KEY))
    unused = ('huge', 'hang', 'crash', 'fail', 'picture', 'outside_schema', 'no_structure', 'folder', 'starts', 'clock')
    more: dict[str, Any] = {'allow': ['add_note'], 'leave_out': [*unused], 'fixture': None}
    calls = options(tmp_path, f'{NOTES} {kept}', **more)
    with pytest.raises(ServerError, match=r"does not reset: after calls of .*: read_notes\(\): '.*' and '.* due"):
        run(tmp_path / 'diary', model, 5, **calls)
    with pytest.raises(ServerError, match=r'not the one that the set was begun with: read_notes\(\): '):
        run(tmp_path / 'diary', model, 5, **calls)  # starts from what the first run left
    assert not (tmp_path / 'diary' / 'tasks.jsonl').exists()


def test_a_server_without_a_reading_tool_is_refused_by_its_answers(start: Start, tmp_path: Path) -> None:
    model = write_model_config(tmp_path / 'model.py', start(TICKETS_KEY))
    server = shlex.join([*shlex.split(TICKETS), 'elsewhere', str(tmp_path / 'tickets')])
    with pytest.raises(ServerError, match=r'does not reset: .*, a new start answers list_tickets differently: '):
        run(tmp_path / 'desk', model, 4, **(options(tmp_path, server) | {'fixture': None}))


def test_a_broken_tool_is_left_out(start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = {**NOTES_KEY, 'no_structure': [['and what is its structure', {}]]}
    model = write_model_config(tmp_path / 'model.py', start(key))
    unused = ('huge', 'hang', 'crash', 'fail', 'picture', 'outside_schema', 'folder', 'starts', 'clock')
    more: dict[str, Any] = {'allow': ['add_note'], 'leave_out': [*unused], 'trials': 3}
    status, report = run(tmp_path / 'diary', model, 2, **options(tmp_path, NOTES, **more))
    assert (status, report['tasks'], report['ended']) == (0, 2, '')
    assert report['left_out_tools'] == {'no_structure': 'environment:broken_tool'}
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith('no_structure'))
    assert re.search(r'fails again and again; result outside of its outputSchema \d+x \(The server broke its own', row)
    assert check_made_set(tmp_path / 'diary') in (0, 1)
    table = capsys.readouterr().out.splitlines()
    assert table[2].startswith('no_structure ') and 'outputSchema' in table[2]


@pytest.mark.long
def test_the_reference_server_of_memories_needs_its_file(start: Start, tmp_path: Path) -> None:
    program = installed_by_npm('memory', tmp_path / 'servers')
    model = write_model_config(tmp_path / 'model.py', start(MEMORY_KEY))
    left_out = ['create_relations', 'add_observations', 'delete_*', 'search_nodes', 'open_nodes']
    more: dict[str, Any] = {'leave_out': left_out, 'fixture': None}
    with pytest.raises(
        ServerError, match=r'does not reset: after calls of .*create_entities.*: read_graph\(\): .*(Ada|Grace)'
    ):
        run(tmp_path / 'memories', model, 4, **options(tmp_path, str(program), **more))
    kept = {'fixture': tmp_path / 'tickets', 'env': ['MEMORY_FILE_PATH={fixture}/memory.jsonl']}
    status, report = run(tmp_path / 'kept', model, 4, **options(tmp_path, str(program), **{**more, **kept}))
    assert (status, report['tasks']) == (0, 4)
