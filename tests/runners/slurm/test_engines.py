"""One array element is one engine: a real Slurm of one node, and elements that end during a run."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config

from opencompass_tooleval.runners.slurm.runner import SlurmArrayRunner
from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask
from tests.conftest import ROOT
from tests.engines import none_left, processes, scripted_engine, serve_engine, until, until_gone
from tests.runners.slurm.conftest import Testbed

SERVED = 'opencompass_tooleval.models.served_model.ToolEvalServed'
DEMO = ROOT / 'opencompass_tooleval' / 'configs' / 'datasets' / 'demo' / 'tooleval_demo_gen.py'


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    with none_left(tmp_path):
        yield


def runner(**settings: Any) -> SlurmArrayRunner:
    defaults = dict(task=dict(type=ToolEvalInferTask), poll=(0.5, 1.0), grace=5.0, retry=0)
    return SlurmArrayRunner(**{**defaults, **settings})


def task(folder: Path, engine: dict[str, Any], count: int, path: str = 'tiny', **more: Any) -> Config:
    datasets = Config.fromfile(DEMO).to_dict()['tooleval_teval_en_v2_datasets'][:count]
    model = dict(
        type=SERVED, abbr='served', path=path, engine=engine, max_workers=1, timeout=600, max_out_len=8, **more
    )
    model.update(batch_size=1, max_seq_len=100_000, query_per_second=1000, run_cfg=dict(num_gpus=1))
    return Config(dict(models=[model], datasets=[datasets], work_dir=str(folder / 'out')))


def task_each(config: Config) -> list[Config]:
    """A task for each data set."""
    return [Config({**config.to_dict(), 'datasets': [[row]]}) for row in config.datasets[0]]


def log(folder: Path, kind: str = 'out') -> str:
    (file,) = (folder / 'out' / 'logs' / 'infer' / 'served').glob(f'*.{kind}')
    return file.read_text()


def rows(folder: Path) -> list[dict[str, Any]]:
    files = (folder / 'out' / 'predictions' / 'served').glob('[!.]*.json')
    return [row for file in files for row in json.loads(file.read_text()).values()]


PREEMPT = ['sbatch', '--partition=urgent', '-c', '16', '--output=/dev/null', '--wrap=sleep 1']
IS_SHORT = ['scancel', '--batch', '--signal=USR1', 'ELEMENT']
"""As ``--signal=B:USR1@SECONDS`` does before the time limit."""


@pytest.mark.long
@pytest.mark.parametrize('take_away', [['scontrol', 'requeue', 'ELEMENT'], IS_SHORT, PREEMPT], ids=' '.join)
def test_an_element_that_is_taken_away_goes_on(testbed: Testbed, tmp_path: Path, take_away: list[str]) -> None:
    engine = scripted_engine(tmp_path, '--latency', '0.5')
    settings = dict(partition='frail', extra_command=['-c 16']) if take_away is PREEMPT else {}
    asked = tmp_path / 'asked'
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner(**settings).launch, [task(tmp_path, engine, 1)])
        until(lambda: future.done() or (asked.exists() and len(asked.read_text()) > 1))
        assert not future.done() and len(processes(tmp_path)) == 2
        before = set(processes(tmp_path))
        element = testbed.queue()[0].split()[0]
        testbed.tell(*[element if word == 'ELEMENT' else word for word in take_away])
        until(lambda: not before & set(processes(tmp_path)))  # its engine is gone, with all that it started
        if take_away is not PREEMPT:
            testbed.start_again(element)
        assert [code for _, code in future.result()] == [0], log(tmp_path)
    assert log(tmp_path).count('slurm: job ') == 2 and 'samples are answered already' in log(tmp_path)
    assert log(tmp_path, 'engine.log').count('loading the weights') == 2
    answered = rows(tmp_path)
    assert len(answered) <= len(asked.read_text()) <= len(answered) + 1  # what was in flight is asked again
    assert all(row['prediction'] == 'Answer: A' for row in answered)
    until_gone(tmp_path)


@pytest.mark.long
def test_the_real_engine_is_killed_and_its_element_runs_again(
    testbed: Testbed, tmp_path: Path, tiny_model: Path
) -> None:
    serving = pytest.importorskip('transformers.commands.serving', reason='no transformers serve in this version')
    if not serving.serve_dependencies_available:
        pytest.skip('what transformers serve needs is not installed')
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner(retry=1).launch, [task(tmp_path, serve_engine(tmp_path), 8, str(tiny_model))])
        until(lambda: future.done() or list((tmp_path / 'out').glob('predictions/served/[!.]*.json*')))
        (serve,) = [number for number, words in processes(tmp_path).items() if 'transformers_cli' in words]
        os.kill(serve, signal.SIGKILL)
        assert [code for _, code in future.result()] == [0], log(tmp_path)
    assert log(tmp_path).count('slurm: job ') == 2
    assert f'the engine of {tiny_model}: ended by SIGKILL' in log(tmp_path)
    assert log(tmp_path, 'engine.log').count('Uvicorn running') == 2
    assert len({(row['source'], row['record_id']) for row in rows(tmp_path)}) == len(rows(tmp_path)) >= 8
    assert all(row['prediction'] and row['infra'] is None for row in rows(tmp_path))
    until_gone(tmp_path)
