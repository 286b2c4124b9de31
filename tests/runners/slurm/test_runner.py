"""runners/slurm/runner against a real Slurm: faults of a cluster, and their consequences."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config
from opencompass.utils import get_logger

from opencompass_tooleval.runners.slurm.runner import SlurmArrayRunner
from tests.engines import until
from tests.runners.slurm.conftest import ARRAY_LIMIT, Testbed
from tests.runners.slurm.shell_task import ShellTask, shell_tasks
from tests.stored import store_rows

ONCE = 'echo ran >>{0}; [ $(wc -l <{0}) -gt 1 ]'
"""Fails the first time, and never again."""


@dataclass
class Sweep:
    """Tasks of a runner in a working directory, on the testbed."""

    testbed: Testbed
    work: Path
    aside: ThreadPoolExecutor
    caplog: pytest.LogCaptureFixture

    def launch(self, tasks: list[str] | list[Config], **settings: Any) -> list[int]:
        """Runs commands, or tasks, to their end; returns their codes."""
        defaults = {'task': dict(type=ShellTask), 'poll': (0.5, 1.0), 'grace': 1.0, 'retry': 0}
        made = [task for task in tasks if isinstance(task, Config)] or shell_tasks(self.work, list(map(str, tasks)))
        status = SlurmArrayRunner(**{**defaults, **settings}).launch(made)
        assert all(
            name.startswith(f'Shell[{task.models[0].abbr}/') for (name, _), task in zip(status, made, strict=True)
        )
        return [code for _, code in status]

    def begin(self, tasks: list[str] | list[Config], **settings: Any) -> Future[list[int]]:
        """Runs them while the test does something to their jobs."""
        return self.aside.submit(self.launch, tasks, **settings)

    def started(self, commands: list[str], **settings: Any) -> tuple[Future[list[int]], str]:
        """A runner at work, and its job once all elements run.

        On a busy machine Slurm says RUNNING long before the command begins.
        """
        future = self.begin(commands, **settings)
        queue = self.testbed.wait_for('RUNNING')
        while len(queue) < len(commands) or any(not row.endswith(' RUNNING') for row in queue):
            queue = self.testbed.wait_for('RUNNING')
        logs = [self.file(f'm{number}') for number in range(len(commands))]
        until(lambda: all(file.exists() and 'restart' in file.read_text() for file in logs))
        return future, queue[0].split('_')[0]

    def file(self, name: str) -> Path:
        return self.work / 'logs' / 'infer' / name / 'd.out'

    def log(self, name: str = 'm0') -> str:
        return self.file(name).read_text(encoding='utf-8')

    def says(self, text: str) -> int:
        """How many messages hold a text."""
        return sum(text in message for message in self.caplog.messages)

    def parameter_folders(self) -> list[Path]:
        return list((self.work / 'tmp' / 'slurm').iterdir())

    def set(self, *words: str) -> None:
        self.testbed.tell('scontrol', 'update', *words)


@pytest.fixture
def sweep(testbed: Testbed, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Sweep]:
    """One whose messages are caught, also those of OpenCompass's logger, which does not propagate."""
    get_logger().addHandler(caplog.handler)
    with ThreadPoolExecutor(1) as pool:
        yield Sweep(testbed, tmp_path, pool, caplog)
    get_logger().removeHandler(caplog.handler)


@pytest.mark.long
def test_a_sweep_larger_than_an_array(sweep: Sweep) -> None:
    sweep.work /= 'odd % "work" dir'
    count = ARRAY_LIMIT + 4
    codes = sweep.launch([f'sleep 1; test -s CONFIG && echo this is {number}' for number in range(count)])
    assert codes == [0] * count
    for number in range(count):
        head, said = sweep.log(f'm{number}').splitlines()
        assert head.startswith('slurm: job ') and f'_{number % ARRAY_LIMIT} on ' in head
        assert said == f'this is {number}'
    assert sweep.parameter_folders() == []


def test_odd_names(sweep: Sweep) -> None:
    names = ['a b', '"quoted" \'name\'', '$HOME;`x`&|', '100% %A %a', '模型', '-x', r'back\slash']
    commands = [f'echo this is {number}' for number in range(len(names))]
    assert sweep.launch(shell_tasks(sweep.work, commands, names)) == [0] * len(names)
    for number, name in enumerate(names):
        assert sweep.log(name).endswith(f'\nthis is {number}\n')


def test_no_tasks_need_no_slurm_and_the_partition_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """After OpenCompass's "SlurmRunner is not used, so the partition argument is ignored"."""
    get_logger().addHandler(caplog.handler)
    for _ in range(2):  # inference and evaluation
        assert SlurmArrayRunner(task=dict(type=ShellTask), partition='of-this-test').launch([]) == []
    get_logger().removeHandler(caplog.handler)
    said = [message for message in caplog.messages if 'tasks run on Slurm, in partition of-this-test:' in message]
    assert said == caplog.messages[:1]


