"""A task ends with the process that started it, also with a shell between the two."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.engines import is_alive, until

TASK = """
import os, sys, time
from opencompass_tooleval.tasks.task_process import end_with
end_with(int(sys.argv[1]))
print(os.getpid(), flush=True)
time.sleep(120)
"""
RUNNER = """
import os, subprocess, sys
subprocess.run(f'{sys.executable} {sys.argv[1]} {os.getpid()}; true', shell=True)  # "; true" keeps the shell between
"""


def test_a_task_ends_when_its_runner_is_killed(tmp_path: Path) -> None:
    (tmp_path / 'task.py').write_text(TASK)
    command = [sys.executable, '-c', RUNNER, str(tmp_path / 'task.py')]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as runner:
        assert runner.stdout is not None and runner.stderr is not None
        task = int(runner.stdout.readline())
        time.sleep(1.5)
        assert is_alive(task)
        os.kill(runner.pid, signal.SIGKILL)
        until(lambda: not is_alive(task))
        assert f'process {runner.pid}, which started this task, is gone' in runner.stderr.read()


def test_a_task_whose_starter_is_no_ancestor_goes_on(tmp_path: Path) -> None:
    """A job of Slurm: what submitted it may end, or run on another machine."""
    (tmp_path / 'task.py').write_text(TASK)
    with subprocess.Popen([sys.executable, '-c', 'pass']) as ended:
        pass
    command = [sys.executable, str(tmp_path / 'task.py'), str(ended.pid)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as task:
        assert task.stdout is not None
        task.stdout.readline()
        time.sleep(2.5)
        assert task.poll() is None
        task.kill()
