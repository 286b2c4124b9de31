"""Kill -9 at any point, resume, and nothing is lost: the same table to the byte, and few repeated requests."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from tests.conftest import ModelServer, start_server, sweep_of
from tests.forked import Fork, start_opencompass

IN_FLIGHT = 4
DATASETS = ('tooleval-teval-review_str_v2', 'tooleval-ultratool-planning_zh')
JUDGED = """
for row in datasets:
    if row['name'] == 'planning':
        row['eval_cfg']['evaluator']['judge_cfg'] = dict(server, abbr='judge')
"""
CONFIG = sweep_of(*DATASETS, more=JUDGED, max_workers=IN_FLIGHT)


@dataclass
class Sweep:
    """One sweep in a folder of its own, with a cache of its own."""

    folder: Path
    server: ModelServer
    debug: bool = True
    config: str = CONFIG

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.write()

    def write(self, more: str = '') -> None:
        """Writes the config, with more Python at its end."""
        (self.folder / 'mine.py').write_text(self.config.replace('URL', self.server.url) + more)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, 'TOOLEVAL_CACHE': str(self.folder / 'cache'), 'HOME': str(self.folder)}

    def start(self, *more: str) -> Fork:
        arguments = ['mine.py', '-w', 'out', *more, *['--debug'] * self.debug]
        output = self.folder / 'said.txt'
        return start_opencompass(*arguments, cwd=self.folder, env=self.environment, output=output)

    def finish(self, *more: str) -> bytes:
        status = self.start(*more).wait(1500)
        assert status == 0, (self.folder / 'said.txt').read_text(errors='replace')[-5000:]
        return self.table()

    def table(self) -> bytes:
        tables = self.folder.glob('out/*/summary/summary_*[0-9].csv')
        return max(tables, key=lambda file: file.stat().st_mtime).read_bytes()

    def kill_when(self, reached: Callable[[], bool]) -> bool:
        """Starts and kills every process of the sweep at once; False if it ended before."""
        process = self.start()
        try:
            while not reached():
                if process.poll() is not None:
                    return False
                time.sleep(0.02)
            return True
        finally:
            process.kill()
            self.kill()
            process.wait()

    def kill(self) -> None:
        """Kills all processes of the sweep: its tasks have groups of their own."""
        while running := list(self.processes()):
            for number in running:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(0.01)

    def processes(self) -> Iterator[int]:
        """Those that run in the sweep's folder; a zombie, which in a container nobody may bury, is nowhere."""
        for process in sorted(Path('/proc').glob('[0-9]*'), key=lambda folder: int(folder.name)):
            with suppress(OSError):
                if (process / 'cwd').readlink() == self.folder:
                    yield int(process.name)

    def requests(self) -> int:
        return int(self.server.stats()['requests'])

    def locks(self) -> list[Path]:
        return [file.relative_to(self.folder) for file in self.folder.glob('out/*/**/.*.lock')]

    def results(self) -> int:
        return len(list(self.folder.glob('out/*/results/api/*.json')))


@pytest.fixture(scope='module')
def server() -> Iterator[ModelServer]:
    server = start_server('--script', f'{Path(__file__).with_name("kill_script.py")}:answer')
    yield server
    server.stop()


@dataclass(frozen=True)
class Baseline:
    """The sweep that nobody interrupts."""

    table: bytes
    requests: int
    seconds: float


@pytest.fixture(scope='module')
def baseline(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Baseline:
    server.reset()
    sweep = Sweep(tmp_path_factory.mktemp('kill') / 'whole', server)
    started = time.monotonic()
    table = sweep.finish()
    assert b'api' in table and sweep.results() == 2
    return Baseline(table, sweep.requests(), time.monotonic() - started)


def check(sweep: Sweep, baseline: Baseline) -> None:
    locks = sweep.locks()
    assert sweep.finish('-r') == baseline.table
    said = (sweep.folder / 'said.txt').read_text(errors='replace')
    assert not sweep.locks() and all(f'{lock}' in said.partition('removed the lock files')[2] for lock in locks)
    # What was in flight is asked again, and what had come in the moment before and was on its way to the disk.
    assert baseline.requests <= sweep.requests() <= baseline.requests + 2 * IN_FLIGHT


def test_a_killed_sweep_ends_as_a_whole_one(server: ModelServer, baseline: Baseline, tmp_path: Path) -> None:
    """In inference, workers and all. test_local_runner.py kills the runner alone."""
    server.reset()
    sweep = Sweep(tmp_path / 'sweep', server, debug=False)
    assert sweep.kill_when(lambda: sweep.requests() > IN_FLIGHT), 'it ended before it could be killed'
    check(sweep, baseline)


@pytest.mark.long
@pytest.mark.parametrize('seed', range(20))
def test_killed_anywhere(server: ModelServer, baseline: Baseline, tmp_path: Path, seed: int) -> None:
    server.reset()
    sweep = Sweep(tmp_path / 'sweep', server, debug=bool(seed % 2))
    until = time.monotonic() + Random(seed).uniform(0.2, 1.1) * baseline.seconds
    sweep.kill_when(lambda: time.monotonic() >= until)
    check(sweep, baseline) if list(sweep.folder.glob('out/*')) else sweep.finish()
