"""A run that is resumed with other sampling settings: what is refused, said, asked again, and kept."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.cli.test_answer_limits import DIALOGUES, PLAIN, SCRIPT, Resumed
from tests.conftest import start_server
from tests.forked import Fork, run_opencompass, start_opencompass

MORE = "set stored_answers='keep' in the model's config to use the answers, or 'ask' to ask again"


@pytest.fixture
def resumed(tmp_path: Path) -> Iterator[Resumed]:
    server = start_server('--script', SCRIPT.replace('thinking', 'acting'))
    yield Resumed(tmp_path, server)
    server.stop()


def settings_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [json.loads(text) for text in sorted({json.dumps(row['sampling'], sort_keys=True) for row in rows})]


def kill_after_four(process: Fork, resumed: Resumed) -> None:
    """Kills a run, whose task is a part of its process, when the server has been asked four times."""
    while len(resumed.limits()) < 4:
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()


@pytest.mark.parametrize('dataset', [PLAIN, DIALOGUES])
def test_the_config_decides_on_answers_with_another_temperature(
    resumed: Resumed, tooleval: Command, dataset: str
) -> None:
    resumed.go(4096, wanted=(dataset,))
    rows, requests = resumed.rows(dataset), len(resumed.limits())
    assert settings_of(rows) == [{'path': 'tiny'}]
    assert resumed.result(dataset)['provenance']['sampling'] == [{'path': 'tiny'}]

    resumed.more = {'temperature': 0.7, 'openai_extra_kwargs': {'top_p': 0.9}}
    resumed.write(4096, '', (dataset,))
    resumed.server.reset()
    text = (
        f'm: {len(rows)} answers in 1 data sets have other settings (temperature not set, now 0.7, top_p not set, now '
        f'0.9): {MORE}'
    )
    planned = tooleval('plan', resumed.folder / 'mine.py', resumed.folder / 'out')
    assert planned.code == 1 and f'FAULT {text}' in planned.out
    assert f' {len(rows)} ' in next(line for line in planned.out.splitlines() if line.startswith('m '))
    refused = run_opencompass('mine.py', '-w', 'out', '-r', cwd=resumed.folder)
    assert refused.returncode and f'tooleval: {text}' in refused.stdout + refused.stderr
    assert resumed.limits() == [] and resumed.rows(dataset) == rows and resumed.result(dataset)

    resumed.more |= {'stored_answers': 'keep'}
    resumed.go(4096, wanted=(dataset,))
    assert resumed.limits() == [] and resumed.rows(dataset) == rows

    resumed.more |= {'stored_answers': 'ask'}
    resumed.go(4096, wanted=(dataset,))
    assert len(resumed.limits()) == requests
    now = {'path': 'tiny', 'temperature': 0.7, 'top_p': 0.9}
    assert settings_of(resumed.rows(dataset)) == [now]
    assert resumed.result(dataset)['provenance']['sampling'] == [now]

    del resumed.more['stored_answers']
    resumed.go(4096, wanted=(dataset,))
    assert resumed.limits() == []


@pytest.mark.parametrize('dataset', [PLAIN, DIALOGUES])
def test_a_killed_run_that_asks_again_goes_on(resumed: Resumed, dataset: str) -> None:
    resumed.go(4096, wanted=(dataset,))
    rows, requests = resumed.rows(dataset), len(resumed.limits())
    resumed.more = {'temperature': 0.7, 'stored_answers': 'ask', 'max_workers': 1, 'batch_size': 1}
    resumed.write(4096, '', (dataset,))
    resumed.server.reset(latency=0.3)
    process = start_opencompass('mine.py', '-w', 'out', '-r', '--debug', cwd=resumed.folder)
    kill_after_four(process, resumed)
    before = len(resumed.limits())
    resumed.go(4096, wanted=(dataset,))
    assert requests <= before + len(resumed.limits()) <= requests + 1  # one was in flight
    assert settings_of(resumed.rows(dataset)) == [{'path': 'tiny', 'temperature': 0.7}]
    assert len(resumed.rows(dataset)) == len(rows)


def test_an_unfinished_run_is_refused_too(resumed: Resumed) -> None:
    resumed.more = {'max_workers': 1, 'batch_size': 1}
    resumed.write(4096, '')
    resumed.server.reset(latency=0.3)
    process = start_opencompass('mine.py', '-w', 'out', '--debug', cwd=resumed.folder)
    kill_after_four(process, resumed)
    resumed.more |= {'openai_extra_kwargs': {'seed': 3}}
    resumed.write(4096, '')
    resumed.server.reset()
    refused = run_opencompass('mine.py', '-w', 'out', '-r', cwd=resumed.folder)
    assert refused.returncode and 'have other settings (seed not set, now 3)' in refused.stdout + refused.stderr
    assert resumed.limits() == []


OWN_PARTITIONER = """
from opencompass.partitioners import NaivePartitioner
infer['partitioner'] = dict(type=NaivePartitioner)
"""


def test_the_task_refuses_under_opencompass_own_partitioner(resumed: Resumed) -> None:
    resumed.go(4096, wanted=(PLAIN,))
    (file,) = resumed.folder.glob(f'out/*/predictions/m/{PLAIN}.json')
    rows = json.loads(file.read_text())
    journal = file.with_name(f'tmp_{PLAIN}.jsonl')
    journal.write_text(''.join(json.dumps({'idx': number, **row}) + '\n' for number, row in enumerate(rows.values())))
    file.unlink()
    resumed.more = {'temperature': 0.7}
    resumed.write(4096, '')
    config = resumed.folder / 'mine.py'
    config.write_text(config.read_text() + OWN_PARTITIONER)
    resumed.server.reset()
    run_opencompass('mine.py', '-w', 'out', '-r', cwd=resumed.folder)
    logs = ''.join(log.read_text() for log in resumed.folder.glob('out/*/logs/infer/m/*.out'))
    assert 'stored answers have other settings (temperature not set, now 0.7)' in logs
    assert resumed.limits() == [] and journal.exists()


@pytest.mark.parametrize(
    'same',
    [
        {'temperature': 0},
        {'temperature': 0.0, 'openai_extra_kwargs': {'top_p': 1}},
        {'retry': 3, 'stream': True, 'max_workers': 2},
        {'openai_extra_kwargs': {'temperature': 0, 'user': 'me'}},
    ],
)
def test_defaults_and_the_way_of_sending_are_no_difference(resumed: Resumed, same: dict[str, Any]) -> None:
    resumed.go(4096)
    resumed.more = same
    resumed.write(4096, '')
    resumed.server.reset()
    done = run_opencompass('mine.py', '-w', 'out', '-r', cwd=resumed.folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert resumed.limits() == []
