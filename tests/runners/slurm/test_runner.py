"""runners/slurm/runner against a real Slurm: faults of a cluster, and their consequences."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from opencompass.utils import get_logger

from opencompass_tooleval.runners.slurm.runner import SlurmArrayRunner
from opencompass_tooleval.work_dir.journal import Journal
from tests.runners.slurm.conftest import ARRAY_LIMIT, Testbed
from tests.runners.slurm.shell_task import ShellTask, shell_tasks

Status = list[tuple[str, int]]
ONCE = 'echo ran >>{runs}; [ $(wc -l <{runs}) -gt 1 ]'
"""Fails the first time, and never again."""


def runner(**settings: Any) -> SlurmArrayRunner:
    return SlurmArrayRunner(**{'task': dict(type=ShellTask), 'poll': (0.5, 1.0), 'grace': 1.0, 'retry': 0, **settings})


def codes(status: Status) -> list[int]:
    return [code for _, code in status]


def log(work: Path, name: str) -> str:
    return (work / 'logs' / 'infer' / name / 'd.out').read_text(encoding='utf-8')


def parameter_folders(work: Path) -> list[Path]:
    return list((work / 'tmp' / 'slurm').iterdir())


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What is logged, also by OpenCompass's logger, which does not propagate."""
    get_logger().addHandler(caplog.handler)
    yield caplog
    get_logger().removeHandler(caplog.handler)


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    """Runs a runner while the test does something to its jobs."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


def until(condition: Callable[[], bool], seconds: float = 1500) -> None:
    """Waits for it: on a busy machine Slurm says RUNNING long before the command begins."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def started(
    testbed: Testbed, aside: ThreadPoolExecutor, work: Path, commands: list[str], **settings: Any
) -> tuple[Future[Status], str]:
    """A runner at work, and its first element once all run."""
    future = aside.submit(runner(**settings).launch, shell_tasks(work, commands))
    queue = testbed.wait_for('RUNNING')
    while len(queue) < len(commands) or any(not row.endswith(' RUNNING') for row in queue):
        queue = testbed.wait_for('RUNNING')
    logs = [work / 'logs' / 'infer' / f'm{number}' / 'd.out' for number in range(len(commands))]
    until(lambda: all(file.exists() and 'restart' in file.read_text() for file in logs))
    return future, queue[0].split('_')[0]


@pytest.mark.long
def test_a_sweep_larger_than_an_array(testbed: Testbed, tmp_path: Path) -> None:
    work = tmp_path / 'odd % "work" dir'
    count = ARRAY_LIMIT + 4
    commands = [f'sleep 1; test -s CONFIG && echo this is {number}' for number in range(count)]
    status = runner().launch(shell_tasks(work, commands))
    assert status == [(f'Shell[m{number}/d]', 0) for number in range(count)]
    for number in range(count):
        head, said = log(work, f'm{number}').splitlines()
        assert head.startswith('slurm: job ') and f'_{number % ARRAY_LIMIT} on ' in head
        assert said == f'this is {number}'
    assert parameter_folders(work) == []


def test_odd_names(testbed: Testbed, tmp_path: Path) -> None:
    names = ['a b', '"quoted" \'name\'', '$HOME;`x`&|', '100% %A %a', '模型', '-x', 'tab\tname', r'back\slash']
    commands = [f'echo this is {number}' for number in range(len(names))]
    status = runner().launch(shell_tasks(tmp_path, commands, names))
    assert status == [(f'Shell[{name}/d]', 0) for name in names]
    for number, name in enumerate(names):
        assert log(tmp_path, name).endswith(f'\nthis is {number}\n')


def test_the_partition_is_said_once(said: pytest.LogCaptureFixture) -> None:
    """After OpenCompass's "SlurmRunner is not used, so the partition argument is ignored"."""
    for _ in range(2):  # inference and evaluation
        runner(partition='of-this-test')
    assert [message for message in said.messages if 'tasks run on Slurm, in partition of-this-test:' in message] == [
        said.messages[0]
    ]


