"""A real Slurm of one node, started once, and one of four; tests are skipped with a reason if it cannot run."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
        subprocess.run(command, check=True, capture_output=True)

    def requeue(self, element: str) -> None:
        """Takes away an element that runs, which starts again at once."""
        self.tell('scontrol', 'requeue', element)
        self.start_again(element)

    def start_again(self, element: str) -> None:
        self.wait_for('PENDING')
        time.sleep(1.2)  # the node refuses a start within the second of the stop
        self.tell('scontrol', 'update', f'JobId={element}', 'StartTime=now')

    def stop_controller(self) -> None:
        subprocess.run([SCRIPT, 'stop', self.folder], check=True)

    def start_controller(self) -> None:
        subprocess.run([SCRIPT, 'start', self.folder], check=True)


@dataclass
class NodesTestbed(Testbed):
    """A running testbed of several nodes, each in a network namespace ``tooleval-NAME``."""

    address = '10.213.7.1'
    """Address of the login node, which is this machine."""

    @property
    def nodes(self) -> dict[str, str]:
        """The state of each node, such as ``idle``, ``drained`` or ``down*``."""
        command = ['sinfo', '--noheader', '--Node', '--partition=main', '--format=%N %t']
        rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        return dict(row.split() for row in rows)

    def nodes_of(self, element: str) -> list[str]:
        """Names of the nodes of a job, the first one first."""
        found = subprocess.run(
            ['squeue', '--noheader', f'--jobs={element}', '--format=%N'], capture_output=True, text=True
        )
        named = subprocess.run(['scontrol', 'show', 'hostnames', found.stdout.strip()], capture_output=True, text=True)
        return named.stdout.split()

    def processes(self, name: str) -> list[int]:
        found = subprocess.run(['ip', 'netns', 'pids', f'tooleval-{name}'], capture_output=True, text=True, check=True)
        return [int(number) for number in found.stdout.split()]

    def kill_node(self, name: str, spared: frozenset[int] = frozenset()) -> None:
        """Takes a node off the network, and kills its processes: nobody hears of it, as at a loss of power."""
        self.tell('ip', 'link', 'set', f'tooleval-{name}', 'down')
        while left := set(self.processes(name)) - spared:
            for process in left:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.1)

    def revive_node(self, name: str) -> None:
        self.tell('ip', 'link', 'set', f'tooleval-{name}', 'up')
        self.tell(str(SCRIPT), 'node', name, str(self.folder))

    def on_disk(self, name: str, command: str) -> None:
        """Runs a line of shell in the folder of a node's local disk, of 16 MB."""
        slurmd = (self.folder / f'{name}.pid').read_text().strip()
        line = f'cd {self.folder / "local"} && {{ {command}; }}'
        self.tell('nsenter', f'--target={slurmd}', '--mount', '--net', 'sh', '-c', line)

    def set_environment(self, name: str, **variables: str) -> None:
        lines = (f'export {variable}={value}\n' for variable, value in variables.items())
        (self.folder / f'env.{name}').write_text(''.join(lines))

    def restore(self) -> None:
        """Undoes everything, and waits until all nodes can work."""
        self.tell('scancel', f'--user={os.getuid()}')
        for name in self.nodes:
            self.set_environment(name)
            self.tell('ip', 'link', 'set', f'tooleval-{name}', 'up')
            if self.processes(name):
                self.on_disk(name, 'rm -f full')
            else:  # with a new disk
                self.revive_node(name)
            self.tell('scontrol', 'update', f'NodeName={name}', 'State=RESUME') if 'dr' in self.nodes[name] else None
        self.wait_for()
        end = time.monotonic() + 600
        while set(self.nodes.values()) != {'idle'}:
            assert time.monotonic() < end, self.nodes
            time.sleep(0.5)


def write_programs(folder: Path, programs: dict[str, str]) -> None:
    """Writes scripts of a shell that stand for Slurm's programs and others."""
    for name, script in programs.items():
        (folder / name).write_text(f'#!/bin/bash\n{script}\n')
        (folder / name).chmod(0o755)


@contextmanager
def bed(folder: Path, *command: str, **settings: str) -> Iterator[str]:
    """A testbed that runs; yields what it printed when it started."""
    environment = {**os.environ, **SETTINGS, **settings}
    done = subprocess.run([SCRIPT, *command, folder], env=environment, capture_output=True, text=True)
    if done.returncode == UNAVAILABLE:
        pytest.skip(f'no such Slurm on this machine: {done.stderr.strip()}')
    assert done.returncode == 0, done.stderr
    yield done.stdout.strip()
    subprocess.run([SCRIPT, 'down', folder], check=True)
    assert not folder.exists()


@pytest.fixture(scope='session')
def testbed_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """The testbed, whose SLURM_CONF is set in this process."""
    folder = tmp_path_factory.mktemp('slurm') / 'bed'
    with bed(folder, 'up') as said, pytest.MonkeyPatch.context() as patch:
        patch.setenv('SLURM_CONF', said.partition('=')[2])
        yield Testbed(folder)


@pytest.fixture(scope='module')
def nodes_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodesTestbed]:
    """The testbed of four nodes, for one file of tests: only one can run at a time on a machine."""
    folder = tmp_path_factory.mktemp('nodes') / 'bed'
    with bed(folder, 'nodes', '4', TOOLEVAL_SLURM_WAIT='7200'):
        yield NodesTestbed(folder)


@pytest.fixture
def nodes(nodes_process: NodesTestbed, monkeypatch: pytest.MonkeyPatch) -> Iterator[NodesTestbed]:
    monkeypatch.setenv('SLURM_CONF', str(nodes_process.folder / 'slurm.conf'))
    nodes_process.restore()
    yield nodes_process
    nodes_process.restore()


@pytest.fixture
def testbed(testbed_process: Testbed) -> Iterator[Testbed]:
    testbed_process.wait_for()
    yield testbed_process
    testbed_process.tell('scancel', f'--user={os.getuid()}')
