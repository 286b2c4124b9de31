"""Replicas share data sets by claims: what one task writes, with nothing asked twice but what was in flight."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from mmengine.config import Config

from tests.conftest import ModelServer, start_server, sweep_of
from tests.forked import Fork, start_python

pytestmark = pytest.mark.long  # of a replica that dies at any line: work_dir/test_replicas.py
IN_FLIGHT = 3
TRIALS = 12
ABBR = 'tooleval-teval-review_str_v2'


class Tasks:
    """Tasks in one folder, each a process."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.file = folder / 'run' / 'predictions' / 'api' / f'{ABBR}.json'
        self._started = 0

    def start(self, server: ModelServer, number: int = 0, of: int = 1) -> Fork:
        self._started += 1
        source, params = self.folder / 'source.py', self.folder / f'{self._started}.py'
        more = f"datasets[0]['n'] = {TRIALS}\nwork_dir = 'run'\n"
        source.write_text(sweep_of(ABBR, more=more, openai_api_base=server.url, max_workers=IN_FLIGHT))
        content = Config.fromfile(source).to_dict()
        content['datasets'] = [content['datasets']]
        if of > 1:
            content['replica'] = {'number': number, 'of': of, 'sweep': 'a'}
        Config(content, format_python_code=False).dump(params)
        words_of_task = ['-m', 'opencompass_tooleval.tasks.task_process', 'infer', str(params)]
        return start_python(*words_of_task, cwd=self.folder, output=self.folder / f'{self._started}.txt')

    def end(self, *tasks: Fork) -> None:
        for number, task in enumerate(tasks):
            assert task.wait() == 0, (number, *(file.read_text()[-3000:] for file in self.folder.glob('*.txt')))

    def left(self) -> list[str]:
        """Files beside the predictions, but for locks of the killed, which the next sweep removes."""
        return sorted(file.name for file in self.file.parent.iterdir() if file != self.file and file.suffix != '.lock')

    def predictions(self) -> bytes:
        """The predictions, but for how long answers took."""
        return re.sub(rb'("seconds": )[0-9.e-]+', rb'\g<1>0', self.file.read_bytes())


def wait_for(reached: Callable[[], bool], tasks: Sequence[Fork]) -> None:
    while not reached():
        assert all(task.poll() is None for task in tasks)
        time.sleep(0.02)


def kill(tasks: Sequence[Fork]) -> None:
    for task in tasks:
        task.kill()
        task.wait()


@pytest.fixture(scope='module')
def servers() -> Iterator[list[ModelServer]]:
    servers = [start_server('--script', f'{Path(__file__).with_name("kill_script.py")}:answer') for _ in range(2)]
    yield servers
    for server in servers:
        server.stop()


@pytest.fixture(scope='module')
def alone(servers: list[ModelServer], tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, int]:
    """What one task writes, and the number of its requests."""
    servers[0].reset()
    tasks = Tasks(tmp_path_factory.mktemp('alone') / 'run')
    tasks.end(tasks.start(servers[0]))
    return tasks.predictions(), servers[0].stats()['requests']


def requests(servers: Sequence[ModelServer]) -> int:
    return sum(server.stats()['requests'] for server in servers)


def reset(servers: Sequence[ModelServer]) -> None:
    for server in servers:
        server.settle()
    servers[0].reset(latency=0.2)


def test_the_range_of_a_replica_that_dies_is_free_again(
    servers: list[ModelServer], alone: tuple[bytes, int], tmp_path: Path
) -> None:
    reset(servers)
    tasks = Tasks(tmp_path / 'two')
    slow, fast = (tasks.start(server, number, 2) for number, server in enumerate(servers))
    wait_for(lambda: min(server.stats()['requests'] for server in servers) > 0, (slow, fast))
    wait_for(lambda: servers[1].stats()['requests'] > alone[1] // 4, (slow, fast))
    kill([fast])
    tasks.end(slow)
    assert tasks.predictions() == alone[0] and tasks.left() == [f'{ABBR}.answers']
    assert alone[1] <= requests(servers) <= alone[1] + 2 * IN_FLIGHT
    assert all(server.stats()['requests'] > IN_FLIGHT for server in servers)