def test_no_tasks_need_no_slurm(tmp_path: Path) -> None:
    assert runner().launch([]) == []


def test_what_crashes_once_is_run_again(testbed: Testbed, tmp_path: Path) -> None:
    once = ONCE.format(runs=tmp_path / 'runs')
    assert codes(runner(retry=1).launch(shell_tasks(tmp_path, ['true', once]))) == [0, 0]
    assert log(tmp_path, 'm1').count('slurm: job ') == 2
    assert log(tmp_path, 'm0').count('slurm: job ') == 1


def test_what_always_crashes_leaves_the_others(
    testbed: Testbed, tmp_path: Path, said: pytest.LogCaptureFixture
) -> None:
    crash = 'echo "ValueError: no such thing"; echo bye; exit 3'
    assert codes(runner(retry=1).launch(shell_tasks(tmp_path, ['sleep 1', crash, 'sleep 2']))) == [0, 3, 0]
    assert log(tmp_path, 'm1').count('bye') == 2
    line = 'task Shell[m1/d] fail (code 3, 2 times): ValueError: no such thing'
    assert f'{line}\nsee {tmp_path}/logs/infer/m1/d.out' in said.messages
    (kept,) = parameter_folders(tmp_path)
    assert kept.stat().st_mode & 0o777 == 0o700  # parameters may hold API keys
    assert (kept / '1.py').is_file()


@pytest.mark.long
def test_an_element_cancelled_from_outside(testbed: Testbed, aside: ThreadPoolExecutor, tmp_path: Path) -> None:
    future, job = started(testbed, aside, tmp_path, ['sleep 3', 'sleep 60'])
    testbed.tell('scancel', f'{job}_1')
    assert codes(future.result()) == [0, -1]
    until(lambda: 'CANCELLED' in log(tmp_path, 'm1'))  # Slurm writes it once the job has ended


@pytest.mark.long
def test_cancelled_while_it_waits(
    testbed: Testbed, aside: ThreadPoolExecutor, tmp_path: Path, said: pytest.LogCaptureFixture
) -> None:
    tasks = shell_tasks(tmp_path, [f'until [ -e {tmp_path}/go ]; do sleep 1; done', 'sleep 60'])
    future = aside.submit(runner(max_num_workers=1).launch, tasks)
    queue = testbed.wait_for('RUNNING', 'PENDING')
    while 'tasks wait in the queue: JobArrayTaskLimit' not in said.messages:
        assert not future.done()
        time.sleep(0.1)
    testbed.tell('scancel', queue[0].split('_')[0] + '_1')
    (tmp_path / 'go').touch()
    assert codes(future.result()) == [0, -1]


@pytest.mark.long
def test_over_the_time_limit(testbed: Testbed, tmp_path: Path, said: pytest.LogCaptureFixture) -> None:
    """Slurm looks at limits once a minute, so the limit is set once the job runs."""
    command = 'scontrol update JobId=$SLURM_JOB_ID TimeLimit=00:00:01; sleep 200'
    assert codes(runner(time=1).launch(shell_tasks(tmp_path, [command]))) == [-1]
    assert 'DUE TO TIME LIMIT' in log(tmp_path, 'm0')
    assert any('TIMEOUT' in message for message in said.messages)


@pytest.mark.long
def test_a_signal_before_the_time_limit_queues_it_again(testbed: Testbed, tmp_path: Path) -> None:
    """With no retry: what is queued again has not failed."""
    command = f'echo ran >>{tmp_path}/runs; [ $SLURM_RESTART_COUNT ] || sleep 300'
    settings = dict(time=2, extra_command=['--signal=B:USR1@60'])
    assert codes(runner(**settings).launch(shell_tasks(tmp_path, [command]))) == [0]
    assert (tmp_path / 'runs').read_text() == 'ran\n' * 2


