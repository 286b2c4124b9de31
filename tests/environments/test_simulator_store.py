"""Stored responses of simulators in one file that processes share and that survives a kill."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from opencompass_tooleval.core.calls.observation import Observation
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.environments.bank import RecordedCall, write_bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.simulator import MAX_REQUESTS
from opencompass_tooleval.environments.simulator_store import SimulatorStore, open_simulator
from tests.run_alone import run_alone

SCHEMAS = {'films': {'type': 'object', 'properties': {'year': {'type': 'integer'}}}}
KEEP = """
import sys
from pathlib import Path
from opencompass_tooleval.environments.simulator_store import SimulatorStore

store = SimulatorStore(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    print(store.setdefault(f'{number:04}', f'{sys.argv[2]} of {number}' + 'x' * 3000)[:20].rstrip('x'), flush=True)
"""


def start(file: Path, name: str, count: int) -> subprocess.Popen[str]:
    """A process that keeps what it is named after."""
    return subprocess.Popen(
        [sys.executable, '-c', KEEP, str(file), name, str(count)], stdout=subprocess.PIPE, text=True
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / 'folder' / 'simulated.sqlite'


def ask(file: Path, year: int, *answers: str, **model: str) -> Observation:
    """What a run is told that has nothing in memory."""
    simulator = open_simulator({'type': 'X', 'path': 'sim', **model}, cache=file)
    return run_alone(Environment(simulator=simulator).begin('9', SCHEMAS).ask('films', {'year': year}), list(answers))


def test_a_second_run_asks_nothing_and_is_told_the_same(file: Path) -> None:
    first = ask(file, 1999, '{"error": "", "response": {"films": ["Dune \\ud800"]}}')
    assert first.source == 'simulated' and ask(file, 1999) == first
    assert ask(file, 2000, *['no JSON'] * MAX_REQUESTS).fault == 'unanswered'
    assert ask(file, 2000, '{"response": "read"}').source == 'simulated'
    with pytest.raises(ValueError, match='asks for more than 0'):
        ask(file, 1999, path='another')
    assert ask(file, 1999, abbr='sim', path='another') == first  # the abbr is its name


def test_by_default_it_is_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TOOLEVAL_CACHE', str(tmp_path))
    simulator = open_simulator({'type': 'X', 'path': 'sim'}, 'stabletoolbench')
    assert not list(tmp_path.iterdir())  # not before it is used
    simulator.cache['a'] = 'b'
    assert (tmp_path / 'simulated.sqlite').is_file()


def test_of_processes_that_simulate_the_same_one_is_heard_by_all(file: Path) -> None:
    running = [start(file, name, 60) for name in ('first', 'second')]
    printed = [process.communicate(timeout=600)[0].splitlines() for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert printed[0] == printed[1] and len(printed[0]) == 60
    assert len(SimulatorStore(file)) == 60


@pytest.mark.parametrize('content', [b'no database at all', b'SQLite format 3\x00' + b'\xff' * 5000])
def test_another_file_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / 'file'
    file.write_bytes(content)
    with pytest.raises(DataError, match=r'file: simulated responses cannot be read or stored.*cache='):
        SimulatorStore(file).setdefault('a', 'b')
    assert file.read_bytes() == content


def test_a_bank_is_no_store(tmp_path: Path) -> None:
    write_bank([RecordedCall('f', '1', 'films', {}, 'x')], tmp_path / 'bank')
    before = (tmp_path / 'bank').read_bytes()
    with pytest.raises(DataError, match='something other than simulated responses'):
        SimulatorStore(tmp_path / 'bank').get('a')
    with pytest.raises((DataError, OSError), match='bank'):
        SimulatorStore(tmp_path / 'bank' / 'simulated.sqlite').get('a')
    assert (tmp_path / 'bank').read_bytes() == before
