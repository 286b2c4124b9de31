"""The real ``opencompass`` command over a real Slurm."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from opencompass_tooleval.extras.probe.doctor import check_optional
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.findings.kinds import Level
from tests.conftest import ROOT
from tests.forked import Fork, start_opencompass
from tests.runners.slurm.conftest import ARRAY_LIMIT, Testbed

PATIENCE = 1500
SHELL_CONFIG = """
from opencompass.partitioners import NaivePartitioner
from opencompass_tooleval.runners.slurm.runner import SlurmArrayRunner
from tests.runners.slurm.shell_task import ShellTask

models = [dict(abbr=f'm{number}', command='sleep 60') for number in range(6)]
datasets = [dict(abbr='d', type='never built')]
infer = dict(
    partitioner=dict(type=NaivePartitioner),
    runner=dict(type=SlurmArrayRunner, task=dict(type=ShellTask)),
)
"""
RESUMED_CONFIG = SHELL_CONFIG.replace(
    "'sleep 60'",
    'f"exec 9>>m{number}.busy; flock -n 9 || exit 1; trap : TERM; echo >>runs; until [ -e go ]; do sleep 1; done"',
).replace('ShellTask))', 'ShellTask), retry=0)')
"""Tasks that fail if they run twice at once, and that SIGTERM does not stop."""
DEMO_CONFIG = """
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, models
    from opencompass_tooleval.configs.summarizers.tooleval_easytool import summarizer
    from opencompass_tooleval.configs.tooleval_WHERE import eval, infer

wanted = ['tooleval-teval-review_str_v2', 'tooleval-ultratool-tool_selection_zh']
datasets = [row for row in datasets if row['abbr'] in wanted]
models = [row for row in models if row['abbr'] == 'oracle']
"""
DEMO = ('teval-review_str_v2', 'ultratool-tool_selection_zh')


@contextmanager
def opencompass(folder: Path, config: str, *arguments: str) -> Iterator[Fork]:
    """A running ``opencompass``, in a process group of its own, as a terminal makes it."""
    folder.mkdir(exist_ok=True)
    (folder / 'mine.py').write_text(config, encoding='utf-8')
    environment = {**os.environ, 'PYTHONPATH': str(ROOT)}
    output = folder / 'printed.txt'
    process = start_opencompass('mine.py', '-w', 'out', *arguments, cwd=folder, env=environment, output=output)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def end_of(process: Fork) -> str:
    """Waits for the end of a run, and returns what it printed."""
    process.wait(PATIENCE)
    return process.output.read_text(encoding='utf-8', errors='replace')


@pytest.mark.long
def test_signals_cancel_what_a_run_started_and_nothing_else(testbed: Testbed, tmp_path: Path) -> None:
    def jobs() -> set[str]:
        return {row.partition('_')[0] for row in testbed.wait_for('RUNNING', seconds=PATIENCE)}

    with opencompass(tmp_path / 'a', SHELL_CONFIG, '-m', 'infer') as first:
        jobs_of_first = jobs()
        with opencompass(tmp_path / 'b', SHELL_CONFIG, '-m', 'infer') as second:
            while not (jobs_of_second := jobs() - jobs_of_first):
                time.sleep(0.1)
            os.killpg(first.pid, signal.SIGINT)  # Ctrl-C reaches all that the terminal runs
            output = end_of(first)
            assert first.returncode == -signal.SIGINT and f'cancelling scancel {jobs_of_first.pop()}' in output, output
            while jobs() != jobs_of_second:  # what was cancelled ends within KillWait
                time.sleep(0.1)
            second.send_signal(signal.SIGTERM)
            output = end_of(second)
            assert second.returncode == 128 + signal.SIGTERM and 'cancelling scancel' in output, output
            testbed.wait_for(seconds=PATIENCE)
    assert not list(tmp_path.glob('*/out/*/tmp/slurm/*'))


@pytest.mark.long
def test_after_a_kill_a_resumed_run_cancels_what_was_left(testbed: Testbed, tmp_path: Path) -> None:
    work = tmp_path / 'work'
    runs = work / 'runs'
    with opencompass(work, RESUMED_CONFIG, '-m', 'infer') as killed:
        left = testbed.wait_for('RUNNING', seconds=PATIENCE)[0].partition('_')[0]
        while not runs.exists() or len(runs.read_text()) < 6:
            time.sleep(0.1)
        killed.kill()
    assert testbed.queue()
    with opencompass(work, RESUMED_CONFIG, '-m', 'infer', '-r') as resumed:
        while len(runs.read_text()) < 12 and resumed.poll() is None:
            time.sleep(0.1)
        (work / 'go').touch()
        output = end_of(resumed)
    assert f'scancel {left}; waiting for their end' in output and ' fail (' not in output, output
    assert (resumed.returncode, len(runs.read_text())) == (0, 12), output
    assert not list(work.glob('out/*/tmp/slurm/*'))


def files_of_demo(folder: Path, where: str) -> dict[str, bytes]:
    """Runs the demo; returns path below the run -> content, of predictions and results."""
    with opencompass(folder, DEMO_CONFIG.replace('WHERE', where)) as process:
        output = end_of(process)
        assert process.returncode == 0, output
    (run,) = (folder / 'out').iterdir()
    files = [*run.glob('predictions/*/*.json'), *run.glob('results/*/*')]
    return {str(file.relative_to(run)): file.read_bytes() for file in files}


@pytest.mark.long
def test_the_demo_gives_what_it_gives_on_one_machine(testbed: Testbed, tmp_path: Path) -> None:
    files = files_of_demo(tmp_path / 'local', 'local')
    assert files_of_demo(tmp_path / 'on_slurm', 'slurm') == files
    stages = ('predictions', 'results')
    assert {f'{stage}/oracle/tooleval-{name}.json' for stage in stages for name in DEMO} == set(files)


def slurm() -> Finding:
    return {finding.about: finding for finding in check_optional()}['slurm']


@pytest.mark.parametrize('answers', [True, pytest.param(False, marks=pytest.mark.long)])
def test_the_doctor_looks_whether_the_cluster_answers(testbed: Testbed, answers: bool) -> None:
    if answers:
        assert slurm().level is Level.OK and slurm().text.endswith(f'; arrays of up to {ARRAY_LIMIT} tasks')
        return
    testbed.stop_controller()
    try:
        assert slurm().level is Level.NOTE and 'no cluster answers (' in slurm().text
    finally:
        testbed.start_controller()