def test_a_requeue_is_no_failure(
    testbed: Testbed, aside: ThreadPoolExecutor, tmp_path: Path, said: pytest.LogCaptureFixture
) -> None:
    for folder in ('configs', 'predictions/m0'):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / 'configs' / 'run.py').touch()
    Journal(tmp_path / 'predictions' / 'm0' / 'tmp_d.jsonl').append({0: {'prediction': 'a'}, 1: {'prediction': 'b'}})
    command = f'trap "exit 9" TERM; echo ran >>{tmp_path}/runs; [ $SLURM_RESTART_COUNT ] || {{ sleep 60 & wait; }}'
    future, job = started(testbed, aside, tmp_path, [command])
    until((tmp_path / 'runs').exists)
    testbed.tell('scontrol', 'requeue', f'{job}_0')
    testbed.wait_for('PENDING')
    time.sleep(1.2)  # the node refuses a start within the second of the stop
    testbed.tell('scontrol', 'update', f'JobId={job}_0', 'StartTime=now')
    assert codes(future.result()) == [0]
    assert (tmp_path / 'runs').read_text() == 'ran\n' * 2
    assert 'restart 0' in log(tmp_path, 'm0') and 'restart 1' in log(tmp_path, 'm0')
    assert any('was queued again (1 times): 2 answers done' in message for message in said.messages)


def test_names_of_jobs(testbed: Testbed, aside: ThreadPoolExecutor, tmp_path: Path) -> None:
    """Each element has its own name as soon as it runs; before, that of its array."""

    def names() -> set[str]:
        command = ['squeue', '--noheader', '--format=%j']
        return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())

    go = f'until [ -e {tmp_path}/go ]; do sleep 0.1; done'
    tasks = shell_tasks(tmp_path, [go] * 2, ['gpt', 'qwen'])
    for number, task in enumerate(tasks):
        task['datasets'][0][0].update(abbr=f'plan_{number}', reader_cfg=dict(test_range='[0:9]'))
    future = aside.submit(runner(extra_command=['--job-name night']).launch, tasks)
    until(lambda: names() == {'night-gpt-plan-0', 'night-qwen-plan-1'})
    (tmp_path / 'go').touch()
    assert codes(future.result()) == [0] * 2


@pytest.mark.long
def test_preemption_that_cancels_is_no_failure(testbed: Testbed, aside: ThreadPoolExecutor, tmp_path: Path) -> None:
    command = f'echo ran >>{tmp_path}/runs; [ $(wc -l <{tmp_path}/runs) -gt 1 ] || sleep 60'
    future, _ = started(testbed, aside, tmp_path, [command], partition='frail', extra_command=['-c 16'])
    until((tmp_path / 'runs').exists)
    testbed.tell('sbatch', '--partition=urgent', '-c', '16', '--output=/dev/null', '--wrap=sleep 1')
    assert codes(future.result()) == [0]
    assert (tmp_path / 'runs').read_text() == 'ran\n' * 2
    until(lambda: 'DUE TO PREEMPTION' in log(tmp_path, 'm0'))


@pytest.mark.long
def test_the_controller_is_restarted(
    testbed: Testbed, aside: ThreadPoolExecutor, tmp_path: Path, said: pytest.LogCaptureFixture
) -> None:
    future, _ = started(testbed, aside, tmp_path, ['sleep 4'] * 2 + ['sleep 8'])
    testbed.stop_controller()
    while not any('trying again' in message for message in said.messages):
        assert not future.done()
        time.sleep(0.2)
    testbed.start_controller()
    assert codes(future.result()) == [0, 0, 0]


@pytest.mark.long
def test_a_controller_that_stays_away(testbed: Testbed, aside: ThreadPoolExecutor, tmp_path: Path) -> None:
    future, _ = started(testbed, aside, tmp_path, ['sleep 1'], patience=0.0)
    testbed.stop_controller()
    try:
        with pytest.raises(SystemExit, match=r'tooleval: .*Unable to contact'):
            future.result()
    finally:
        testbed.start_controller()


