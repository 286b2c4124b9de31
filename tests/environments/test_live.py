"""Live servers as an environment: trials from a fixture, allow-lists, records, many at a time, failing servers."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.observation import Observation
from opencompass_tooleval.environments.bank import RecordedCall
from opencompass_tooleval.environments.call_log import CallLog, logged_tools
from opencompass_tooleval.environments.environment import LIVE_ERRORS, Environment
from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.environments.recordings import find_sources, read_sources
from opencompass_tooleval.environments.simulator import SIMULATOR, Simulator
from opencompass_tooleval.extras.mcp_servers.fixture import FixtureCopy
from opencompass_tooleval.extras.mcp_servers.live import LiveTools, LiveTrial
from opencompass_tooleval.extras.mcp_servers.server import Limits, parse_server
from tests.agents.support import bank_of
from tests.conftest import ROOT
from tests.engines import command_lines
from tests.extras.mcp_servers.servers import NOTES

LIMITS = Limits(message_bytes=1_000_000)
SERVER = parse_server(NOTES, limits=LIMITS)


def folder_of(trial: LiveTrial) -> Path:
    """The copy of a trial that has made a call."""
    assert trial.running is not None
    return trial.running.copy.folder


@pytest.fixture
def fixture(tmp_path: Path) -> Path:
    folder = tmp_path / 'notes'
    folder.mkdir()
    (folder / 'notes.txt').write_text('first\n')
    return folder


@pytest.fixture
def live(fixture: Path) -> Iterator[LiveTools]:
    with LiveTools(SERVER, fixture, allow=['add_*']) as tools:
        yield tools


def said(trial: LiveTrial, name: str, **arguments: str) -> str:
    answer = trial.call(name, arguments)
    assert not answer.error, answer
    return answer.text


def test_each_trial_has_its_copy_and_calls_leave_the_fixture_alone(live: LiveTools, fixture: Path) -> None:
    with live.begin('a') as a, live.begin('b') as b:
        assert said(a, 'add_note', text='of a') == 'added'
        assert said(a, 'read_notes') == 'first\nof a' and said(b, 'read_notes') == 'first'
        assert said(a, 'folder') == '/fixture/notes.txt and /fixture', 'the same in every trial'
        copies = [folder_of(a), folder_of(b)]
        assert copies[0] != copies[1] and all(copy.name == 'notes' for copy in copies)
        pids = [trial.running.connection.state.pid for trial in (a, b) if trial.running]
    assert not any(copy.parent.exists() for copy in copies)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert (fixture / 'notes.txt').read_text() == 'first\n'


def test_by_default_only_what_says_that_it_reads(fixture: Path) -> None:
    with LiveTools(SERVER, fixture, leave_out=['hang', 'c*']) as tools:
        names = [tool.name for tool in tools.tools]
        assert 'read_notes' in names and not {'add_note', 'unannotated', 'hang', 'clock', 'crash'} & set(names)
        with tools.begin('a') as trial, pytest.raises(ServerError, match="the tool 'add_note' is not allowed"):
            trial.call('add_note', {'text': 'x'})
    with LiveTools(SERVER, allow=['add_nose']) as tools, pytest.raises(ServerError, match='no tool add_nose'):
        tools.listed  # noqa: B018


def test_a_slow_start_is_said_once(
    fixture: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr('opencompass_tooleval.extras.mcp_servers.live._SLOW', 0.001)
    with LiveTools(SERVER, fixture) as tools:
        assert tools.listed and tools.tools
    (line,) = [one for one in capfd.readouterr().err.splitlines() if 'to start' in one]
    assert line.endswith(' takes more than 0.001 s to start; it is stopped after 120 s')


def test_a_file_as_fixture_and_its_place_in_the_command(tmp_path: Path) -> None:
    file = tmp_path / 'notes.txt'
    file.write_text('of a file')
    server = parse_server(NOTES, {'COUNTER': '{fixture}.count'}, LIMITS)
    with LiveTools(server, file) as tools, tools.begin('a') as trial:
        assert said(trial, 'read_notes') == 'of a file' and said(trial, 'starts') == '1'
        assert (folder_of(trial) / 'notes.txt.count').read_text() == '.'
    assert [*tmp_path.iterdir()] == [file]


def test_fixtures_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match='the fixture does not exist'):
        LiveTools(SERVER, tmp_path / 'none')
    with pytest.raises(ServerError, match='is already running'):
        LiveTools(parse_server('http://127.0.0.1/mcp'), tmp_path)
    with LiveTools(parse_server('no-such-program')) as tools, pytest.raises(ServerError, match='cannot be started'):
        tools.listed  # noqa: B018


def test_a_trial_that_lost_its_process_goes_on_where_it_was(fixture: Path) -> None:
    tools = LiveTools(SERVER, fixture, allow=['add_note'], most=1, ahead=1)
    with tools, tools.begin('a') as a, tools.begin('b') as b:
        for number in range(2):
            said(a, 'add_note', text=f'a{number}')
            said(b, 'add_note', text=f'b{number}')
        assert a.running is None and said(a, 'read_notes').split() == ['first', 'a0', 'a1']
        assert b.running is None and said(b, 'read_notes').split() == ['first', 'b0', 'b1']


def test_a_server_that_fails_fails_its_trial_alone(live: LiveTools) -> None:
    environment = Environment(errors=LIVE_ERRORS, live=live)
    session, other = environment.begin('a'), environment.begin('b')
    observed = session.call('crash', {})
    assert (observed.source, observed.fault, observed.error) == ('error', 'unanswered', 'disconnected')
    assert session.call('read_notes', {}).error == 'disconnected'
    assert other.call('read_notes', {}) == Observation('first', 'live', error='')
    session.close()
    other.close()


def test_a_session_answers_live_and_from_what_is_frozen(live: LiveTools, tmp_path: Path) -> None:
    bank = bank_of(tmp_path, [RecordedCall('x', '', 'clock', {}, 'noon')])
    environment = Environment(bank, errors=LIVE_ERRORS, live=live)
    session = environment.begin('a', {'clock': {}, 'read_notes': {}, 'fail': {}, 'outside_schema': {}})
    assert session.call('clock', '{}') == Observation('noon', 'other_task', error='')
    assert session.call('read_notes', '') == Observation('first', 'live', error='')
    assert session.call('fail', {}) == Observation('there is no such note', 'live', error='tool_error')
    outside = session.call('outside_schema', {})
    assert (outside.source, outside.fault, outside.error) == ('error', 'unanswered', 'invalid_output')
    assert session.call('clock', {'zone': 'UTC'}).fault == 'unanswered', 'a frozen tool is never live'
    assert session.call('read_notes', '[1').fault == session.call('read_notes', [1]).fault == 'wrong_arguments'
    for unknown in ('add_note', 'nothing'):  # allowed, but not offered; and not there at all
        assert session.call(unknown, {}).fault == 'unknown_tool'
    session.close()


def test_a_failing_server_is_not_simulated(live: LiveTools) -> None:
    environment = Environment(errors=LIVE_ERRORS, simulator=Simulator('any'), live=live)
    session = environment.begin('a', {'outside_schema': {}, 'other': {}})
    with pytest.raises(StopIteration) as ended:
        next(session.ask('outside_schema', {}))
    assert ended.value.value.error == 'invalid_output'
    assert next(session.ask('other', {})).model == SIMULATOR, "of a tool that is not the server's it is"
    session.close()


def test_everything_is_recorded(fixture: Path, tmp_path: Path) -> None:
    log = CallLog(tmp_path / 'calls.jsonl')
    with LiveTools(SERVER, fixture, allow=['add_note'], log=log) as tools:
        for task in ('a', 'b'):
            with tools.begin(task) as trial:
                said(trial, 'add_note', text=f'/fixture {task}')
                said(trial, 'read_notes')
                trial.call('fail', {})
    log.close()
    with log.file.open('a') as file:
        file.write('\n{"file": "torn')  # as a kill leaves it
    CallLog(log.file).add(RecordedCall('notes 1.0', 'c', 'read_notes', {}, 'later'))
    environment = Environment(bank_of(tmp_path, read_sources(find_sources([log.file]))))
    session = environment.begin('b')
    assert session.call('read_notes', {}) == Observation('first\n/fixture b', 'exact', error='')
    assert session.call('fail', {}).error == 'tool_error'
    assert environment.begin('c').call('read_notes', {}).text == 'later'
    listed = {tool['name'] for tool in logged_tools(log.file)}
    assert {'add_note', 'read_notes'} <= listed and 'unannotated' not in listed


def test_the_alias_stands_for_the_copy_and_for_nothing_else() -> None:
    copy = FixtureCopy(Path('/tmp/x/repo'), Path('/tmp/x/repo'))
    others = '/fixtures my/fixture ./fixture /fixture-2 /fixture.b'
    passed = {'a': ['/fixture', 'cat /fixture/b.txt'], '/fixture': others}
    assert copy.inward(passed) == {'a': ['/tmp/x/repo', 'cat /tmp/x/repo/b.txt'], '/tmp/x/repo': others}
    shown = copy.outward('in /tmp/x/repo. And /tmp/x/repo/a, /tmp/x/repo2')
    assert shown == 'in /fixture. And /fixture/a, /tmp/x/repo2'


DAEMON = 'import os, sys, time; os.fork() and sys.exit(); os.setsid(); os.fork() and sys.exit(); time.sleep(300)'


def running(mark: str) -> list[str]:
    """The daemons of a test: their command line has its mark."""
    return [line.decode() for line in command_lines() if mark.encode() in line and DAEMON.encode() in line]


def with_daemon(mark: str) -> str:
    return shlex.join(['sh', '-c', f'{shlex.join([sys.executable, "-c", DAEMON, mark])} <&- >&- 2>&-; exec {NOTES}'])


def test_a_daemon_of_a_server_ends_with_its_trial(fixture: Path) -> None:
    """It is in a session of its own, and nobody's child."""
    mark = f'mark-{os.getpid()}-{time.monotonic_ns()}'
    with LiveTools(parse_server(with_daemon(mark)), fixture) as live, live.begin('a') as trial:
        assert said(trial, 'read_notes') == 'first'
        assert running(mark)
    assert not running(mark)


