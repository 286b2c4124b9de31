"""Connections to servers over stdio and HTTP: their tools, their answers, and servers that misbehave."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from opencompass_tooleval.environments.live_source import (
    DISCONNECTED,
    INVALID_OUTPUT,
    REFUSED,
    TIMEOUT,
    TOO_LARGE,
    TOOL_ERROR,
    ServerError,
)
from opencompass_tooleval.extras.mcp_servers.connection import Connection, ToolAnswer, connect, documentation
from opencompass_tooleval.extras.mcp_servers.fixture import MAX_BYTES, MAX_FILES
from opencompass_tooleval.extras.mcp_servers.server import Limits, Server, parse_server
from tests.conftest import ROOT
from tests.extras.mcp_servers.servers import NOTES, NOTES_SERVER, notes_over_http

T = TypeVar('T')
LIMITS = Limits(message_bytes=1_000_000)
SHORT = replace(LIMITS, call_seconds=1)


def with_server(server: Server, work: Callable[[Connection], Awaitable[T]]) -> T:
    async def run() -> T:
        async with connect(server) as connection:
            return await work(connection)

    return asyncio.run(run())


def notes(folder: Path, **env: str) -> Server:
    server = parse_server(NOTES, env, LIMITS)
    return Server(server.command, env=env, folder=folder, limits=LIMITS)


@pytest.fixture(scope='module')
def http_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with notes_over_http(tmp_path_factory.mktemp('notes')) as url:
        yield parse_server(url, limits=LIMITS)


async def ask_all(connection: Connection) -> tuple[list[str], list[ToolAnswer]]:
    names = [tool.name for tool in await connection.tools()]
    asked = ('read_notes', 'outside_schema', 'no_structure', 'fail', 'picture', 'nothing')
    return names, [await connection.call(name, {}) for name in asked]


def check_answers(names: list[str], answers: list[ToolAnswer]) -> None:
    assert names[:3] == ['read_notes', 'add_note', 'clock'] and len(names) == 16, 'both pages'
    read, outside, bare, failed, picture, unknown = answers
    assert read == ToolAnswer('')
    assert outside.error == bare.error == INVALID_OUTPUT
    assert 'broke its own contract' in outside.text and 'did not return structured content' in bare.text
    assert failed == ToolAnswer('there is no such note', TOOL_ERROR)
    assert picture == ToolAnswer('[image/png]')
    assert unknown.error == REFUSED


def test_stdio(tmp_path: Path) -> None:
    async def work(connection: Connection) -> None:
        assert (connection.name, connection.protocol) == ('notes 1.0', '2026-07-28')
        first = documentation((await connection.tools())[0])
        assert first.keys() == {'name', 'description', 'inputSchema', 'outputSchema', 'annotations'}
        assert first['annotations'] == {'readOnlyHint': True}
        check_answers(*await ask_all(connection))
        assert await connection.call('add_note', {'text': 'a'}) == ToolAnswer('added')
        assert await connection.call('read_notes', {}) == ToolAnswer('a')

    with_server(notes(tmp_path), work)
    assert (tmp_path / 'notes.txt').read_text() == 'a\n'


def test_streamable_http(http_server: Server) -> None:
    """A huge answer is not read, and a slow one is not awaited."""

    async def work(connection: Connection) -> None:
        assert connection.name == 'notes 1.0'
        check_answers(*await ask_all(connection))
        huge = await connection.call('huge', {})
        assert huge.error == TOO_LARGE and '1,000,000 bytes' in huge.text

    async def wait(connection: Connection) -> None:
        assert (await connection.call('hang', {})).error == TIMEOUT

    with_server(http_server, work)
    with_server(replace(http_server, limits=SHORT), wait)


@pytest.mark.parametrize(
    ('tool', 'error', 'message'),
    [
        ('hang', TIMEOUT, 'within 1 seconds'),
        ('huge', TOO_LARGE, 'more than 1,000,000 bytes'),
        ('crash', DISCONNECTED, 'the disk is full'),
    ],
)
def test_a_server_that_cannot_go_on_is_called_no_more(tmp_path: Path, tool: str, error: str, message: str) -> None:
    async def work(connection: Connection) -> int:
        answer = await connection.call(tool, {})
        assert answer.error == error and message in answer.text
        assert (await connection.call('read_notes', {})).error == DISCONNECTED
        return connection.state.pid

    pid = with_server(replace(notes(tmp_path), limits=SHORT if error == TIMEOUT else LIMITS), work)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_memory_and_files_of_a_server_are_bounded(tmp_path: Path) -> None:
    limits = Limits(memory_bytes=768 << 20, file_bytes=4 << 20)

    async def work(connection: Connection) -> list[ToolAnswer]:
        return [await connection.call(tool, {}) for tool in ('hoard', 'fill', 'read_notes')]

    hoard, fill, read = with_server(replace(notes(tmp_path), limits=limits), work)
    assert hoard.error and fill.error and not read.error, 'the server refuses, and goes on'
    assert (tmp_path / 'huge').stat().st_size <= 4 << 20
    free = replace(limits, memory_bytes=None, file_bytes=None)
    answers = with_server(replace(notes(tmp_path), limits=free), work)
    assert [answer.error for answer in answers] == ['', '', ''], answers


def test_a_server_that_writes_errors_without_end_is_answered(tmp_path: Path) -> None:
    async def work(connection: Connection) -> tuple[list[ToolAnswer], str]:
        answers = [await connection.call(tool, {}) for tool in ('chatter', 'read_notes', 'folder')]
        return answers, connection.state.stderr

    answers, said = with_server(notes(tmp_path), work)
    assert [answer.error for answer in answers] == ['', '', ''] and len(said) <= 4_000


@pytest.mark.parametrize(('pages', 'names'), [
    ({None: (['a', 'b'], '')}, 'ab'),
    ({None: (['a', 'b'], '2'), '2': (['c'], '')}, 'abc'),
    ({None: (['a'], '2'), '2': (['b'], '2')}, 'ab'),
])  # fmt: skip
def test_an_empty_or_repeated_cursor_ends_the_list(
    pages: dict[str | None, tuple[list[str], str]], names: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    schema = {'type': 'object'}
    lists = {
        cursor: {'tools': [{'name': name, 'inputSchema': schema} for name in listed], 'nextCursor': following}
        for cursor, (listed, following) in pages.items()
    }
    server = changed_server(tmp_path, f'notes_server.list_tools = {lists!r}.get')
    assert [tool.name for tool in with_server(server, Connection.tools)] == list(names)
    assert 'ends the list of tools' in caplog.text


def test_one_tool_that_the_protocol_does_not_allow_is_left_out_by_its_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    schemas = [None, 'text', {'type': 'string'}, {}]
    tools: list[Any] = [{'name': f'bad{number}', 'inputSchema': schema} for number, schema in enumerate(schemas)]
    tools += [{'name': 'text', 'description': 5, 'inputSchema': {'type': 'object'}}, {'name': 'none'}, 'tool', {}]
    server = changed_server(tmp_path, f'notes_server.PAGES[None] += {tools!r}')

    async def work(connection: Connection) -> tuple[list[str], ToolAnswer]:
        return [tool.name for tool in await connection.tools()], await connection.call('read_notes', {})

    names, answer = with_server(server, work)
    assert names[:3] == ['read_notes', 'add_note', 'bad3'] and not {'bad0', 'bad1', 'text', 'none'} & {*names}
    assert not answer.error
    for name in ('bad0', 'bad1', 'text', 'none', 'tool'):
        assert f"its tool '{name}' is left out: " in caplog.text


def changed_server(folder: Path, change: str) -> Server:
    script = folder / 'server.py'
    script.write_text(
        f'import sys; sys.path.insert(0, {str(NOTES_SERVER.parent)!r}); import notes_server\n{change}\n'
        'notes_server.serve_stdio()\n'
    )
    return parse_server(shlex.join([sys.executable, str(script)]))


@pytest.mark.parametrize(
    ('command', 'message'),
    [
        ('no-such-program --key secret', 'no-such-program: it cannot be started (FileNotFoundError'),
        (f'{sys.executable} -c \'import sys; sys.exit("no key given")\'', '; no key given'),
        # Longer than the SDK waits whether it is a server of the protocol's newest version.
        (f'{sys.executable} -c "import time; time.sleep(60)"', 'no answer within 1 seconds'),
        ('http://user:secret@127.0.0.1:9/mcp?key=secret', 'http://127.0.0.1:9/mcp: it does not answer'),
    ],
)
def test_a_server_that_does_not_start_is_one_line(command: str, message: str) -> None:
    with pytest.raises(ServerError) as caught:
        with_server(parse_server(command, limits=Limits(start_seconds=1)), Connection.tools)
    assert message in str(caught.value) and 'secret' not in str(caught.value) and '\n' not in str(caught.value)


def test_the_limits_are_those_of_the_page() -> None:
    page, limits = (ROOT / 'docs' / 'how-to' / 'your-own-tools.md').read_text(encoding='utf-8'), Limits()
    gib = [(limits.memory_bytes or 0) >> 30, (limits.file_bytes or 0) >> 30]
    assert f'{gib[0]} GiB of memory, and write files of up to {gib[1]} GiB' in page
    assert f'may have {MAX_FILES:,} files and {MAX_BYTES >> 30} GiB' in page
    assert f'A call may take {limits.call_seconds:g} seconds, a start {limits.start_seconds:g} seconds' in page
    assert f'a message may have {limits.message_bytes >> 20} MiB' in page


def test_only_named_variables_reach_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('SECRET_KEY', 'x')
    code = "import os, sys; sys.exit(' '.join(sorted(os.environ)))"
    with pytest.raises(ServerError) as caught:
        with_server(Server((sys.executable, '-c', code), env={'GIVEN': '1'}), Connection.tools)
    assert 'GIVEN' in str(caught.value) and 'SECRET_KEY' not in str(caught.value)


@pytest.mark.parametrize('text', ['', '   ', "python 'unclosed"])
def test_what_is_no_server_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match='MCP server'):
        parse_server(text)
    with pytest.raises(ValueError, match='cannot get environment variables'):
        parse_server('https://example.org/mcp', {'A': 'b'})
