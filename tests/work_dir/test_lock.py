"""One process at a time, and no lock that outlives its process."""

from __future__ import annotations

import fcntl
import json
import threading
from pathlib import Path

import pytest

from opencompass_tooleval.work_dir.lock import InUseError, exclusive, holder_of, is_held, remove_stale_locks
from opencompass_tooleval.work_dir.names import sweep_lock
from tests.work_dir.processes import hold, kill, start


def test_another_process_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    path = tmp_path / 'folder' / 'lock'
    process = hold(path)
    with pytest.raises(InUseError, match=rf'lock is locked by process {process.pid} on .* since 20'), exclusive(path):
        pass
    assert is_held(path)
    process.communicate('')
    with exclusive(path, samples=7):
        holder = holder_of(path)
        assert holder is not None and holder.samples == 7
    assert not path.exists() and not is_held(path) and holder_of(path) is None
    kill(hold(path))
    assert path.exists() and not is_held(path)
    with pytest.raises(ZeroDivisionError), exclusive(path):
        raise ZeroDivisionError
    with exclusive(path):
        pass


def test_progress_is_read_while_it_is_written(tmp_path: Path) -> None:
    with exclusive(tmp_path / 'lock') as report:
        thread = threading.Thread(target=lambda: [report.waits_for('x' * (number % 50)) for number in range(2_000)])
        thread.start()
        while thread.is_alive():
            assert holder_of(tmp_path / 'lock')


def test_what_killed_processes_left_is_removed_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / 'predictions' / 'm'
    paths = sweep_lock(tmp_path), folder / '.killed.lock', folder / '.held.lock'
    *killed, held = map(hold, paths)
    for process in killed:
        kill(process)
    elsewhere = folder / '.elsewhere.lock'
    elsewhere.write_text(json.dumps({'process': 1, 'host': 'another', 'since': 'long'}))
    (folder / '.empty.lock').touch()
    remove_stale_locks(tmp_path)
    assert sorted(tmp_path.rglob('.*.lock')) == [elsewhere, paths[2]] and is_held(paths[2])
    (said,) = caplog.messages
    assert said.startswith('removed the lock files of a run that was killed: ')
    assert all(str(path) in said for path in (*paths[:2], folder / '.empty.lock')) and str(paths[2]) not in said
    held.communicate('')
    remove_stale_locks(tmp_path)
    assert len(caplog.messages) == 1


def test_who_only_looks_is_no_holder(tmp_path: Path) -> None:
    path = tmp_path / 'lock'
    path.touch()
    with path.open() as looks:
        fcntl.flock(looks, fcntl.LOCK_SH)
        threading.Timer(0.2, fcntl.flock, [looks, fcntl.LOCK_UN]).start()
        with exclusive(path):
            assert is_held(path)


def test_a_lock_for_life_ends_with_the_process(tmp_path: Path) -> None:
    path = sweep_lock(tmp_path)
    process, _ = start('lock', f'nullcontext([hold({path!r}) for _ in range(2)])')
    assert is_held(path)
    process.communicate('')
    assert process.returncode == 0 and not path.exists()
