"""``tooleval tasks check``, ``init`` and ``add``, on a real server."""

from __future__ import annotations

import json
import py_compile
import re
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.extras.tasks.check import Checked, check_opened
from opencompass_tooleval.extras.tasks.opened import open_tasks, typed_call
from opencompass_tooleval.extras.tasks.task_file import load_tasks
from tests.cli.conftest import Command
from tests.extras.mcp_servers.servers import NOTES_SERVER, QUICK_PYTHON
from tests.extras.tasks.shop import SERVER, write_fixture, write_shop


def checked(file: Path) -> Checked:
    with open_tasks(file) as opened:
        return check_opened(opened)


def one(result: str = '', effects: str = '', solution: str = '', request: str = 'Do it.', more: str = '') -> str:
    """A file's list of one task."""
    parts = [('request', json.dumps(request)), ('result', result), ('effects', effects), ('solution', solution)]
    return 'tasks:\n  - id: t\n' + ''.join(f'    {key}: {value}\n' for key, value in parts if value) + more


def test_a_right_file_passes_for_who_trusts_it(
    tmp_path: Path, tooleval: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_shop(tmp_path / 'mine', trusted=False)
    refused = tooleval('tasks', 'check', file)
    assert refused.code == 1 and 'run the command again with --trust' in refused.err
    assert f'command: {SERVER}' in refused.err and '4 calls of solutions' in refused.err
    done = tooleval('tasks', 'check', file, '--trust')
    assert done.code == 0, done.out + done.err
    lines = [' '.join(line.split()) for line in done.out.splitlines()]
    assert lines == [
        'tools in solutions',
        'tool needed called failed',
        'add_note 1 2 0',
        'change 2 4 0',
        'find 1 2 0',
        'an agent that makes the calls of the solution: solved 100.00',
        'an agent that does nothing: solved 0.00',
        'an agent that asks back: solved 25.00',
        'an agent that calls everything: solved 0.00',
        'an agent that answers the result without calls: solved 25.00',
        '4 tasks, 0 faults',
    ]
    assert tooleval('tasks', 'check', file).code == 0, 'it is trusted once'
    assert (tmp_path / 'mine' / 'shop' / 'terms.txt').read_text() == 'one\ntwo\nthree\n'


FIND, CHANGE = 'find: {sql: "SELECT count(*) FROM orders"}', 'change: {sql: "DELETE FROM orders WHERE id=41"}'


@pytest.mark.parametrize(
    ('tasks', 'says'),
    [
        (one(), 't: nothing decides if it is solved'),
        (one(effects='[{table: orders, delete: {id: 42}}]', solution=f'[{CHANGE}]'), 'shop.db:orders removed'),
        (one(solution='[{change: {sql: "DELETE FROM nowhere"}}]'), 'its solution fails: change: OperationalError'),
        (one(solution='[{change: {sql: "DELETE FROM orders WHERE id=99"}}]'), 't: nothing decides if it is solved'),
        (one('{type: number, value: 4}', solution='[{find: {sql: "SELECT nothing"}}]'), 'find fails: OperationalError'),
        (one('{type: number, value: 4}', request='Are there 4?', solution=f'[{FIND}]'), '4 stands in the request'),
        (one('{type: text, value: Okafor}', request='Who is it, Ms. Okafor?'), 'Okafor stands in the request'),
    ],
)
def test_each_fault_is_named(tmp_path: Path, tooleval: Command, tasks: str, says: str) -> None:
    done = tooleval('tasks', 'check', write_shop(tmp_path, tasks))
    assert done.code == 1 and 'FAULT t: ' in done.out and says in ' '.join(done.out.split())


SHIP = """
import json, time
from contextlib import closing
from pathlib import Path
from typing import Any

def ship(order: int, who: str, note: str = '') -> str:
    "Ships an order to a person."
    rows = json.loads(Path('shop.json').read_text())
    rows['orders'].append({'id': order, 'who_id': {who}, 'note': note.strip().lower()})
    Path('shop.json').write_text(json.dumps(rows))
    Path(f'slip-{time.time_ns()}.txt').write_text('slip')
    return f'slip {time.time_ns()}'
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ('who', 'faults'),
    [
        ('who', []),
        # The id of a person looks like one that the server counts.
        ('700 + len(who)', ['t: an agent that calls ship with who="Adax" solves it: see what its gold leaves free']),
    ],
)
def test_a_solution_with_another_argument_must_not_solve(tmp_path: Path, who: str, faults: list[str]) -> None:
    (tmp_path / 'tools.py').write_text(SHIP.replace('{who}', who))
    (tmp_path / 'shop.json').write_text('{"orders": []}')
    file = tmp_path / 'tasks.yaml'
    solution = '[{ship: {order: 5, who: Ada, note: " Hello "}}]'
    file.write_text('module: tools.py\nfixture: shop.json\n' + one(solution=solution, request='Ship it.'))
    load_tasks(file).trustee.trust()
    assert checked(file).faults == faults


@pytest.mark.long
def test_a_file_whose_only_tool_is_a_lookup_has_no_fault(tmp_path: Path) -> None:
    (tmp_path / 'tools.py').write_text('def people() -> list[str]:\n    """Lists all."""\n    return ["Ada", "Bob"]\n')
    file = tmp_path / 'tasks.yaml'
    file.write_text('module: tools.py\nreads: [people]\n' + one('{type: set, value: [Ada, Bob]}', solution='[people]'))
    load_tasks(file).trustee.trust()
    assert checked(file).faults == []


def test_what_an_owner_should_look_at(tmp_path: Path) -> None:
    tasks = one('{type: number, value: 4}', solution=f'[{FIND}]')
    more = tasks.removeprefix('tasks:\n').replace('id: t', 'id: u').replace(f'    solution: [{FIND}]\n', '')
    computed = one('{type: number, value: 8}', solution=f'[{FIND}]', request='How many legs?')
    computed = computed.removeprefix('tasks:\n').replace('id: t', 'id: v')
    found = checked(write_shop(tmp_path, tasks + more + computed))
    assert found.faults == []
    assert found.notes == [
        'u: unproven: it has no solution that can be executed',
        'v: its result 8 stands in no answer of a tool; an agent has to compute it',
        't, u: they have the same gold',
    ]


@pytest.mark.parametrize(
    ('more', 'solved', 'faults'),
    [
        ('    needs: []\n', 100, []),
        ('', 0, ['t: its solution scores 0 (calls:missing): no call of * is answered']),
    ],
)
def test_no_tool_is_needed_where_the_owner_says_so(tmp_path: Path, more: str, solved: int, faults: list[str]) -> None:
    """Elsewhere a right guess solves nothing."""
    tasks = one('{type: number, value: 5}', solution='[]', request='How much is two and three?', more=more)
    found = checked(write_shop(tmp_path, tasks))
    assert found.faults == faults and found.agents['answers the result without calls'] == solved


def test_a_value_that_stands_for_an_argument_is_not_left_free(tmp_path: Path) -> None:
    """The id of a note is its length here, and looks like one that the server counts."""
    file = write_shop(tmp_path, one(solution='[{add_note: {text: Ada}}]'), server=f'{SERVER} measures')
    weak = 't: an agent that calls add_note with text="Adax" solves it: see what its gold leaves free'
    assert checked(file).faults == [weak]


def test_a_part_that_each_start_writes_anew_is_named(tmp_path: Path) -> None:
    tasks = one('{type: number, value: 4}', solution=f'[{FIND}]')
    found = checked(write_shop(tmp_path, tasks, server=f'{SERVER} clock'))
    assert found.faults[0].startswith('started.txt: differs between two starts')
    assert checked(write_shop(tmp_path, tasks, 'ignore: [started.txt*]', f'{SERVER} clock')).faults == []


@pytest.mark.parametrize(
    ('more', 'says'),
    [
        ('    needs: [fly]\n', 'the server has no tool fly'),
        ('    forbidden: [fly]\n', 'the server has no tool fly'),
        ('    solution: [fly]\n', 'the server has no tool fly'),
        ('    effects: [{table: nothing, insert: {a: 1}}]\n', 'has no table nothing'),
    ],
)
def test_what_the_server_does_not_have_is_refused(tmp_path: Path, tooleval: Command, more: str, says: str) -> None:
    done = tooleval('tasks', 'check', write_shop(tmp_path / 'mine', one(more=more)))
    assert done.code == 1 and says in done.err and "'task t'" in done.err


def test_arguments_get_the_types_of_the_schema() -> None:
    schema = {
        'type': 'object',
        'properties': {
            'n': {'type': 'integer'},
            's': {'type': 'string'},
            'b': {'anyOf': [{'type': 'boolean'}, {'type': 'null'}]},
            'list': {'type': 'array', 'items': {'$ref': '#/$defs/Row'}},
            'any': {},
            'map': {'type': 'object', 'additionalProperties': {'type': 'integer'}},
        },
        '$defs': {'Row': {'type': 'object', 'properties': {'x': {'type': 'number'}, 'y': {'type': 'string'}}}},
    }
    tools = (ToolSchema('do', '', schema),)
    words = {'n': '4', 's': '4', 'b': 'null', 'list': [{'x': '1.5', 'y': '1.5'}], 'any': '4', 'map': {'a': '1'}}
    typed = {'n': 4, 's': '4', 'b': None, 'list': [{'x': 1.5, 'y': '1.5'}], 'any': '4', 'map': {'a': 1}}
    assert typed_call('do', words, tools).arguments == typed
    assert typed_call('do', '{"any": 4}', tools).arguments == {'any': 4}


@pytest.mark.long
def test_functions_of_a_file(tmp_path: Path) -> None:
    (tmp_path / 'sums.py').write_text('def plus(one: int, other: int) -> int:\n    return one + other\n')
    compiled = tmp_path / '__pycache__' / f'sums.{sys.implementation.cache_tag}.pyc'
    wrong = tmp_path / 'wrong.py'
    wrong.write_text('def plus(one: int, other: int) -> int:\n    return one * other\n')
    py_compile.compile(str(wrong), str(compiled), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    (tmp_path / 'tools.py').write_text(
        'from pathlib import Path\n\nfrom sums import plus\n\n'
        'def add(one: int, other: int) -> int:\n    """Adds."""\n    return plus(one, other)\n\n'
        'def save(text: str) -> str:\n    """Saves."""\n    Path("saved.txt").write_text(text)\n    return "saved"\n'
    )
    (tmp_path / 'folder').mkdir()
    file = tmp_path / 'tasks.yaml'
    file.write_text(
        'module: tools.py\nfixture: folder\nreads: [add]\ntasks:\n'
        '  - {id: sum, request: How much is 2 and 3?, result: {type: number, value: 5},'
        ' solution: [add: {one: 2, other: 3}]}\n'
        '  - {id: save, request: Save hello., effects: [{file: saved.txt, text: hello}],'
        ' solution: [save: {text: hello}]}\n'
    )
    load_tasks(file).trustee.trust()
    found = checked(file)
    assert (found.faults, found.notes) == ([], []) and found.agents['makes the calls of the solution'] == 100
    assert list((tmp_path / 'folder').iterdir()) == []


def test_compiled_files_beside_a_server_are_never_executed_and_its_own_are_kept(
    tmp_path: Path, tooleval: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first trust the screen names the source: what is executed must be that."""
    monkeypatch.setenv('TOOLEVAL_CACHE', str(tmp_path / 'cache'))
    monkeypatch.delenv('PYTHONDONTWRITEBYTECODE', raising=False)
    folder = tmp_path / 'mine'
    file = write_shop(folder, server=shlex.join([*QUICK_PYTHON, 'server.py']), trusted=False)
    (folder / 'server.py').write_text('import helper\n')
    shop = NOTES_SERVER.with_name('shop_server.py')
    (folder / 'helper.py').write_text(
        f'import runpy, sys\nsys.path.append({str(shop.parent)!r})\n'
        f'runpy.run_path({str(shop)!r}, run_name="__main__")\n'
    )
    (folder / 'evil.py').write_text(f'open({str(tmp_path / "stolen")!r}, "w")\n')
    compiled = folder / '__pycache__' / f'helper.{sys.implementation.cache_tag}.pyc'
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(folder / 'evil.py'), str(compiled), invalidation_mode=unchecked)
    done = tooleval('tasks', 'check', file, '--trust')
    assert done.code == 0 and not (tmp_path / 'stolen').exists(), done.err
    assert list((tmp_path / 'cache' / 'compiled').rglob('helper.*.pyc'))