def test_what_crashes_is_run_again_and_leaves_the_others(sweep: Sweep) -> None:
    crash = 'echo "ValueError: no such thing"; echo bye; exit 3'
    assert sweep.launch(['true', ONCE.format(sweep.work / 'runs'), crash, 'sleep 1'], retry=1) == [0, 0, 3, 0]
    assert [sweep.log(f'm{number}').count('slurm: job ') for number in range(4)] == [1, 2, 2, 1]
    line = 'task Shell[m2/d] fail (code 3, 2 times): ValueError: no such thing'
    assert f'{line}\nsee {sweep.file("m2")}' in sweep.caplog.messages
    (kept,) = sweep.parameter_folders()
    assert kept.stat().st_mode & 0o777 == 0o700  # parameters may hold API keys
    assert (kept / '2.py').is_file()


@pytest.mark.long
def test_over_the_time_limit(sweep: Sweep) -> None:
    """Slurm looks at limits once a minute, so the limit is set once the job runs."""
    assert sweep.launch(['scontrol update JobId=$SLURM_JOB_ID TimeLimit=00:00:01; sleep 200'], time=1) == [-1]
    assert 'DUE TO TIME LIMIT' in sweep.log() and sweep.says('TIMEOUT')


@pytest.mark.long
def test_a_signal_before_the_time_limit_queues_it_again(sweep: Sweep) -> None:
    """With no retry: what is queued again has not failed."""
    command = f'echo ran >>{sweep.work}/runs; [ $SLURM_RESTART_COUNT ] || sleep 300'
    assert sweep.launch([command], time=2, extra_command=['--signal=B:USR1@60']) == [0]
    assert (sweep.work / 'runs').read_text() == 'ran\n' * 2


def test_a_requeue_is_no_failure(sweep: Sweep) -> None:
    for folder in ('configs', 'predictions/m0'):
        (sweep.work / folder).mkdir(parents=True)
    (sweep.work / 'configs' / 'run.py').touch()
    rows = ({'record_id': name, 'prediction': name} for name in 'ab')
    store_rows(sweep.work / 'predictions/m0/d.json', rows)
    runs = sweep.work / 'runs'
    command = f'trap "exit 9" TERM; echo ran >>{runs}; [ $SLURM_RESTART_COUNT ] || {{ sleep 60 & wait; }}'
    future, job = sweep.started([command])
    until(runs.exists)
    sweep.testbed.requeue(f'{job}_0')
    assert future.result() == [0]
    assert runs.read_text() == 'ran\n' * 2
    assert 'restart 0' in sweep.log() and 'restart 1' in sweep.log()
    assert sweep.says('was queued again (1 times): 2 answers done')


def test_names_of_jobs(sweep: Sweep) -> None:
    """Each element has its own name as soon as it runs; before, that of its array."""

    def names() -> set[str]:
        command = ['squeue', '--noheader', '--format=%j']
        return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())

    go = f'until [ -e {sweep.work}/go ]; do sleep 0.1; done'
    tasks = shell_tasks(sweep.work, [go] * 2, ['gpt', 'qwen'])
    for number, task in enumerate(tasks):
        task['datasets'][0][0].update(abbr=f'plan_{number}', reader_cfg=dict(test_range='[0:9]'))
    future = sweep.begin(tasks, extra_command=['--job-name night'])
    until(lambda: names() == {'night-gpt-plan-0', 'night-qwen-plan-1'})
    (sweep.work / 'go').touch()
    assert future.result() == [0] * 2


@pytest.mark.long
def test_the_controller_is_restarted(sweep: Sweep) -> None:
    future, _ = sweep.started(['sleep 4'] * 2 + ['sleep 8'])
    sweep.testbed.stop_controller()
    until(lambda: future.done() or sweep.says('trying again'))
    sweep.testbed.start_controller()
    assert future.result() == [0, 0, 0] and sweep.says('trying again')


def most_at_once(times: Path) -> int:
    running = most = 0
    for sign in times.read_text().split():
        running += 1 if sign == '+' else -1
        most = max(most, running)
    return most


@pytest.mark.long
def test_no_more_at_once_than_asked_for(sweep: Sweep) -> None:
    """Over two arrays as well, and with one task that is run again."""
    count, times = ARRAY_LIMIT + 2, sweep.work / 'times'
    command = f'echo + >>{times}; sleep 1.5; echo - >>{times}'
    commands = [command] * (count - 1) + [f'{command}; {ONCE.format(sweep.work / "runs")}']
    assert sweep.launch(commands, max_num_workers=3, retry=1) == [0] * count
    assert most_at_once(times) == 3


@pytest.mark.long
def test_an_array_for_each_number_of_gpus(sweep: Sweep) -> None:
    command = 'sleep 1; echo "job $SLURM_ARRAY_JOB_ID gpus ${CUDA_VISIBLE_DEVICES:-none}"'
    named = [shell_tasks(sweep.work, [command], [name], gpus=2 if name == 'c' else 0)[0] for name in 'abcd']
    assert sweep.launch(named) == [0] * 4
    said = {name: sweep.log(name).splitlines()[-1].split() for name in 'abcd'}
    assert said['a'][1] == said['b'][1] == said['d'][1] != said['c'][1]
    assert [said[name][3] for name in 'abd'] == ['none'] * 3
    assert len(said['c'][3].split(',')) == 2


