"""runners/slurm/leftovers against a real Slurm: only the runner's own jobs are cancelled."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from opencompass_tooleval.runners.slurm.client import Slurm, SlurmError
from opencompass_tooleval.runners.slurm.leftovers import alive, cancel_leftovers, job_mark
from tests.runners.slurm.conftest import Testbed


def parent(work: Path) -> Path:
    folder = work / 'tmp' / 'slurm'
    (folder / 'run').mkdir(parents=True)
    return folder


def submit(folder: Path) -> str:
    """A job as the runner of this folder submits it."""
    script = folder.parents[2] / 'sleep.sh'
    script.write_text('#!/bin/bash\nsleep 60\n', encoding='utf-8')
    command = ['sbatch', '--parsable', '--output=/dev/null', str(script), job_mark(folder, 1)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def locked_by(folder: Path, host: str) -> None:
    holder = dict(process=os.getpid(), host=host, since='yesterday')
    (folder / 'runner.lock').write_text(json.dumps(holder), encoding='utf-8')


def test_jobs_of_runners_that_were_killed_or_interrupted(
    testbed: Testbed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The interrupted one has removed its folder; another was kept for a look, because tasks failed."""
    folder, others = parent(tmp_path / 'a'), parent(tmp_path / 'b')
    (folder / 'kept').mkdir()
    jobs, other = [submit(folder / name) for name in ('run', 'gone')], submit(others / 'run')
    locked_by(folder / 'run', socket.gethostname())
    testbed.wait_for('RUNNING')
    cancel_leftovers(folder, Slurm(), patience=30)
    assert [row.split('_')[0] for row in testbed.queue()] == [other]
    assert all(job in caplog.text.partition('scancel ')[2] for job in jobs)
    assert list(folder.iterdir()) == [folder / 'kept']


def test_jobs_of_a_runner_that_lives(testbed: Testbed, tmp_path: Path) -> None:
    folder = parent(tmp_path)
    with alive(folder / 'run'):
        job = submit(folder / 'run')
        cancel_leftovers(folder, Slurm(), patience=30)
        assert [row.split('_')[0] for row in testbed.queue()] == [job]
        assert (folder / 'run' / 'runner.lock').is_file()


def test_jobs_of_a_runner_on_another_host(testbed: Testbed, tmp_path: Path) -> None:
    folder = parent(tmp_path)
    job = submit(folder / 'run')
    locked_by(folder / 'run', 'login02')
    with pytest.raises(
        SlurmError, match=rf"it is unknown from here if its runner is alive .*host='login02'.*scancel {job}$"
    ):
        cancel_leftovers(folder, Slurm(), patience=30)
    assert [row.split('_')[0] for row in testbed.queue()] == [job]
    testbed.tell('scancel', job)
    testbed.wait_for()
    cancel_leftovers(folder, Slurm(), patience=30)
    assert (folder / 'run').is_dir()