@pytest.mark.long
def test_a_file_is_begun_and_tasks_are_added_from_calls(tmp_path: Path, tooleval: Command) -> None:
    write_fixture(tmp_path / 'mine' / 'shop')
    file, calls = tmp_path / 'mine' / 'tasks.yaml', tmp_path / 'calls.json'
    done = tooleval('tasks', 'init', '--server', SERVER, '--fixture', 'shop', '--out', file)
    assert done.code == 0, done.err
    assert f'{file}: 5 tools. Add a task with: tooleval tasks add' in done.out
    assert 'reads: []  # tools that change nothing, of change, add_note, write, set_open' in file.read_text()
    assert 'exists' in tooleval('tasks', 'init', '--server', SERVER, '--out', file).err
    rows = [
        {'name': 'change', 'arguments': {'sql': "UPDATE orders SET status='returned' WHERE id=42"}},
        {'name': 'add_note', 'arguments': {'text': 'lift: 4:00'}},
        {'name': 'set_open', 'arguments': {'hours': 9, 'is_open': False}},
        {'name': 'find', 'arguments': {'sql': "SELECT count(*) FROM orders WHERE status='returned'"}},
    ]
    calls.write_text('\n'.join(map(json.dumps, rows)))
    done = tooleval('tasks', 'add', file, '--request', 'Do: "all" of it, please & now', '--calls', calls)
    assert done.code == 0, done.err
    (note,) = re.findall(r'"id": (\d{19})', done.out)
    row = '"customer": 7, "id": 42, "item": "desk", "placed": "2026-01-02", "price": 80, "status": "{}"'
    assert done.out.splitlines() == [
        '  - id: do-all-of-it',
        '    request: "Do: \\"all\\" of it, please & now"',
        '    result: {type: number, value: 3}  # as the last call answered: accept, edit or remove it',
        '    solution:',
        '      - change: {sql: "UPDATE orders SET status=\'returned\' WHERE id=42"}',
        '      - add_note: {text: "lift: 4:00"}',
        '      - set_open: {hours: 9, is_open: false}',
        '      - find: {sql: "SELECT count(*) FROM orders WHERE status=\'returned\'"}',
        'compared at the end, and nothing else may differ:',
        f'  notes.json:notes: new: {{"id": {note}, "text": "lift: 4:00"}}; free: id (any time)',
        '  notes.json:hours: 9',
        '  notes.json:open: false',
        f'  shop.db:orders: gone: {{{row.format("shipped")}}}',
        f'  shop.db:orders: new: {{{row.format("returned")}}}',
        'NOTE do-all-of-it: its gold leaves free: notes.json:notes id (any time)',
    ]
    again = tooleval('tasks', 'add', file, '--request', 'Do: all of it', '--calls', calls)
    assert again.out.startswith('  - id: do-all-of-it-2\n')
    done = tooleval('tasks', 'check', file)
    assert done.code == 0 and '2 tasks, 0 faults' in done.out, done.out + done.err