@pytest.mark.long
@pytest.mark.parametrize('count', [6, ARRAY_LIMIT + 2])
def test_no_more_at_once_than_asked_for(testbed: Testbed, tmp_path: Path, count: int) -> None:
    """Over two arrays as well, and with one task that is run again."""
    times = tmp_path / 'times'
    command = f'echo + >>{times}; sleep 1.5; echo - >>{times}'
    commands = [command] * (count - 1) + [f'{command}; {ONCE.format(runs=tmp_path / "runs")}']
    assert codes(runner(max_num_workers=3, retry=1).launch(shell_tasks(tmp_path, commands))) == [0] * count
    running, most = 0, 0
    for sign in times.read_text().split():
        running += 1 if sign == '+' else -1
        most = max(most, running)
    assert most == 3


@pytest.mark.long
def test_an_array_for_each_number_of_gpus(testbed: Testbed, tmp_path: Path) -> None:
    command = 'sleep 1; echo "job $SLURM_ARRAY_JOB_ID gpus ${CUDA_VISIBLE_DEVICES:-none}"'
    tasks = [
        *shell_tasks(tmp_path, [command] * 2, ['a', 'b']),
        *shell_tasks(tmp_path, [command], ['c'], gpus=2),
        *shell_tasks(tmp_path, [command], ['d']),
    ]
    assert codes(runner().launch(tasks)) == [0] * 4
    said = {name: log(tmp_path, name).splitlines()[-1].split() for name in 'abcd'}
    assert said['a'][1] == said['b'][1] == said['d'][1] != said['c'][1]
    assert [said[name][3] for name in 'abd'] == ['none'] * 3
    assert len(said['c'][3].split(',')) == 2


def test_a_first_job_that_is_refused_is_an_error(testbed: Testbed, tmp_path: Path) -> None:
    tasks = [*shell_tasks(tmp_path, ['true'], ['a'], gpus=99), *shell_tasks(tmp_path, ['sleep 60'], ['b'])]
    with pytest.raises(SystemExit, match=r'tooleval: sbatch: .*Requested node configuration is not available$'):
        runner().launch(tasks)
    with pytest.raises(SystemExit, match=r"invalid partition specified: nowhere.*Set partition in infer\['runner'\]"):
        runner(partition='nowhere').launch(tasks)
    assert testbed.queue() == []


@pytest.mark.long
def test_a_later_job_that_is_refused_takes_no_places(testbed: Testbed, tmp_path: Path) -> None:
    times = tmp_path / 'times'
    command = f'echo + >>{times}; sleep 6; echo - >>{times}'
    tasks = [*shell_tasks(tmp_path, [command] * 4), *shell_tasks(tmp_path, ['true'] * 4, list('abcd'), gpus=99)]
    assert codes(runner(max_num_workers=4, patience=0.0).launch(tasks)) == [0] * 4 + [-1] * 4
    assert times.read_text().split() == ['+'] * 4 + ['-'] * 4
    assert 'SlurmError: sbatch: ' in log(tmp_path, 'a')


@pytest.mark.long
@pytest.mark.parametrize('patience', [30.0, 0.0])
def test_a_retry_that_is_refused_does_not_stop_the_others(
    testbed: Testbed, aside: ThreadPoolExecutor, tmp_path: Path, said: pytest.LogCaptureFixture, patience: float
) -> None:
    go, end = tmp_path / 'go', tmp_path / 'end'
    fail_once = f'until [ -e {go} ]; do sleep 0.1; done; {ONCE.format(runs=tmp_path / "runs")}'
    commands = [f'until [ -e {end} ]; do sleep 0.1; done', fail_once]
    future, _ = started(testbed, aside, tmp_path, commands, retry=1, patience=patience)
    testbed.tell('scontrol', 'update', 'PartitionName=main', 'State=DRAIN')
    try:
        go.touch()
        until(lambda: future.done() or any('this is tried again' in message for message in said.messages))
        time.sleep(1.5)  # is tried again, and patience is over; the other one still runs
        assert not future.done()
        end.touch()
        if not patience:
            assert codes(future.result()) == [0, 1]
    finally:
        testbed.tell('scontrol', 'update', 'PartitionName=main', 'State=UP')
    assert codes(future.result()) == [0, 0 if patience else 1]
    assert log(tmp_path, 'm0').count('slurm: job ') == 1
    assert sum('this is tried again' in message for message in said.messages) == 1


