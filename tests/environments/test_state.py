"""The state of live servers: read by calls and files, equal after each start or rejected, and volatile parts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from opencompass_tooleval.environments.bank import Bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.extras.mcp_servers.fixture import folder_state
from opencompass_tooleval.extras.mcp_servers.live import LiveTools
from opencompass_tooleval.extras.mcp_servers.server import parse_server
from opencompass_tooleval.extras.mcp_servers.state import (
    CallProbe,
    FolderProbe,
    Probe,
    TrialState,
    check_reset,
    read_state,
    state_differences,
)
from tests.extras.mcp_servers.servers import NOTES, installed, installed_by_npm

SERVER = parse_server(NOTES)
NOTES_READ, CLOCK, STARTS = CallProbe('read_notes'), CallProbe('clock'), CallProbe('starts')


@pytest.fixture
def fixture(tmp_path: Path) -> Path:
    folder = tmp_path / 'notes'
    (folder / 'empty').mkdir(parents=True)
    (folder / 'notes.txt').write_text('first\n')
    (folder / 'old.log').write_text('x')
    (folder / 'link').symlink_to('notes.txt')
    return folder


def test_what_resets_and_what_is_volatile(fixture: Path, tmp_path: Path) -> None:
    with LiveTools(SERVER, fixture, allow=['add_note']) as live:
        checked = check_reset(live, [NOTES_READ, CLOCK, FolderProbe(('*.log',)), CallProbe('fail')], pause=0)
        assert checked.state.keys() == {'read_notes()', 'fail()', 'file notes.txt', 'file link', 'file empty'}
        assert checked.state['read_notes()'] == 'first' and checked.state['file link'] == 'link to notes.txt'
        assert checked.state['fail()'] == 'tool_error: there is no such note'
        assert [call.name for call in checked.volatile] == ['clock']
        built = checked.freeze(tmp_path / 'frozen.bank')
        assert built is not None and built.calls == 1
        environment = Environment(Bank(tmp_path / 'frozen.bank'), live=live)
        first, second = environment.begin('a'), environment.begin('b')
        assert first.call('clock', {}) == second.call('clock', {}) and first.call('read_notes', {}).source == 'live'
        first.close()


def test_state_after_a_trial(fixture: Path) -> None:
    probes: list[Probe] = [NOTES_READ, FolderProbe()]
    with LiveTools(SERVER, fixture, allow=['add_note']) as live:
        with live.begin('a') as trial:
            before = read_state(trial, probes)
            trial.call('add_note', {'text': 'second'})
            changed = state_differences(before, read_state(trial, probes))
        assert changed.keys() == {'read_notes()', 'file notes.txt'}
        assert changed['read_notes()'] == ('first', 'first\nsecond')


def test_a_server_whose_state_does_not_reset_is_refused(fixture: Path, tmp_path: Path) -> None:
    server = parse_server(NOTES, {'COUNTER': str(tmp_path / 'counter')})
    with LiveTools(server, fixture) as live, pytest.raises(ServerError) as caught:
        check_reset(live, [NOTES_READ, STARTS], pause=0)
    said = str(caught.value)
    assert said.startswith('notes 1.0: its state does not reset') and 'starts(): ' in said and 'read_notes' not in said


def test_a_reading_that_changes_files_is_refused(fixture: Path) -> None:
    writes = CallProbe('add_note', {'text': 'x'})
    with LiveTools(SERVER, fixture, allow=['add_note']) as live:
        with pytest.raises(ServerError, match=r'reading its state changes it: file notes\.txt'):
            check_reset(live, [FolderProbe(), writes], pause=0)
        with pytest.raises(ServerError, match=r'the server fails at the probe crash\(\)'):
            check_reset(live, [CallProbe('crash')], pause=0)


def test_the_digest_of_a_folder(fixture: Path) -> None:
    state = folder_state(fixture)
    assert list(state) == ['empty', 'link', 'notes.txt', 'old.log'] and state['empty'] == 'folder'
    (fixture / 'notes.txt').write_text('other\n')
    assert state_differences(state, folder_state(fixture)).keys() == {'notes.txt'}
    assert state_differences({'a': ''}, {}) == {'a': ('', '')}, 'there, and not there'
    assert list(folder_state(fixture, ['*.txt', 'l*'])) == ['empty', 'old.log']


def test_files_beyond_the_bounds_are_a_failure_of_the_server(fixture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = 'opencompass_tooleval.extras.mcp_servers.fixture.MAX_'
    with LiveTools(SERVER, fixture, allow=['add_note']) as live:
        session = Environment(live=live, state=TrialState(live, [FolderProbe()])).begin('a')
        session.call('add_note', {'text': 'x' * 1_000})
        assert session.changes()
        with monkeypatch.context() as patched:
            patched.setattr(f'{bounds}BYTES', 1_000)
            with pytest.raises(ServerError, match=r'the server left cannot be read: notes has .* 1,000 bytes'):
                session.changes()
        session.close()
    monkeypatch.setattr(f'{bounds}FILES', 3)
    with LiveTools(SERVER, fixture) as live, pytest.raises(ValueError, match='notes has more than 3 files'):
        live.begin('a').call('read_notes', {})


def test_folders_nested_deeper_than_python_recurses(fixture: Path) -> None:
    with LiveTools(SERVER, fixture) as live:
        with live.begin('a') as trial:
            place = trial.folder
            here = os.open(place, os.O_RDONLY)
            for _ in range(1_200):
                os.mkdir('d', dir_fd=here)
                deeper = os.open('d', os.O_RDONLY, dir_fd=here)
                os.close(here)
                here = deeper
            os.close(here)
            assert 2_399 in [len(name) for name in folder_state(place)]
        assert not place.exists() and not place.parent.exists()


@pytest.fixture(scope='module')
def servers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of environments of published servers."""
    return tmp_path_factory.mktemp('servers')