@pytest.mark.long
def test_a_function_that_returns_a_list_gives_a_set_and_one_that_says_nothing_decides_nothing(
    tmp_path: Path, tooleval: Command
) -> None:
    (tmp_path / 'mine').mkdir()
    (tmp_path / 'mine' / 'tools.py').write_text(
        'def people() -> list[str]:\n    "All."\n    return ["Ada", "Bob"]\n'
        'def story() -> str:\n    "All."\n    return "Once upon a time\\nthere was one."\n'
    )
    file, calls = tmp_path / 'mine' / 'tasks.yaml', tmp_path / 'calls.json'
    file.write_text('module: tools.py\nreads: [people, story]\ntasks:\n')
    load_tasks(file).trustee.trust()
    calls.write_text('{"name": "people"}')
    done = tooleval('tasks', 'add', file, '--request', 'Who is there?', '--calls', calls)
    assert 'result: {type: set, value: [Ada, Bob]}' in done.out and 'FAULT' not in done.out
    calls.write_text('{"name": "story"}')
    done = tooleval('tasks', 'add', file, '--request', 'Tell a story.', '--calls', calls)
    assert done.code == 0 and 'tell-a-story: nothing decides if it is solved' in done.out
    assert 'result:' not in done.out


DELETE = {'name': 'change', 'arguments': {'sql': 'DELETE FROM orders WHERE id=41'}}


