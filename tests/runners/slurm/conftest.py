"""A real Slurm of one node, started once; its tests are skipped with a reason if it cannot run."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT

SCRIPT = ROOT / 'tools' / 'slurm_testbed.sh'
UNAVAILABLE = 69
ARRAY_LIMIT = 12
"""MaxArraySize, fewer than the tasks of a sweep here."""
SETTINGS = {
    'TOOLEVAL_SLURM_CPUS': '16',
    'TOOLEVAL_SLURM_ARRAY': str(ARRAY_LIMIT),
    'TOOLEVAL_SLURM_AGE': '2',
    'TOOLEVAL_SLURM_SCHEDULER': 'batch_sched_delay=0',
}


@dataclass
class Testbed:
    """A running testbed."""

    __test__ = False
    folder: Path

    def queue(self) -> list[str]:
        """Every element that is not over, as ``7_0 RUNNING``."""
        command = ['squeue', '--noheader', '--array', '--format=%F_%K %T']
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    def wait_for(self, *wanted: str, seconds: float = 1500) -> list[str]:
        """The first queue that holds elements in each of these states; with none, the first that is empty."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            queue = self.queue()
            if {row.split()[1] for row in queue} >= set(wanted) and bool(queue) == bool(wanted):
                return queue
            time.sleep(0.1)
        raise AssertionError(f'waited for {wanted or "an empty queue"}: {queue}')

    def tell(self, *command: str) -> None:
        """Runs a command of Slurm."""
        subprocess.run(command, check=True, capture_output=True)

    def stop_controller(self) -> None:
        """Ends slurmctld."""
        subprocess.run([SCRIPT, 'stop', self.folder], check=True)

    def start_controller(self) -> None:
        """Starts slurmctld again."""
        subprocess.run([SCRIPT, 'start', self.folder], check=True)


@pytest.fixture(scope='session')
def testbed_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """The testbed, whose SLURM_CONF is set in this process."""
    folder = tmp_path_factory.mktemp('slurm') / 'bed'
    done = subprocess.run([SCRIPT, 'up', folder], env={**os.environ, **SETTINGS}, capture_output=True, text=True)
    if done.returncode == UNAVAILABLE:
        pytest.skip(f'no Slurm on this machine: {done.stderr.strip()}')
    assert done.returncode == 0, done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('SLURM_CONF', done.stdout.strip().partition('=')[2])
        yield Testbed(folder)
        subprocess.run([SCRIPT, 'down', folder], check=True)
    assert not folder.exists()


@pytest.fixture
def testbed(testbed_process: Testbed) -> Iterator[Testbed]:
    """The testbed with nothing in its queue."""
    testbed_process.wait_for()
    yield testbed_process
    testbed_process.tell('scancel', f'--user={os.getuid()}')
