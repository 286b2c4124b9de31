"""A server that tasks share is a job of its own: a real Slurm of one node."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mmengine.config import Config

from opencompass_tooleval.work_dir.server_file import server_lines
from tests.engines import processes, scripted_engine, until, until_gone
from tests.runners.slurm.conftest import Testbed
from tests.runners.slurm.test_engines import nothing_left, rows, runner, task, task_each

__all__ = ['nothing_left']


def tasks(folder: Path, *arguments: str) -> list[Config]:
    """One model on two data sets of the demo, a task each."""
    return task_each(task(folder, scripted_engine(folder, '--host', '{host}', *arguments), 2, shared=True))


def asked(folder: Path) -> int:
    return len((folder / 'asked').read_text()) if (folder / 'asked').exists() else 0


def engine_log(folder: Path) -> str:
    (file,) = (folder / 'out' / 'logs' / 'servers').glob('*.engine.log')
    return file.read_text()


def jobs() -> dict[str, tuple[str, str]]:
    """Last part of a job's name, ``server`` or a task's data set -> its id and partition."""
    command = ['squeue', '--noheader', '--format=%F %P %j']
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.rpartition('-')[2]: (line.split()[0], line.split()[1]) for line in lines}


@pytest.mark.long
@pytest.mark.parametrize('take_away', [('scontrol', 'requeue'), ('scancel',)], ids=' '.join)
def test_a_server_that_is_taken_away_goes_on(testbed: Testbed, tmp_path: Path, take_away: tuple[str, ...]) -> None:
    """Its tasks wait meanwhile; a cancelled job has failed once, and is submitted again."""
    with ThreadPoolExecutor(1) as pool:
        launch = runner(retry=1, server_command=['--partition=frail']).launch
        future = pool.submit(launch, tasks(tmp_path, '--latency', '0.5'))
        until(lambda: future.done() or asked(tmp_path) > 1)
        assert not future.done()
        (file,) = (tmp_path / 'out').glob('tmp/slurm/*/*.server.json')
        assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
        first = json.loads(file.read_text())
        assert first['stage'] == 'ready'
        (line,) = server_lines(tmp_path / 'out')
        assert 'ready since' in line and first['url'] in line and first['key'] not in line
        ((server, partition),) = [job for name, job in jobs().items() if name == 'server']
        assert len({number for number, _ in jobs().values()}) == 2 and partition == 'frail'
        before = set(processes(tmp_path))
        testbed.tell(*take_away, server)
        until(lambda: not before & set(processes(tmp_path)))  # the old engine is gone, with all that it started
        assert [code for _, code in future.result()] == [0, 0]
    testbed.wait_for()
    until_gone(tmp_path)
    assert engine_log(tmp_path).count('loading the weights') == 2
    answered = rows(tmp_path)
    assert len(answered) <= asked(tmp_path) <= len(answered) + 2  # what was in flight is asked again
    assert all(row['prediction'] == 'Answer: A' for row in answered)
    assert not list((tmp_path / 'out').glob('tmp/slurm/*'))
    for log in (tmp_path / 'out').glob('logs/infer/served/*.out'):
        assert log.read_text().count('slurm: job ') == 1  # no task ran again


@pytest.mark.long
def test_a_server_that_does_not_start(testbed: Testbed, tmp_path: Path) -> None:
    """Its tasks end with the last words of its log."""
    codes = [code for _, code in runner().launch(tasks(tmp_path, '--fault', 'crash'))]
    assert codes == [1, 1]
    testbed.wait_for()
    assert engine_log(tmp_path).count('loading the weights') == 1
    for log in (tmp_path / 'out').glob('logs/infer/served/*.out'):
        task_log = log.read_text()
        assert 'ended with exit status 1 before it was ready: RuntimeError: no such weights' in task_log
