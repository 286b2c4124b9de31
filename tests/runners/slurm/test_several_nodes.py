"""Sweeps on a real Slurm of four nodes, and what happens to clusters in their middle.

The tables equal that of an undisturbed run, and the server is asked nothing twice but what was in flight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from opencompass_tooleval.work_dir.lock import holder_of
from tests.conftest import ROOT, ModelServer, start_server
from tests.engines import until
from tests.forked import Fork, start_opencompass
from tests.runners.slurm.conftest import NodesTestbed

pytestmark = pytest.mark.long
FAKETIME = Path('/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1')
IN_FLIGHT = 2
CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import tooleval_teval_en_v2_datasets
    from opencompass_tooleval.configs.summarizers.tooleval_teval import summarizer
    from opencompass_tooleval.configs.tooleval_slurm import eval, infer

datasets = [row for row in tooleval_teval_en_v2_datasets if 'review' in row['abbr'] or 'plan' in row['abbr']]
models = [
    dict(type=ToolEvalOpenAI, abbr='api', path='tiny', key='none', openai_api_base='URL', retry=2, timeout=60,
         patience=600, max_workers=IN_FLIGHT, max_out_len=64, query_per_second=1000, max_seq_len=100000,
         run_cfg=dict(num_gpus=1))
]
for stage in (infer, eval):
    stage['partitioner']['n'] = 1
    stage['runner'].update(RUNNER)
infer['partitioner']['replicas'] = REPLICAS
"""


@dataclass
class Sweep:
    """One sweep in a folder of its own."""

    folder: Path
    server: ModelServer
    process: Fork | None = None

    def start(self, replicas: int = 1, **runner: object) -> None:
        self.folder.mkdir()
        settings = dict(poll=(0.5, 1.0), grace=10.0, gpu_request='--gres=gpu:{n}', extra_command=['-c 8'], **runner)
        text = CONFIG.replace('URL', self.server.url).replace('IN_FLIGHT', str(IN_FLIGHT))
        text = text.replace('REPLICAS', str(replicas))
        (self.folder / 'mine.py').write_text(text.replace('RUNNER', repr(settings)))
        self.process = start_opencompass('mine.py', '-w', 'out', cwd=self.folder, output=self.folder / 'said.txt')

    def said(self) -> str:
        files = [self.folder / 'said.txt', *sorted(self.folder.glob('out/*/logs/*/*/*.out'))]
        return '\n'.join(file.read_text(errors='replace')[-3000:] for file in files)

    def finish(self) -> bytes:
        assert self.process is not None
        assert self.process.wait(1500) == 0, self.said()
        (table,) = self.folder.glob('out/*/summary/summary_*[0-9].csv')
        return table.read_bytes()

    def asked(self) -> Counter[str]:
        return Counter(str(sorted(row.items())) for row in self.server.stats()['asked'])


@pytest.fixture(scope='module')
def server(nodes_process: NodesTestbed) -> Iterator[ModelServer]:
    script = f'{ROOT / "tests" / "kill_script.py"}:answer'
    server = start_server('--host', nodes_process.address, '--script', script)
    yield server
    server.stop()


@dataclass(frozen=True)
class Undisturbed:
    """The sweep to which nothing happens."""

    table: bytes
    asked: Counter[str]


_kept: list[Undisturbed] = []


@pytest.fixture
def undisturbed(nodes: NodesTestbed, server: ModelServer, tmp_path: Path) -> Undisturbed:
    if not _kept:
        server.reset()
        sweep = Sweep(tmp_path / 'undisturbed', server)
        sweep.start()
        table = sweep.finish()
        assert b'api' in table
        _kept.append(Undisturbed(table, sweep.asked()))
    return _kept[0]


@pytest.fixture
def sweep(server: ModelServer, undisturbed: Undisturbed, tmp_path: Path) -> Iterator[Sweep]:
    """One that can be disturbed: an answer takes 3 s."""
    server.settle()
    server.reset(latency=3.0)
    sweep = Sweep(tmp_path / 'sweep', server)
    yield sweep
    if sweep.process is not None:
        sweep.process.kill()
        sweep.process.wait()


