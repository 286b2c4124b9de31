"""Forked tasks: separate logs, GPUs and sessions, no thread; the end of one does not affect others."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.engines import PATIENCE, is_alive, until
from tests.forked import Fork, run_python, start_python


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {**os.environ, 'PYTHONPATH': str(ROOT), 'TOOLEVAL_TEST_PID': str(folder / 'pid'), **more}


def start(folder: Path, *arguments: str, **more: str) -> Fork:
    words = ('-m', 'tests.runners.runner_script', folder / 'out', *arguments)
    files = {'output': folder / 'codes', 'errors': folder / 'errors'}
    return start_python(*words, cwd=folder, env=environment(folder, **more), **files)


def codes(process: Fork) -> list[int]:
    assert process.wait(PATIENCE) == 0, process.errors.read_text(encoding='utf-8')[-3000:]
    result: list[int] = json.loads(process.output.read_text(encoding='utf-8').splitlines()[-1])
    return result


def log(folder: Path, model: str) -> str:
    (file,) = (folder / 'out' / 'logs' / 'infer' / model).glob('*.out')
    return file.read_text(encoding='utf-8')


def told(folder: Path, model: str) -> dict[str, Any]:
    (file,) = (folder / 'out' / 'predictions' / model).glob('*.json')
    facts: dict[str, Any] = json.loads(json.loads(file.read_text(encoding='utf-8'))['0']['prediction'])
    return facts


def wait_for_sleeper(folder: Path) -> tuple[int, int]:
    """Ids of the task that sleeps and of the process that it was forked from."""
    until(lambda: (folder / 'pid').exists() and (folder / 'pid').read_text())
    task, server = (folder / 'pid').read_text().split()
    return int(task), int(server)


def test_tasks_without_gpus_come_from_a_fork_of_the_runner_and_a_crash_leaves_the_others_alone(tmp_path: Path) -> None:
    runner = start(tmp_path, 'tell', 'crash', 'tell', '--workers', '2', CUDA_VISIBLE_DEVICES='3,5')
    assert codes(runner) == [0, -signal.SIGABRT, 0]
    rows = [told(tmp_path, f'{number}-tell') for number in (0, 2)]
    assert {row['gpus'] for row in rows} == {''}
    (parent,) = {row['parent'] for row in rows}
    assert parent != runner.pid and 'import serve' not in rows[0]['started_by']
    assert len({number for row in rows for number in row['random']}) == 4
    assert len({row['session'] for row in rows}) == 2
    for model in ('0-tell', '2-tell'):
        assert 'Start inferencing' in log(tmp_path, model) and 'time elapsed' in log(tmp_path, model)
    assert 'Start inferencing' in log(tmp_path, '1-crash')


UUIDS = 'GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,MIG-41b36874-0ab6-5e22-8b4f-4e1c9ae1e3d7'


@pytest.mark.long
@pytest.mark.parametrize('visible', ['3,5', pytest.param(UUIDS, marks=pytest.mark.long)])
def test_each_task_has_its_gpus_session_and_chance(tmp_path: Path, visible: str) -> None:
    arguments = ('tell', 'tell', '--gpus', '1', '--workers', '2')
    assert codes(start(tmp_path, *arguments, CUDA_VISIBLE_DEVICES=visible)) == [0, 0]
    first, second = told(tmp_path, '0-tell'), told(tmp_path, '1-tell')
    assert {first['gpus'], second['gpus']} <= set(visible.split(','))
    assert first['session'] == first['process'] and second['session'] == second['process']
    assert 'import serve' in first['started_by']  # a program: the runner may have initialised CUDA
    assert first['parent'] == second['parent']  # which has imported for both
    assert not set(first['random']) & set(second['random'])


THREADS = """
import threading
import numpy, torch, tqdm
from opencompass_tooleval.runners.fork_server import _is_single_threaded as single
print(single())
numpy.ones((500, 500)) @ numpy.ones((500, 500))  # OpenBLAS ends its own
with tqdm.tqdm(total=1):  # as datasets has them
    assert threading.active_count() == 2
    print(single())
"""
PYTHONS = 'threading.Thread(target=threading.Event().wait, daemon=True).start(); print(single())'
OPENMP = 'torch.set_num_threads(2); torch.ones(10**6).exp(); print(single())'


@pytest.mark.parametrize('work', [PYTHONS, OPENMP])
def test_no_thread_is_forked_over(work: str) -> None:
    done = run_python('-c', THREADS + work, cwd=ROOT)
    assert done.stdout.split() == ['True', 'True', 'False'], done.stderr


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM])  # test_interrupt.py has SIGINT
def test_tasks_end_with_the_runner(number: signal.Signals, tmp_path: Path) -> None:
    runner = start(tmp_path, 'sleep', 'right', '--workers', '1')
    task, server = wait_for_sleeper(tmp_path)
    runner.send_signal(number)
    assert runner.wait(PATIENCE) != 0
    until(lambda: not is_alive(task) and not is_alive(server))
    assert not (tmp_path / 'out' / 'logs' / 'infer' / '1-right').exists()  # nothing more is started


@pytest.mark.long
def test_a_lost_fork_server_costs_its_tasks_only(tmp_path: Path) -> None:
    runner = start(tmp_path, 'sleep', 'right', '--workers', '1')
    task, server = wait_for_sleeper(tmp_path)
    os.kill(server, signal.SIGKILL)
    results = codes(runner)
    assert results[0] != 0
    assert results[1] == 0  # from a new one
    until(lambda: not is_alive(task))


@pytest.mark.long
@pytest.mark.parametrize('visible', ['0,1', UUIDS])
@pytest.mark.parametrize('debug', [(), ('--debug',)])
def test_torchrun_is_started_as_a_command(tmp_path: Path, visible: str, debug: tuple[str, ...]) -> None:
    assert codes(start(tmp_path, 'tell', '--gpus', '2', *debug, CUDA_VISIBLE_DEVICES=visible)) == [0]
    facts = told(tmp_path, '0-tell')
    assert facts['gpus'] == visible
    assert 'torch.distributed.run' in facts['started_by']
    assert {file.name for file in tmp_path.iterdir()} == {'codes', 'errors', 'out'}  # nothing else is left there