def test_a_first_job_that_is_refused_is_an_error(sweep: Sweep) -> None:
    tasks = [*shell_tasks(sweep.work, ['true'], ['a'], gpus=99), *shell_tasks(sweep.work, ['sleep 60'], ['b'])]
    with pytest.raises(SystemExit, match=r'tooleval: sbatch: .*Requested node configuration is not available$'):
        sweep.launch(tasks)
    with pytest.raises(SystemExit, match=r"invalid partition specified: nowhere.*Set partition in infer\['runner'\]"):
        sweep.launch(tasks, partition='nowhere')
    assert sweep.testbed.queue() == []


@pytest.mark.long
@pytest.mark.parametrize('patience', [30.0, 0.0])
def test_a_retry_that_is_refused_does_not_stop_the_others(sweep: Sweep, patience: float) -> None:
    go, end = sweep.work / 'go', sweep.work / 'end'
    fail_once = f'until [ -e {go} ]; do sleep 0.1; done; {ONCE.format(sweep.work / "runs")}'
    future, _ = sweep.started([f'until [ -e {end} ]; do sleep 0.1; done', fail_once], retry=1, patience=patience)
    sweep.set('PartitionName=main', 'State=DRAIN')
    try:
        go.touch()
        until(lambda: future.done() or sweep.says('this is tried again'))
        time.sleep(1.5)  # is tried again, and patience is over; the other one still runs
        assert not future.done()
        end.touch()
        if not patience:
            assert future.result() == [0, 1]
    finally:
        sweep.set('PartitionName=main', 'State=UP')
    assert future.result() == [0, 0 if patience else 1]
    assert sweep.log().count('slurm: job ') == 1
    assert sweep.says('this is tried again') == 1


@pytest.mark.long
def test_what_a_node_cannot_start_is_submitted_again(sweep: Sweep) -> None:
    """A failing prolog drains the node, and Slurm holds the job for ever."""
    broken, prolog, settings = sweep.work / 'broken', sweep.work / 'prolog', sweep.testbed.folder / 'slurm.conf'
    before = settings.read_text()
    prolog.write_text(f'#!/bin/sh\n[ ! -e {broken} ]\n')
    prolog.chmod(0o755)
    settings.write_text(f'{before}Prolog={prolog}\n')
    sweep.testbed.tell('scontrol', 'reconfigure')
    try:
        broken.touch()
        future = sweep.begin(['true'], retry=1)
        until(lambda: sweep.says('a node could not start'))
        broken.unlink()
        sweep.set('NodeName=testbed', 'State=RESUME')
        assert future.result() == [0]
    finally:
        broken.unlink(missing_ok=True)
        settings.write_text(before)
        sweep.testbed.tell('scontrol', 'reconfigure')
        sweep.testbed.tell('scancel', f'--user={os.getuid()}')  # what it waits for if it fails


@pytest.mark.long
def test_what_someone_holds_is_waited_for(sweep: Sweep) -> None:
    future = sweep.begin(['sleep 8', 'true'], max_num_workers=1)
    job = sweep.testbed.wait_for('RUNNING', 'PENDING')[0].split('_')[0]
    sweep.testbed.tell('scontrol', 'hold', f'{job}_1')
    until(lambda: sweep.says('tasks are held until "scontrol release"'))
    until(lambda: len(sweep.testbed.queue()) == 1)
    time.sleep(2)
    assert not future.done()
    sweep.testbed.tell('scontrol', 'release', f'{job}_1')
    assert future.result() == [0, 0]


@pytest.mark.long
def test_options_reach_slurm(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    command = 'scontrol show job $SLURM_JOB_ID; pwd; echo "in $TOOLEVAL_TEST"'
    settings = dict(partition='urgent', time='00:07:00', extra_command=['-c 3', '--comment="two words"'])
    monkeypatch.setenv('TOOLEVAL_TEST', 'here')
    monkeypatch.setenv('SLURM_MEM_PER_NODE', '999999')  # as if the runner were in a job itself
    assert sweep.launch([command], **settings) == [0]
    for part in ('Partition=urgent', 'TimeLimit=00:07:00', 'CPUs/Task=3', 'Comment=two words', 'Requeue=1'):
        assert part in sweep.log()
    assert sweep.log().endswith(f'{os.getcwd()}\nin here\n')


def test_debug_runs_in_the_terminal(sweep: Sweep, capfd: pytest.CaptureFixture[str]) -> None:
    assert sweep.launch(['echo "step $SLURM_JOB_ID"', 'exit 3'], debug=True) == [0, 3]
    assert 'step ' in capfd.readouterr().out


@pytest.mark.long
def test_jobs_that_slurm_has_forgotten(sweep: Sweep) -> None:
    """Slurm looks for jobs to forget once a minute; the files still know."""
    assert sweep.launch(['true', 'exit 3', 'scancel $SLURM_JOB_ID; sleep 9'], poll=(80.0, 80.0)) == [0, 3, -1]
    assert sweep.says('fail (gone, code -1, 1 times)')
