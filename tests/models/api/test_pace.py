"""Limits of requests per second, of one task and of tasks that ask one server."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from opencompass_tooleval.models import ToolEvalOpenAI
from opencompass_tooleval.models.api.pace import Pace
from opencompass_tooleval.work_dir.budget_file import LockedTask
from opencompass_tooleval.work_dir.run_context import in_context
from tests.models.api.scripted_server import Script, serving

NOW = 1_800_000_000.0
SERVER = "http://h/v1 ['key-of-a-user']"


def starts(*paces: Pace, count: int, now: float = NOW) -> list[float]:
    """Seconds until each of the requests that ask in turn at one time may start."""
    return [round(paces[place % len(paces)].next_pause(now), 4) for place in range(count)]


@pytest.fixture
def in_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv('SLURM_JOB_ID', raising=False)
    return tmp_path


def test_so_many_requests_start_per_second() -> None:
    now, begun = 1000.0, []
    pace = Pace(4, SERVER)
    for pause in (0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0):
        now += pause
        now += pace.next_pause(now)
        begun.append(now - 1000)
    assert begun == [0, 0.25, 0.5, 3.5, 3.5, 3.5, 3.5, 3.75, 4.0]


def test_tasks_share_the_limit_of_a_server(in_run: Path) -> None:
    """The lowest one counts, until its task has asked nothing for a minute. Another key or address has its own."""
    with in_context(locked_task=LockedTask(in_run, in_run / 'lock')):
        first, second, slow = Pace(10, SERVER), Pace(10, SERVER), Pace(2, SERVER)
        assert starts(first, second, count=4) == [0, 0.1, 0.2, 0.3]
        assert starts(slow, first, second, count=3) == [0.8, 1.3, 1.8]
        assert starts(Pace(10, 'http://other/v1'), Pace(10, SERVER.replace('key', 'yek')), count=2) == [0, 0]
        assert starts(first, second, count=2, now=NOW + 59) == [0, 0]
        pauses = starts(first, second, count=12, now=NOW + 61)
        assert pauses[-3:] == [0, 0.1, 0.2], 'ten may start at once after a pause'
    files = list(in_run.glob('.rates/*'))
    assert len(files) == 3 and all(b'key' not in file.read_bytes() and 'key' not in file.name for file in files)


@pytest.mark.parametrize('content', [b'', b'short', b'\xff' * 24, struct.pack('<ddd', 1e300, 1e300, 1e300)])
def test_a_damaged_file_holds_nobody_up(in_run: Path, content: bytes) -> None:
    with in_context(locked_task=LockedTask(in_run, in_run / 'lock')):
        starts(Pace(10, SERVER), count=1)
        (file,) = in_run.glob('.rates/*')
        file.write_bytes(content)
        assert starts(Pace(10, SERVER), count=2) == [0, 0.1]


def test_without_a_file_each_task_has_its_own(in_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a run, on Slurm, and where the file is somebody else's link."""
    with in_context(locked_task=LockedTask(in_run, in_run / 'lock')):
        monkeypatch.setenv('SLURM_JOB_ID', '7')
        assert starts(Pace(10, SERVER), Pace(10, SERVER), count=2) == [0, 0] and not (in_run / '.rates').exists()
        monkeypatch.delenv('SLURM_JOB_ID')
        starts(Pace(10, SERVER), count=1)
        (file,) = in_run.glob('.rates/*')
        (in_run / 'mine').write_text('mine')
        file.unlink()
        os.symlink(in_run / 'mine', file)
        assert starts(Pace(10, SERVER), Pace(10, SERVER), count=2) == [0, 0]
        assert (in_run / 'mine').read_text() == 'mine'
    assert starts(Pace(10, SERVER), Pace(10, SERVER), count=2) == [0, 0]


def test_models_share_a_limit_if_address_and_key_are_the_same(in_run: Path) -> None:
    servers = [('http://h:1/v1', 'a'), ('http://h:1/v1', 'a'), ('http://h:1/v1', 'b'), ('http://h:2/v1', 'a')]
    with in_context(locked_task=LockedTask(in_run, in_run / 'lock')):
        models = [ToolEvalOpenAI('tiny', url, key=key, query_per_second=10) for url, key in servers]
        paces = [model._pace for model in models if model._pace]
        assert starts(*paces, count=4) == [0, 0.1, 0, 0]


def test_a_model_has_a_pace_if_its_config_says_so() -> None:
    with serving(Script()) as url:
        models = [ToolEvalOpenAI('tiny', url, key='k', query_per_second=rate) for rate in (5, None)]
    assert models[0]._pace is not None and models[1]._pace is None