@pytest.mark.long
@pytest.mark.parametrize('rows', [[DELETE], []])
def test_a_new_empty_file_and_the_only_row_of_a_table_are_gold(
    tmp_path: Path, tooleval: Command, rows: list[dict[str, Any]]
) -> None:
    file, calls = write_shop(tmp_path / 'mine', 'tasks:\n'), tmp_path / 'calls.json'
    for sql in ('DELETE FROM orders WHERE id > 41',):
        with closing(sqlite3.connect(tmp_path / 'mine' / 'shop' / 'shop.db')) as database:
            database.execute(sql)
            database.commit()
    load_tasks(file).trustee.trust()
    empty = {'name': 'write', 'arguments': {'path': 'empty.txt', 'text': ''}}
    calls.write_text('\n'.join(map(json.dumps, [*rows, empty])))
    done = tooleval('tasks', 'add', file, '--request', 'Do it.', '--calls', calls)
    assert done.code == 0 and '  empty.txt:: new\n' in done.out, done.err
    checked_ = tooleval('tasks', 'check', file)
    assert checked_.code == 0, checked_.out


def test_a_call_that_fails_adds_no_task(tmp_path: Path, tooleval: Command) -> None:
    file, calls = write_shop(tmp_path / 'mine'), tmp_path / 'calls.json'
    before = file.read_text()
    calls.write_text('{"name": "find", "arguments": {"sql": "SELECT x"}}')
    done = tooleval('tasks', 'add', file, '--request', 'x', '--calls', calls)
    assert done.code == 1 and 'the call of find fails: OperationalError: no such column: x' in done.err
    assert tooleval('tasks', 'add', file, '--request', 'x', '--calls', calls, '--id', 'note').code == 1
    assert file.read_text() == before