def check(sweep: Sweep, undisturbed: Undisturbed, disturbed: int) -> None:
    """Checks table and questions; so many tasks were disturbed."""
    assert sweep.finish() == undisturbed.table
    asked = sweep.asked()
    assert set(asked) == set(undisturbed.asked)
    # What was in flight, and what had come the moment before and was on its way to the disk.
    assert sum((asked - undisturbed.asked).values()) <= 2 * IN_FLIGHT * disturbed


def until_at_work(sweep: Sweep, name: str) -> str:
    """Waits until a task on this node has some answers, and lacks others; returns its job."""
    jobs: list[str] = []

    def works() -> bool:
        assert sweep.process is not None and sweep.process.poll() is None, sweep.said()
        for log in sweep.folder.glob('out/*/logs/infer/api/*.out'):
            holder = holder_of(log.parents[3] / 'predictions' / 'api' / f'.{log.stem}.lock')
            if f' on {name}, restart' in log.read_text(errors='replace') and holder and holder.answered:
                jobs.append(log.read_text(errors='replace').partition('slurm: job ')[2].split()[0])
        return bool(jobs)

    until(works)
    return jobs[0]


def jobs_on(nodes: NodesTestbed, name: str) -> int:
    return sum(name in nodes.nodes_of(row.split()[0]) for row in nodes.queue())


def logs(sweep: Sweep) -> str:
    return '\n'.join(file.read_text(errors='replace') for file in sweep.folder.glob('out/*/logs/infer/*/*.out'))


def test_a_node_dies(nodes: NodesTestbed, undisturbed: Undisturbed, sweep: Sweep) -> None:
    nodes.tell('scontrol', 'update', 'NodeName=n4', 'State=DRAIN', 'Reason=test')
    sweep.start()
    until_at_work(sweep, 'n1')
    disturbed = jobs_on(nodes, 'n1')
    nodes.kill_node('n1')
    check(sweep, undisturbed, disturbed)
    assert 'restart 1' in logs(sweep) and ' on n4' not in logs(sweep)
    assert nodes.nodes['n1'].startswith('down')


def test_a_node_dies_with_replicas(nodes: NodesTestbed, undisturbed: Undisturbed, sweep: Sweep) -> None:
    """Another takes over its range."""
    sweep.server.reset(latency=8.0)  # a replica has a few records only
    sweep.start(replicas=4)
    until(lambda: len(sweep.asked()) >= 4 and jobs_on(nodes, 'n1'))
    disturbed = jobs_on(nodes, 'n1')
    nodes.kill_node('n1')
    check(sweep, undisturbed, disturbed)


def test_a_local_disk_is_full(nodes: NodesTestbed, undisturbed: Undisturbed, sweep: Sweep) -> None:
    """Slurm can write no script there: the tasks run elsewhere."""
    nodes.on_disk('n1', 'cat /dev/zero >full 2>/dev/null; true')
    sweep.start(retry=4)
    check(sweep, undisturbed, 0)
    assert ' on n1, restart' not in logs(sweep)


@pytest.mark.skipif(not FAKETIME.exists(), reason='libfaketime is not installed')
@pytest.mark.parametrize('offset', ['+3600', '-3600'])
def test_clocks_are_apart(nodes: NodesTestbed, undisturbed: Undisturbed, sweep: Sweep, offset: str) -> None:
    """An hour, for the tasks of one node, of which one is queued again and goes on elsewhere."""
    nodes.set_environment('n1', LD_PRELOAD=str(FAKETIME), FAKETIME=offset, DONT_FAKE_MONOTONIC='1')
    sweep.start()
    job = until_at_work(sweep, 'n1')
    nodes.tell('scontrol', 'update', 'NodeName=n1', 'State=DRAIN', 'Reason=test')
    nodes.tell('scontrol', 'requeue', job)
    check(sweep, undisturbed, 1)
    assert 'restart 1' in logs(sweep)
