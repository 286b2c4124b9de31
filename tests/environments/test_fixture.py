"""Fixtures are the user's: servers run on copies, which nothing leads out of."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.extras.mcp_servers import fixture as fixtures
from opencompass_tooleval.extras.mcp_servers.fixture import (
    FixtureChangedError,
    copy_fixture,
    folder_state,
    inner_links,
    on_copies,
    unchanged,
)
from opencompass_tooleval.extras.mcp_servers.live import LiveTools
from opencompass_tooleval.extras.mcp_servers.server import parse_server
from tests.extras.mcp_servers.servers import NOTES, NOTES_SERVER


@pytest.fixture
def fixture(tmp_path: Path) -> Path:
    """A folder with links: relative, absolute, to a link, to a folder, to nothing."""
    folder = tmp_path / 'data'
    (folder / 'below').mkdir(parents=True)
    (folder / 'notes.txt').write_text('first\n')
    (folder / 'below' / 'relative').symlink_to('../notes.txt')
    (folder / 'below' / 'absolute').symlink_to(folder / 'notes.txt')
    (folder / 'again').symlink_to('below/relative')
    (folder / 'folder').symlink_to('below')
    (folder / 'nothing').symlink_to('none.txt')
    return folder


def test_links_stay_links_of_the_copy(fixture: Path, tmp_path: Path) -> None:
    copied = copy_fixture(fixture, tmp_path / 'copies').path
    for name in ('below/relative', 'below/absolute', 'again'):
        assert (copied / name).is_symlink() and (copied / name).resolve() == (copied / 'notes.txt').resolve()
        (copied / name).write_text(f'by {name}')
    assert (copied / 'folder').resolve() == (copied / 'below').resolve()
    assert (copied / 'nothing').is_symlink() and not (copied / 'nothing').exists()
    assert (fixture / 'notes.txt').read_text() == 'first\n'
    (copied / 'notes.txt').write_text('first\n')
    assert folder_state(copied) == folder_state(fixture)


@pytest.mark.parametrize(('limit', 'most'), [('MAX_FILES', 5), ('MAX_BYTES', 10)])
def test_a_large_fixture_is_refused(
    fixture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(fixtures, limit, most)
    with pytest.raises(ValueError, match='data has more than'):
        copy_fixture(fixture, tmp_path / 'copies')


def test_a_pipe_is_refused(fixture: Path, tmp_path: Path) -> None:
    os.mkfifo(fixture / 'below' / 'pipe')
    with pytest.raises(ValueError, match='below/pipe of the fixture is a pipe, a socket or a device: remove it'):
        copy_fixture(fixture, tmp_path / 'copies')
    with pytest.raises(ValueError, match='is a pipe'):
        copy_fixture(fixture / 'below' / 'pipe', tmp_path / 'copies')


@pytest.mark.parametrize('target', ['/etc/hosts', '../../data/../tickets.json', '../..', 'out'])
def test_a_link_that_leaves_the_fixture_is_refused_before_a_server_starts(
    fixture: Path, tmp_path: Path, target: str
) -> None:
    (tmp_path / 'tickets.json').write_text('{}')
    (fixture / 'below' / 'out').symlink_to(target)
    with pytest.raises(ValueError, match=r'the link .*below/out (leads|of the fixture leads nowhere)'):
        inner_links(fixture)
    started = tmp_path / 'started'
    server = parse_server(NOTES, env={'COUNTER': str(started)})
    with LiveTools(server, fixture) as live, pytest.raises((ValueError, ServerError), match='the link'):
        print(live.listed)
    assert not started.exists()


def test_a_command_names_the_copy_and_never_the_original(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ('shop.db', 'server.py', 'repository/a/b.txt'):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text('')
    Path('by-link').symlink_to('shop.db')
    here = str(tmp_path)
    database, folder = Path('shop.db'), Path('repository')
    for given, fixture, expected in (
        ('serve --db-path=./shop.db server.py', database, f'serve --db-path={{fixture}} {here}/server.py'),
        (f'serve {here}/shop.db by-link', database, 'serve {fixture} {fixture}'),
        ('serve repository/a/b.txt repository/a', folder, 'serve {fixture}/a/b.txt {fixture}/a'),
        ('serve {fixture} shop.db', folder, f'serve {{fixture}} {here}/shop.db'),
        ('serve shop.db repository', None, f'serve {here}/shop.db repository'),
        ('http://127.0.0.1:1/mcp', None, 'http://127.0.0.1:1/mcp'),
    ):
        filled = on_copies(given, fixture)
        assert shlex.split(filled) == shlex.split(expected), given


def test_a_changed_original_is_told_in_capitals(tmp_path: Path) -> None:
    notes = tmp_path / 'notes.txt'
    notes.write_text('first\n')
    server = parse_server(shlex.join([sys.executable, str(NOTES_SERVER), str(notes)]))  # a path that is built in
    told = r'THE FIXTURE \S+notes.txt WAS CHANGED DURING THE RUN: notes.txt\.'
    with pytest.raises(FixtureChangedError, match=told), LiveTools(server, notes, allow=['*']) as live:
        assert live.begin('a').call('add_note', {'text': 'of a'}).text == 'added'
        with pytest.raises(FixtureChangedError, match=told):
            live.check_fixture()
    live.close()  # was closed, and has told it
    with live, live.begin('a') as trial:  # from here on this is the fixture
        assert trial.call('read_notes', {}).text == 'first\nof a'
    with pytest.raises(FixtureChangedError, match=r'notes\.txt'), unchanged(notes):
        os.unlink(notes)
