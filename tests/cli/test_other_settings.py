"""A run that is resumed with other sampling settings: what is refused, said, asked again, and kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.cli.test_answer_limits import DIALOGUES, PLAIN, SCRIPT, Resumed
from tests.conftest import ModelServer, start_server
from tests.forked import run_opencompass
from tests.stored import stored_rows

MORE = "set stored_answers='keep' in the model's config to use the answers, or 'ask' to ask again"
BOTH = (PLAIN, DIALOGUES)


@pytest.fixture(scope='module')
def server() -> Iterator[ModelServer]:
    started = start_server('--script', SCRIPT.replace('thinking', 'acting'))
    yield started
    started.stop()


@pytest.fixture(scope='module')
def first_run(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of both data sets."""
    folder = tmp_path_factory.mktemp('first')
    Resumed(folder, server).go(4096, wanted=BOTH)
    return folder


@pytest.fixture
def resumed(server: ModelServer, first_run: Path, tmp_path: Path) -> Resumed:
    server.settle()
    return Resumed(Path(shutil.copytree(first_run, tmp_path / 'run')), server)


def all_rows(resumed: Resumed) -> list[dict[str, Any]]:
    return [row for dataset in BOTH for row in resumed.rows(dataset)]


def requests_for(resumed: Resumed) -> int:
    return len(resumed.rows()) + sum(row['usage']['requests'] for row in resumed.rows(DIALOGUES))


def settings_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [json.loads(text) for text in sorted({json.dumps(row['sampling'], sort_keys=True) for row in rows})]


def test_the_config_decides_on_answers_with_another_temperature(resumed: Resumed, tooleval: Command) -> None:
    rows, requests = all_rows(resumed), requests_for(resumed)
    assert settings_of(rows) == [{'path': 'tiny'}]
    assert [resumed.result(dataset)['provenance']['sampling'] for dataset in BOTH] == [[{'path': 'tiny'}]] * 2

    resumed.more = {'temperature': 0.7, 'openai_extra_kwargs': {'top_p': 0.9}}
    resumed.write(4096, '', BOTH)
    text = (
        f'm: {len(rows)} answers in 2 data sets have other settings (temperature not set, now 0.7, top_p not set, now '
        f'0.9): {MORE}'
    )
    planned = tooleval('plan', resumed.folder / 'mine.py', resumed.folder / 'out')
    assert planned.code == 1 and f'FAULT {text}' in planned.out
    assert f' {len(rows)} ' in next(line for line in planned.out.splitlines() if line.startswith('m '))
    refused = run_opencompass('mine.py', '-w', 'out', '-r', '--debug', cwd=resumed.folder)
    assert refused.returncode and f'tooleval: {text}' in refused.stdout + refused.stderr
    assert resumed.limits() == [] and all_rows(resumed) == rows and all(map(resumed.result, BOTH))

    resumed.more |= {'stored_answers': 'keep'}
    resumed.go(4096, wanted=BOTH)
    assert resumed.limits() == [] and all_rows(resumed) == rows

    resumed.more |= {'stored_answers': 'ask'}
    resumed.go(4096, wanted=BOTH)
    assert len(resumed.limits()) == requests
    now = {'path': 'tiny', 'temperature': 0.7, 'top_p': 0.9}
    assert settings_of(all_rows(resumed)) == [now]
    assert [resumed.result(dataset)['provenance']['sampling'] for dataset in BOTH] == [[now]] * 2

    del resumed.more['stored_answers']
    resumed.go(4096, wanted=BOTH)
    assert resumed.limits() == []


OWN_PARTITIONER = """
from opencompass.partitioners import NaivePartitioner
infer['partitioner'] = dict(type=NaivePartitioner)
"""


@pytest.mark.long
def test_the_task_refuses_under_opencompass_own_partitioner(resumed: Resumed) -> None:
    (file,) = resumed.folder.glob(f'out/*/predictions/m/{PLAIN}.json')
    file.unlink()
    resumed.more = {'temperature': 0.7}
    resumed.write(4096, '')
    config = resumed.folder / 'mine.py'
    config.write_text(config.read_text() + OWN_PARTITIONER)
    run_opencompass('mine.py', '-w', 'out', '-r', cwd=resumed.folder)
    logs = ''.join(log.read_text() for log in resumed.folder.glob('out/*/logs/infer/m/*.out'))
    assert 'stored answers have other settings (temperature not set, now 0.7)' in logs
    assert resumed.limits() == [] and stored_rows(file.with_suffix('.answers')) and not file.exists()