@pytest.mark.long
def test_a_task_is_made_through_any_client(tmp_path: Path) -> None:
    file = write_shop(tmp_path / 'mine')
    code = 'from opencompass_tooleval.cli.main import main; main()'
    command = [sys.executable, '-c', code, 'tasks', 'add', str(file), '--request', 'Open at 9.', '--id', 'open']
    hello = {'protocolVersion': '2025-06-18', 'capabilities': {}, 'clientInfo': {'name': 'a client', 'version': '1'}}
    messages: list[dict[str, Any]] = [
        {'id': 1, 'method': 'initialize', 'params': hello},
        {'method': 'notifications/initialized'},
        {'id': 2, 'method': 'tools/list'},
        {'id': 3, 'method': 'tools/call', 'params': {'name': 'set_open', 'arguments': {'hours': 9, 'is_open': True}}},
    ]
    pipe = subprocess.PIPE
    client = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert client.stdin is not None and client.stdout is not None
    for message in messages:
        client.stdin.write(json.dumps({'jsonrpc': '2.0', **message}) + '\n')
        client.stdin.flush()
        if 'id' in message:
            assert json.loads(client.stdout.readline())['id'] == message['id']
    out, err = client.communicate(timeout=120)
    assert client.returncode == 0 and out == '', err
    added = file.read_text().partition('  - id: open\n')[2]
    assert 'set_open: {hours: 9, is_open: true}\n' in added and '  notes.json:hours: 9\n' in err


@pytest.mark.parametrize(
    ('started', 'says'),
    [
        (('--server', 'python nowhere.py'), 'server: there is no nowhere.py in '),
        (('--module', 'wrong.py'), 'wrong.py: line 2: '),
    ],
)
def test_a_wrong_path_and_a_wrong_module_are_named(
    tmp_path: Path, tooleval: Command, started: tuple[str, str], says: str
) -> None:
    (tmp_path / 'wrong.py').write_text('x = 1\ndef f(:\n')
    done = tooleval('tasks', 'init', *started, '--out', tmp_path / 't.yaml')
    assert done.code == 1 and says in done.err and str(tmp_path) in done.err and not (tmp_path / 't.yaml').exists()


def test_a_program_that_is_no_server_shows_its_first_line(tmp_path: Path, tooleval: Command) -> None:
    (tmp_path / 'talks.py').write_text('print("Usage: talks --help")\nprint("more")\n')
    done = tooleval('tasks', 'init', '--server', shlex.join([*QUICK_PYTHON, 'talks.py']), '--out', tmp_path / 't.yaml')
    assert done.code == 1 and 'it printed: Usage: talks --help' in done.err and 'more' not in done.err


def test_a_path_outside_of_the_folder_is_no_fixture(tmp_path: Path, tooleval: Command) -> None:
    done = tooleval('tasks', 'init', '--server', 'x', '--fixture', '../other', '--out', tmp_path / 'a' / 't.yaml')
    assert done.code == 1 and 'not a path in the folder' in done.err and not (tmp_path / 'a' / 't.yaml').exists()


NO_FIXTURE = 'without a fixture nothing is copied or reset: only tools that read are called (reads)'


def test_of_a_server_without_a_fixture_only_tools_that_read_are_called(tmp_path: Path, tooleval: Command) -> None:
    outside, file, calls = tmp_path / 'outside', tmp_path / 'tasks.yaml', tmp_path / 'calls.json'
    rows = [
        {'name': 'write', 'arguments': {'path': str(outside), 'text': 'x'}},
        {'name': 'find', 'arguments': {'sql': 'SELECT 5'}},
    ]
    calls.write_text('\n'.join(map(json.dumps, rows)))
    done = tooleval('tasks', 'init', '--server', SERVER, '--out', file)
    assert 'without a fixture nothing is copied or reset: what models call is real' in done.out
    done = tooleval('tasks', 'add', file, '--request', 'Do it.', '--calls', calls)
    assert 'write is not called: without a fixture' in done.err and 'result: {type: number, value: 5}' in done.out
    done = tooleval('tasks', 'check', file)
    assert done.code == 0 and f'NOTE {NO_FIXTURE}' in done.out
    assert 'NOTE do-it: unproven: it has no solution that can be executed' in done.out
    assert not outside.exists()