@pytest.mark.long
def test_what_a_node_cannot_start_is_submitted_again(
    testbed: Testbed, aside: ThreadPoolExecutor, tmp_path: Path, said: pytest.LogCaptureFixture
) -> None:
    """A failing prolog drains the node, and Slurm holds the job for ever."""
    broken, prolog, settings = tmp_path / 'broken', tmp_path / 'prolog', testbed.folder / 'slurm.conf'
    before = settings.read_text()
    prolog.write_text(f'#!/bin/sh\n[ ! -e {broken} ]\n')
    prolog.chmod(0o755)
    settings.write_text(f'{before}Prolog={prolog}\n')
    testbed.tell('scontrol', 'reconfigure')
    try:
        broken.touch()
        future = aside.submit(runner(retry=1).launch, shell_tasks(tmp_path, ['true']))
        until(lambda: any('a node could not start' in message for message in said.messages))
        broken.unlink()
        testbed.tell('scontrol', 'update', 'NodeName=testbed', 'State=RESUME')
        assert codes(future.result()) == [0]
    finally:
        broken.unlink(missing_ok=True)
        settings.write_text(before)
        testbed.tell('scontrol', 'reconfigure')
        testbed.tell('scancel', f'--user={os.getuid()}')  # what it waits for if it fails


@pytest.mark.long
def test_what_someone_holds_is_waited_for(
    testbed: Testbed, aside: ThreadPoolExecutor, tmp_path: Path, said: pytest.LogCaptureFixture
) -> None:
    future = aside.submit(runner(max_num_workers=1).launch, shell_tasks(tmp_path, ['sleep 8', 'true']))
    job = testbed.wait_for('RUNNING', 'PENDING')[0].split('_')[0]
    testbed.tell('scontrol', 'hold', f'{job}_1')
    until(lambda: any('tasks are held until "scontrol release"' in message for message in said.messages))
    until(lambda: len(testbed.queue()) == 1)
    time.sleep(2)
    assert not future.done()
    testbed.tell('scontrol', 'release', f'{job}_1')
    assert codes(future.result()) == [0, 0]


def test_the_users_own_options_of_squeue_hide_nothing(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('SQUEUE_PARTITION', 'urgent')
    assert codes(runner().launch(shell_tasks(tmp_path, ['sleep 4']))) == [0]


@pytest.mark.long
def test_options_reach_slurm(testbed: Testbed, tmp_path: Path) -> None:
    command = 'scontrol show job $SLURM_JOB_ID; pwd; echo "in $TOOLEVAL_TEST"'
    settings = dict(partition='urgent', time='00:07:00', extra_command=['-c 3', '--comment="two words"'])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('TOOLEVAL_TEST', 'here')
        patch.setenv('SLURM_MEM_PER_NODE', '999999')  # as if the runner were in a job itself
        assert codes(runner(**settings).launch(shell_tasks(tmp_path, [command]))) == [0]
    said = log(tmp_path, 'm0')
    for part in ('Partition=urgent', 'TimeLimit=00:07:00', 'CPUs/Task=3', 'Comment=two words', 'Requeue=1'):
        assert part in said
    assert said.endswith(f'{os.getcwd()}\nin here\n')


def test_debug_runs_in_the_terminal(testbed: Testbed, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tasks = shell_tasks(tmp_path, ['echo "step $SLURM_JOB_ID"', 'exit 3'])
    assert codes(runner(debug=True).launch(tasks)) == [0, 3]
    assert 'step ' in capfd.readouterr().out


@pytest.mark.long
def test_jobs_that_slurm_has_forgotten(testbed: Testbed, tmp_path: Path, said: pytest.LogCaptureFixture) -> None:
    """Slurm looks for jobs to forget once a minute; the files still know."""
    commands = ['true', 'exit 3', 'scancel $SLURM_JOB_ID; sleep 9']
    assert codes(runner(poll=(80.0, 80.0)).launch(shell_tasks(tmp_path, commands))) == [0, 3, -1]
    assert any('fail (gone, code -1, 1 times)' in message for message in said.messages)
