"""Files are complete or missing; leftovers of killed processes are removed, but never files of other programs."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opencompass_tooleval.work_dir.lock import exclusive
from opencompass_tooleval.work_dir.whole_file import (
    host_mark,
    left_behind,
    naming,
    private_folder,
    whole_file,
    write_whole,
)
from tests.work_dir.processes import kill, start


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_what_a_killed_process_left_goes_and_what_a_living_one_writes_stays(tmp_path: Path) -> None:
    paths = tmp_path / 'a.json', tmp_path / 'b.json'
    (dead, _), (alive, temporary) = (start('whole_file', f'whole_file({path!r})') for path in paths)
    temporary.write_text('half')
    kill(dead)
    (tmp_path / '.mine.tmp').touch()
    write_whole(tmp_path / 'c.json', 'whole')
    assert {name[:3] for name in names(tmp_path)} == {'.b.', 'c.j', '.mi'}
    alive.communicate('')
    assert names(tmp_path) == {'b.json', 'c.json', '.mine.tmp'} and paths[1].read_text() == 'half'


def test_what_another_machine_left_goes_after_a_day(tmp_path: Path) -> None:
    new, old, held = (tmp_path / f'.{name}.01234567-01234567.tmp' for name in ('new', 'old', 'held'))
    for file in (new, old, held):
        file.touch()
    for file in (old, held):
        os.utime(file, (time.time() - 90_000,) * 2)
    assert host_mark() != '01234567'
    with held.open('a') as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        write_whole(tmp_path / 'a', 'x')
    assert names(tmp_path) == {'a', new.name, held.name}
    with left_behind(tmp_path / 'none', host_mark(), tmp_path / 'none') as is_left:
        assert not is_left


def test_a_block_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / 'a'
    path.write_text('old')
    path.chmod(0o640)
    with pytest.raises(ZeroDivisionError), whole_file(path) as temporary:
        temporary.write_text('new')
        raise ZeroDivisionError
    assert path.read_text() == 'old' and names(tmp_path) == {'a'}
    write_whole(path, 'new')
    assert path.read_text() == 'new' and path.stat().st_mode & 0o777 == 0o640
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / 'b', 'new')
    finally:
        os.umask(before)
    assert (tmp_path / 'b').stat().st_mode & 0o777 == 0o640


def test_long_names_links_and_locks_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / 'folder').mkdir()
    link = tmp_path / 'link'
    link.symlink_to(Path('folder') / 'target')
    with exclusive(tmp_path / '.link.lock'):
        write_whole(link, 'x')
        assert link.is_symlink() and (tmp_path / 'folder' / 'target').read_text() == 'x'
        write_whole(tmp_path / ('字' * 85), 'x')
        assert len(names(tmp_path)) == 4, 'a lock is no leftover'


def test_pipes_and_devices_are_written_in_place(tmp_path: Path) -> None:
    write_whole(Path('/dev/null'), 'x')
    assert Path('/dev/null').is_char_device()
    code = 'from opencompass_tooleval.work_dir.whole_file import *; write_whole(Path("/dev/stdout"), "whole")'
    with (tmp_path / 'out').open('w') as stream:
        subprocess.run([sys.executable, '-c', code], stdout=stream, check=True)
    assert (tmp_path / 'out').read_text() == 'whole' and names(tmp_path) == {'out'}
    done = subprocess.run([sys.executable, '-c', code], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == 'whole'


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match='/dev/null/a'):
        write_whole(Path('/dev/null/a'), 'x')
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        write_whole(tmp_path, 'x')
    with pytest.raises(OSError, match=r'No space left on device: .*/a') as full, naming(tmp_path / 'a'):
        raise OSError(28, 'No space left on device')
    assert full.value.errno == 28
    with pytest.raises(OSError, match='in words'), naming(tmp_path / 'a'):
        raise OSError('in words')


def test_private_folders_of_killed_processes_go_and_those_of_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They hold configs with literal keys."""
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path))
    env = {**os.environ, 'TMPDIR': str(tmp_path)}
    (killed, dead), (living, alive) = (start('whole_file', "private_folder('task')", env) for _ in range(2))
    kill(killed)
    other = tmp_path / f'tooleval-task-{"0" * 8}-x'
    new = tmp_path / f'tooleval-task-{host_mark()}-new'  # whose process has not locked it yet
    for folder in (other, new):
        folder.mkdir()
    link = tmp_path / f'tooleval-task-{host_mark()}-link'
    link.symlink_to(other)
    assert dead.exists()
    with private_folder('task') as own:
        assert Path(own).stat().st_mode & 0o777 == 0o700
        assert not dead.exists() and alive.exists() and other.exists() and new.exists() and link.is_symlink()
    assert not Path(own).exists()
    living.communicate('')
    assert not alive.exists()


def test_what_is_made_just_now_survives_a_cleaning_before_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process cleans up between the creation and the lock of a file or folder."""
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path))
    locked, flock = list[int](), fcntl.flock

    def clean_first(handle: int, how: int) -> None:
        locked.append(handle)
        if len(locked) == 1:
            write_whole(tmp_path / 'other', 'x')
            private_folder('bank').cleanup()
        flock(handle, how)

    monkeypatch.setattr(fcntl, 'flock', clean_first)
    with private_folder('task') as folder:
        (Path(folder) / 'params.py').write_text('x')
    locked.clear()
    write_whole(tmp_path / 'own', 'x')
    assert names(tmp_path) == {'other', 'own'}
