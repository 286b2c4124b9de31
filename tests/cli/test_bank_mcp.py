"""`tooleval agents bank record` and `serve`: from a live server to a bank, and from the bank to any client."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.environments.bank import Bank
from opencompass_tooleval.extras.mcp_servers.connection import Connection, ToolAnswer, connect
from opencompass_tooleval.extras.mcp_servers.server import parse_server
from tests.cli.conftest import Command
from tests.conftest import ROOT
from tests.extras.mcp_servers.servers import NOTES

CALLS: list[dict[str, Any]] = [
    {'name': 'read_notes'},
    {'name': 'add_note', 'arguments': {'text': 'second'}},
    {'name': 'read_notes', 'arguments': {}},
    {'name': 'fail', 'task': 'other'},
    {'name': 'outside_schema', 'task': 'other'},
]


@pytest.fixture
def fixture(tmp_path: Path) -> Path:
    (tmp_path / 'notes').mkdir()
    (tmp_path / 'notes' / 'notes.txt').write_text('first\n')
    return tmp_path / 'notes'


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    file = tmp_path / 'calls.jsonl'
    file.write_text('\n'.join(map(json.dumps, CALLS)))
    return file


def asked(command: str, questions: list[tuple[str, dict[str, Any]]]) -> tuple[list[str], list[ToolAnswer]]:
    """What a client of our own command gets: names of tools, and answers."""

    async def run() -> tuple[list[str], list[ToolAnswer]]:
        server = parse_server(command, {'PYTHONPATH': str(ROOT)})
        async with connect(server) as connection:
            return await questioned(connection)

    async def questioned(connection: Connection) -> tuple[list[str], list[ToolAnswer]]:
        names = [tool.name for tool in await connection.tools()]
        return names, [await connection.call(name, arguments) for name, arguments in questions]

    return asyncio.run(run())


def tooleval_command(*arguments: object) -> str:
    code = 'from opencompass_tooleval.cli.main import main; main()'
    return shlex.join([sys.executable, '-c', code, *map(str, arguments)])


def test_record_and_serve(tooleval: Command, tmp_path: Path, fixture: Path, calls: Path) -> None:
    out = tmp_path / 'notes.bank'
    record = ('agents', 'bank', 'record', '--input', NOTES, '--fixture', fixture, '--calls', calls, '--out', out)
    done = tooleval(*record, '--allow', 'add_note', '--env', 'A=b')
    assert done.code == 0 and f'{out}: 5 calls' in done.err, done.err
    assert 'tool_error 1' in done.err and 'invalid_output 1' in done.err
    assert {path.name for path in tmp_path.glob('notes*')} == {'notes', 'notes.bank'}, 'the log is gone'
    assert (fixture / 'notes.txt').read_text() == 'first\n'

    reads = [('read_notes', {}), ('add_note', {'text': ' second '}), ('read_notes', {}), ('read_notes', {})]
    unknown = [('add_note', {'text': 'third'}), ('hang', {}), ('none', {}), ('fail', {})]
    serve = tooleval_command('agents', 'bank', 'serve', out, '--task', 'recorded')
    names, answers = asked(serve, [*reads, *unknown])
    assert 'add_note' in names and 'read_notes' in names and 'unannotated' not in names
    assert [answer.text for answer in answers[:4]] == ['first', 'added', 'first\nsecond', 'first\nsecond']
    assert {answer.error for answer in answers[:4]} == {''} and {answer.error for answer in answers[4:]} == {
        'tool_error'
    }
    nothing, _, none, fails = answers[4:]
    assert nothing.text == 'add_note: nothing is recorded for these arguments' and none.text == 'Unknown tool: none'
    assert fails.text == 'there is no such note'
    again = tooleval(*record)
    assert again.code == 1 and 'exists already' in again.err


@pytest.mark.long
def test_record_what_a_client_calls(tmp_path: Path, fixture: Path) -> None:
    out = tmp_path / 'new' / 'notes.bank'
    command = tooleval_command(
        'agents', 'bank', 'record', '--input', NOTES, '--fixture', fixture, '--allow', 'add_*', '--out', out
    )
    names, answers = asked(command, [('add_note', {'text': '/fixture'}), ('read_notes', {}), ('unannotated', {})])
    assert 'add_note' in names and 'unannotated' not in names
    assert [answer.error for answer in answers] == ['', '', 'tool_error'] and 'not allowed' in answers[2].text
    assert answers[1].text == 'first\n/fixture'
    with Bank(out) as bank:
        assert bank.names() == {'add_note': 1, 'read_notes': 1} and bank.only_task() == 'recorded'
        assert next(tool for tool in bank.tools() if tool['name'] == 'add_note')['inputSchema']['required'] == ['text']


def test_faults_are_one_line(tooleval: Command, tmp_path: Path, calls: Path) -> None:
    wrong = tmp_path / 'wrong.json'
    wrong.write_text('[{"name": "a", "arguments": 1}]')
    out, other = tmp_path / 'out' / 'x.bank', tmp_path / 'b' / 'x.bank'
    for arguments, said in (
        (('record', '--input', 'no-such-server', '--out', out, '--calls', calls), 'no-such-server: it cannot be'),
        (('record', '--input', NOTES, '--out', out, '--calls', wrong), "record '0': a call must be an object"),
        (('record', '--input', NOTES, '--out', out, '--calls', calls), "'add_note' is not allowed"),
        (('record', '--input', NOTES, '--out', out, '--env', 'A'), 'the variable A is not set'),
        (('record', '--input', NOTES, '--out', other, '--fixture', tmp_path / 'none'), 'the fixture does not exist'),
        (('serve', tmp_path / 'none'), 'the response bank is missing'),
    ):
        done = tooleval('agents', 'bank', *arguments)
        assert done.code == 1 and said in done.err and done.err.count('\n') == 1, (arguments, done.err)
    assert not [*other.parent.iterdir()], 'a log of nothing is not'
    assert [file.name for file in out.parent.iterdir()] == ['x.bank.calls.jsonl'], 'what was recorded is kept'
    log = out.parent / 'x.bank.calls.jsonl'
    done = tooleval('agents', 'bank', 'build', '--from', log, '--out', out)
    assert done.code == 0 and '1 calls (calls of servers)' in done.out, 'one call was allowed'
