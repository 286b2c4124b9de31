"""Kill -9 while agents call tools, resume: the same to the byte, and nothing is asked or simulated twice.

What was on disk at the kill is not asked again, and nothing else is missing: the requests of both runs are counted, one
by one, against what the stored answers and the simulator's files held in between.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from opencompass_tooleval.core.calls.observation import SIMULATED
from opencompass_tooleval.core.calls.trajectory import parse_trajectory
from opencompass_tooleval.environments.simulator import SIMULATOR
from opencompass_tooleval.environments.simulator_store import SimulatorStore
from opencompass_tooleval.work_dir.store import MODEL, AnswerStore
from tests.conftest import ModelServer, start_server, sweep_of
from tests.test_kill import IN_FLIGHT, Sweep

DATASETS = ('tooleval-teval-agent-fc', 'tooleval-toolbench_g1-agent-fc', 'tooleval-toolbench_g2-agent-dfsdt')
SIMULATE = """
for row in datasets:
    simulator = dict(model=dict(server, abbr='simulator'), cache=row['abbr'] + '.sqlite')
    row['infer_cfg']['inferencer']['dialogues']['simulator'] = simulator
"""
CONFIG = sweep_of(*DATASETS, more=f"{SIMULATE}    row['n'] = 2\n", max_workers=IN_FLIGHT)
POINTS = 20
MOST_LOST = 2 * (IN_FLIGHT + IN_FLIGHT)
"""What is in flight to the model and to the simulator, and what had come in the moment before."""


@dataclass
class AgentSweep(Sweep):
    """A sweep of agents."""

    config: str = CONFIG

    def predictions(self, abbr: str) -> Path | None:
        """The finished file of a data set; None if there is none."""
        return next(iter(self.folder.glob(f'out/*/predictions/api/{abbr}.json')), None)

    def answered(self) -> int:
        return sum(map(self._answered, DATASETS))

    def simulated(self, abbr: str) -> int:
        file = self.folder / f'{abbr}.sqlite'
        return len(SimulatorStore(file)) if file.exists() else 0

    def _answered(self, abbr: str) -> int:
        file = self.predictions(abbr)
        if file:
            return self.simulated(abbr) + sum(row['usage']['requests'] for row in json.loads(file.read_text()).values())
        folder = next(iter(self.folder.glob(f'out/*/predictions/api/{abbr}.answers')), None)
        store = AnswerStore(folder).restored() if folder else None
        rows = [row for key in store.rounds for row in store.rounds_of(key)] if store else []
        asked = [row['asked'] for row in rows if row.get(MODEL) == SIMULATOR]
        return len(rows) - len(asked) + len(set(asked))


def trajectories(sweep: AgentSweep) -> dict[str, bytes]:
    """The predictions, but for how long answers took, and what the simulator cost, whose answers may be kept."""
    texts = {}
    for abbr in DATASETS:
        if file := sweep.predictions(abbr):
            rows = [{**row, 'auxiliary_models': None} for row in json.loads(file.read_bytes()).values()]
            texts[abbr] = re.sub(rb'seconds\\*": [0-9.e-]+', b'', json.dumps(rows, sort_keys=True).encode())
    return texts


def settled(sweep: AgentSweep) -> tuple[int, int]:
    """Requests, and those of them whose answers are on disk, once the server has taken in what was on its way."""
    before: object = None
    while before != (now := (sweep.requests(), sweep.answered(), sweep.server.stats()['in_flight'])) or now[2]:
        before = now
        time.sleep(0.5)
    return now[:2]


@pytest.fixture(scope='module')
def server() -> Iterator[ModelServer]:
    server = start_server('--script', f'{Path(__file__).with_name("kill_agents_script.py")}:answer')
    yield server
    server.stop()


@dataclass(frozen=True)
class Baseline:
    """The sweep that nobody interrupts."""

    table: bytes
    trajectories: dict[str, bytes]
    requests: int


@pytest.fixture(scope='module')
def baseline(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Baseline:
    server.reset()
    sweep = AgentSweep(tmp_path_factory.mktemp('kill') / 'whole', server)
    table, requests = sweep.finish(), sweep.requests()
    assert b'api' in table and sweep.answered() == requests
    files = [sweep.predictions(abbr) for abbr in DATASETS]
    rows = [row for file in files if file for row in json.loads(file.read_text()).values()]
    sources = [call.source for row in rows for call in parse_trajectory(row['prediction']).calls]
    assert sources.count(SIMULATED) > 10 and len(set(sources)) > 2
    return Baseline(table, trajectories(sweep), requests)


@pytest.mark.long
@pytest.mark.parametrize('point', range(POINTS))
def test_killed_agents_end_as_whole_ones(server: ModelServer, baseline: Baseline, tmp_path: Path, point: int) -> None:
    server.reset()
    sweep = AgentSweep(tmp_path / 'sweep', server, debug=bool(point % 2))
    until = 1 + point * (baseline.requests - 2) // (POINTS - 1)
    assert sweep.kill_when(lambda: sweep.requests() >= until), 'it ended before it could be killed'
    asked, answered = settled(sweep)
    assert answered <= asked <= answered + MOST_LOST
    assert sweep.finish('-r') == baseline.table
    assert trajectories(sweep) == baseline.trajectories
    assert sweep.requests() - asked == baseline.requests - answered
