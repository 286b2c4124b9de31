"""Replicas share data sets by claims: what one task writes, with nothing asked twice but what was in flight."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from mmengine.config import Config

from opencompass_tooleval.work_dir.replicas import claims_folder
from tests.conftest import ModelServer, start_server, sweep_of
from tests.forked import Fork, start_python
from tests.test_kill_agents import SIMULATE

IN_FLIGHT = 3
TRIALS = 12
PLAIN, AGENT = 'tooleval-teval-review_str_v2', 'tooleval-teval-agent-fc'
SCRIPTS = {PLAIN: 'kill_script.py', AGENT: 'kill_agents_script.py'}


class Tasks:
    """Tasks in one folder, each a process."""

    def __init__(self, folder: Path, abbr: str) -> None:
        folder.mkdir()
        self.folder, self.abbr = folder, abbr
        self.file = folder / 'run' / 'predictions' / 'api' / f'{abbr}.json'
        self._started = 0

    def start(self, server: ModelServer, number: int = 0, of: int = 1, sweep: str = 'a') -> Fork:
        self._started += 1
        source, params = self.folder / 'source.py', self.folder / f'{self._started}.py'
        more = f"{SIMULATE if self.abbr == AGENT else ''}datasets[0]['n'] = {TRIALS}\nwork_dir = 'run'\n"
        source.write_text(sweep_of(self.abbr, more=more, openai_api_base=server.url, max_workers=IN_FLIGHT))
        content = Config.fromfile(source).to_dict()
        content['datasets'] = [content['datasets']]
        if of > 1:
            content['replica'] = {'number': number, 'of': of, 'sweep': sweep}
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
        """The predictions, but for how long tools took, and what the simulator cost, whose answers are kept."""
        rows = [{**row, 'auxiliary_models': None} for row in json.loads(self.file.read_bytes()).values()]
        return re.sub(rb'(seconds\\*": )[0-9.e-]+', rb'\g<1>0', json.dumps(rows).encode())


def wait_for(reached: Callable[[], bool], tasks: Sequence[Fork]) -> None:
    while not reached():
        assert all(task.poll() is None for task in tasks)
        time.sleep(0.02)


def kill(tasks: Sequence[Fork]) -> None:
    for task in tasks:
        task.kill()
        task.wait()


@pytest.fixture(scope='module', params=[PLAIN, pytest.param(AGENT, marks=pytest.mark.long)])
def abbr(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope='module')
def servers(abbr: str) -> Iterator[list[ModelServer]]:
    servers = [start_server('--script', f'{Path(__file__).with_name(SCRIPTS[abbr])}:answer') for _ in range(2)]
    yield servers
    for server in servers:
        server.stop()


@pytest.fixture(scope='module')
def alone(abbr: str, servers: list[ModelServer], tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, int]:
    """What one task writes, and the number of its requests."""
    servers[0].reset()
    tasks = Tasks(tmp_path_factory.mktemp('alone') / 'run', abbr)
    tasks.end(tasks.start(servers[0]))
    return tasks.predictions(), servers[0].stats()['requests']


def requests(servers: Sequence[ModelServer]) -> int:
    return sum(server.stats()['requests'] for server in servers)


def reset(servers: Sequence[ModelServer]) -> None:
    for server in servers:
        server.settle()
    servers[0].reset(latency=0.2)


def test_the_range_of_a_replica_that_dies_is_free_again(
    abbr: str, servers: list[ModelServer], alone: tuple[bytes, int], tmp_path: Path
) -> None:
    reset(servers)
    tasks = Tasks(tmp_path / 'two', abbr)
    slow, fast = (tasks.start(server, number, 2) for number, server in enumerate(servers))
    wait_for(lambda: min(server.stats()['requests'] for server in servers) > 0, (slow, fast))
    wait_for(lambda: servers[1].stats()['requests'] > alone[1] // 4, (slow, fast))
    kill([fast])
    tasks.end(slow)
    assert tasks.predictions() == alone[0] and not tasks.left()
    assert alone[1] <= requests(servers) <= alone[1] + 2 * IN_FLIGHT
    assert all(server.stats()['requests'] > IN_FLIGHT for server in servers)


@pytest.mark.long
@pytest.mark.parametrize(('first', 'second'), [(1, 3), (3, 1), (2, 3), (2, 2)])
def test_a_run_continues_with_another_number(
    abbr: str, servers: list[ModelServer], alone: tuple[bytes, int], tmp_path: Path, first: int, second: int
) -> None:
    reset(servers)
    tasks = Tasks(tmp_path / 'run', abbr)
    killed = [tasks.start(servers[number % 2], number, first) for number in range(first)]
    wait_for(lambda: requests(servers) > alone[1] // 2, killed)
    kill(killed)
    assert not tasks.file.exists() and claims_folder(tasks.file).exists() == (first > 1)
    tasks.end(*[tasks.start(servers[number % 2], number, second, 'b') for number in range(second)])
    assert tasks.predictions() == alone[0] and not tasks.left()
    count = requests(servers)
    assert alone[1] <= count <= alone[1] + 2 * IN_FLIGHT * first
    tasks.end(tasks.start(servers[0], 1, 2, 'b'))  # one that comes late
    assert requests(servers) == count and not tasks.left()


def texts(rows: bytes) -> list[str]:
    return [row['prediction'] for row in json.loads(rows)]


@pytest.mark.long
def test_failed_requests_are_sent_again_by_the_next_run_only(
    abbr: str, servers: list[ModelServer], alone: tuple[bytes, int], tmp_path: Path
) -> None:
    if abbr != PLAIN:
        pytest.skip('a dialogue fails with its request')
    prompts = list(dict.fromkeys(json.dumps(row['origin_prompt'][-1]['prompt']) for row in json.loads(alone[0])))
    words = [' '.join(one) for one in zip(*(prompts[0].split()[start:] for start in range(4)), strict=False)]
    unique = next(one for one in words if one.isascii() and one.replace(' ', '').isalpha() and one not in prompts[1])
    hit = sum(unique in json.dumps(row['origin_prompt']) for row in json.loads(alone[0]))
    assert TRIALS <= hit < alone[1]
    for server in servers:
        server.settle()
        server.reset(f'length@~{unique}')
    tasks = Tasks(tmp_path / 'run', abbr)
    both = [tasks.start(server, number, 2) for number, server in enumerate(servers)]
    assert [task.wait() for task in both] == [1, 1] and not tasks.file.exists()
    output = ''.join(file.read_text() for file in tasks.folder.glob('*.txt'))
    assert f'{hit} of {alone[1]} samples have no answer' in output and requests(servers) == alone[1]
    assert 'another replica could not write these predictions: its log says why' in output
    for server in servers:
        server.reset()
    tasks.end(*[tasks.start(server, number, 2, 'b') for number, server in enumerate(servers)])
    assert requests(servers) == hit and texts(tasks.predictions()) == texts(alone[0])