@pytest.mark.long
def test_a_published_server_of_repositories(servers: Path, tmp_path: Path) -> None:
    repository = tmp_path / 'repository'
    repository.mkdir()
    git = ['git', '-C', str(repository), '-c', 'user.name=a', '-c', 'user.email=a@example.org']
    (repository / 'a.txt').write_text('a\n')
    for arguments in (['init', '-q'], ['add', '.'], ['commit', '-q', '-m', 'first']):
        subprocess.run([*git, *arguments], check=True)
    probes: list[Probe] = [
        CallProbe('git_status', {'repo_path': '/fixture'}),
        CallProbe('git_log', {'repo_path': '/fixture'}),
        FolderProbe(('.git/index',)),
    ]
    server = parse_server(f'{installed("git", servers)} --repository {{fixture}}')
    with LiveTools(server, repository, allow=['git_create_branch']) as live:
        names = [tool['name'] for tool in live.listed]
        assert 'git_status' in names and 'git_create_branch' in names and 'git_commit' not in names
        checked = check_reset(live, probes, pause=0)
        assert not checked.volatile and any('Message: first' in read for read in checked.state.values())
        with live.begin('a') as trial:
            before = read_state(trial, probes)
            trial.call('git_create_branch', {'repo_path': '/fixture', 'branch_name': 'new'})
            assert 'file .git/refs/heads/new' in state_differences(before, read_state(trial, probes))


@pytest.mark.long
def test_a_published_clock_is_volatile(servers: Path, tmp_path: Path) -> None:
    now = CallProbe('get_current_time', {'timezone': 'Europe/Berlin'})
    noon = CallProbe('convert_time', {'source_timezone': 'UTC', 'time': '12:00', 'target_timezone': 'Asia/Tokyo'})
    with LiveTools(parse_server(str(installed('time', servers)))) as live:
        assert [call.name for call in check_reset(live, [now, noon]).volatile] == ['get_current_time']


@pytest.mark.long
def test_a_published_server_of_workbooks(servers: Path, tmp_path: Path) -> None:
    server = parse_server(f'{installed("excel", servers)} stdio')
    fixture = tmp_path / 'books'
    fixture.mkdir()
    book = '/fixture/a.xlsx'
    with LiveTools(server, fixture, allow=['create_workbook', 'write_range']) as live, live.begin('a') as trial:
        for name, arguments in (
            ('create_workbook', {'path': book}),
            ('write_range', {'path': book, 'sheet': 'Sheet1', 'at': 'A1', 'rows': [['x', 2]]}),
            ('describe_workbook', {'path': book}),
        ):
            answer = trial.call(name, arguments)
            assert not answer.error, answer
        assert '"used_range":"A1:B1"' in answer.text
        assert state_differences(folder_state(fixture), folder_state(trial.folder)).keys() == {'a.xlsx'}


@pytest.mark.long
def test_published_servers_of_files_and_of_a_graph(servers: Path, fixture: Path) -> None:
    files = parse_server(f'{installed_by_npm("filesystem", servers)} {{fixture}}')
    with LiveTools(files, fixture, allow=['write_file']) as live:
        read, folders = (
            CallProbe('read_text_file', {'path': '/fixture/notes.txt'}),
            CallProbe('list_allowed_directories'),
        )
        assert not check_reset(live, [read, folders, FolderProbe()], pause=0).volatile
        with live.begin('a') as trial:
            before = read_state(trial, [read, folders])
            assert before[str(folders)] == 'Allowed directories:\n/fixture', 'the same in every trial'
            trial.call('write_file', {'path': '/fixture/notes.txt', 'content': 'x'})
            assert state_differences(before, read_state(trial, [read, folders])) == {str(read): ('first\n', 'x')}
            assert trial.call('read_text_file', {'path': '/etc/hostname'}).error == 'tool_error'
    graph = parse_server(str(installed_by_npm('memory', servers)), {'MEMORY_FILE_PATH': '{fixture}/memory.json'})
    with LiveTools(graph, fixture, allow=['create_entities']) as live:
        probes: list[Probe] = [CallProbe('read_graph'), FolderProbe()]
        assert not check_reset(live, probes, pause=0).volatile
        with live.begin('a') as trial:
            before = read_state(trial, probes)
            entity = {'name': 'Ann', 'entityType': 'person', 'observations': []}
            assert not trial.call('create_entities', {'entities': [entity]}).error
            assert state_differences(before, read_state(trial, probes)).keys() == {'read_graph()', 'file memory.json'}


@pytest.mark.long
def test_the_reference_server_of_everything(servers: Path) -> None:
    everything = parse_server(f'{installed_by_npm("everything", servers)} stdio')
    with LiveTools(everything) as live, live.begin('a') as trial:
        weather = trial.call('get-structured-content', {'location': 'New York'})
        assert not weather.error and '"temperature":' in weather.text
        assert '[image/png]' in trial.call('get-tiny-image', {}).text
        assert trial.call('get-sum', {'a': 'no number'}).error