def test_a_program_that_is_killed_leaves_nothing(fixture: Path, tmp_path: Path) -> None:
    mark = f'mark-{os.getpid()}-{time.monotonic_ns()}'
    code = f"""
import os, signal, sys
from pathlib import Path
from opencompass_tooleval.extras.mcp_servers.live import LiveTools
from opencompass_tooleval.extras.mcp_servers.server import parse_server

trial = LiveTools(parse_server({with_daemon(mark)!r}), Path({str(fixture)!r}), ahead=1).begin('a')
assert trial.call('read_notes', {{}}).text == 'first'
print('started', flush=True)
sys.stdin.read()
os.kill(os.getpid(), signal.SIGKILL)
"""
    copies = tmp_path / 'copies'
    copies.mkdir()
    env = {**os.environ, 'TMPDIR': str(copies), 'PYTHONPATH': str(ROOT)}
    pipes: dict[str, Any] = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'text': True}
    with subprocess.Popen([sys.executable, '-c', code], env=env, **pipes) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == 'started\n' and running(mark)
        process.stdin.close()
    assert process.returncode == -signal.SIGKILL
    end_of_test = time.monotonic() + 1500  # it goes on without the program
    while ([*copies.iterdir()] or running(mark)) and time.monotonic() < end_of_test:
        time.sleep(0.05)
    assert not [*copies.iterdir()] and not running(mark)
