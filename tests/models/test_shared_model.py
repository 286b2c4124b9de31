"""Servers that tasks share: started once, found again after each death, ended with the last task."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.judge import LABELS
from tests.engines import none_left, processes, scripted_engine
from tests.forked import Fork, start_opencompass

SERVED = 'opencompass_tooleval.models.served_model.ToolEvalServed'
JUDGED = ('tooleval-ultratool-planning_zh', 'tooleval-ultratool-tool_creation_zh', 'tooleval-ultratool-planning_en')
REVIEW, PLAN = 'tooleval-teval-review_str_v2', 'tooleval-teval-plan_json_v2'
CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.partitioner import ToolEvalNumWorkerPartitioner

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

datasets = [row for row in datasets if row['abbr'] in ABBRS]
models = MODELS or [dict(type=OracleModel, abbr=abbr, batch_size=8, run_cfg=dict(num_gpus=0)) for abbr in ('m1', 'm2')]
for row in datasets:
    if JUDGE:
        row['eval_cfg']['evaluator']['judge_cfg'] = JUDGE
infer['partitioner'] = dict(type=ToolEvalNumWorkerPartitioner, num_worker=2, min_task_size=1)
eval['partitioner']['n'] = 1
infer['runner']['max_num_workers'] = eval['runner']['max_num_workers'] = 3
"""


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    with none_left(tmp_path):
        yield


def shared_model(folder: Path, *arguments: str, engine: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    model = dict(type=SERVED, abbr='served', path='tiny', shared=True, retry=0, max_workers=2, backoff=0.01)
    model.update(query_per_second=1000, max_seq_len=100_000, max_out_len=8, batch_size=2, run_cfg=dict(num_gpus=0))
    return {**model, 'engine': engine or scripted_engine(folder, *arguments), **more}


def write_config(folder: Path, abbrs: tuple[str, ...], models: Any = (), judge: Any = None, more: str = '') -> None:
    text = CONFIG.replace('ABBRS', repr(abbrs)).replace('MODELS', repr(list(models))).replace('JUDGE', repr(judge))
    (folder / 'mine.py').write_text(text + more)


def start(folder: Path, *more: str) -> Fork:
    environment = {**os.environ, 'TOOLEVAL_CACHE': str(folder / 'cache')}
    return start_opencompass('mine.py', '-w', 'out', *more, cwd=folder, env=environment, output=folder / 'said.txt')


def said(folder: Path) -> str:
    return (folder / 'said.txt').read_text()


def starts(folder: Path) -> int:
    logs = folder.glob('out/*/logs/**/*.engine.log')
    return sum(log.read_text().count('loading the weights') for log in logs)


def asked(folder: Path) -> int:
    return len((folder / 'asked').read_text()) if (folder / 'asked').exists() else 0


def judge(folder: Path, *arguments: str) -> dict[str, Any]:
    labels = {label: 'SCORE' for task in LABELS.values() for names in task.values() for label in names}
    (folder / 'reply').write_text(json.dumps(labels, ensure_ascii=False))
    return shared_model(folder, '--reply', str(folder / 'reply'), *arguments, abbr='judge')


def results(folder: Path) -> dict[str, Any]:
    """What the table shows, and the details, of each model x data set."""
    found = {}
    for file in folder.glob('out/*/results/*/*.json'):
        result = json.loads(file.read_text())
        found[f'{file.parent.name}/{file.stem}'] = {
            name: value for name, value in result.items() if isinstance(value, float) or name == 'details'
        }
    return found


def test_one_judge_for_two_models_and_several_data_sets(tmp_path: Path) -> None:
    """Killed in the middle: started again, and the table is that of an undisturbed run."""
    undisturbed, killed = (tmp_path / name for name in ('undisturbed', 'killed'))
    for folder, fault in ((undisturbed, ''), (killed, 'once')):
        folder.mkdir()
        write_config(folder, JUDGED, judge=judge(folder, '--fault', fault))
        assert start(folder).wait() == 0, said(folder)
        assert not processes(folder)
        assert not list(folder.glob('out/*/tmp/local/*'))
    assert (starts(undisturbed), starts(killed)) == (1, 2)
    assert len(results(undisturbed)) == 6 and results(killed) == results(undisturbed)
    assert asked(undisturbed) <= asked(killed) <= asked(undisturbed) + 2 * 3  # what was in flight


def test_one_engine_for_data_sets_and_shards(tmp_path: Path) -> None:
    write_config(tmp_path, (REVIEW, PLAN), [shared_model(tmp_path, '--fault', 'twice')])
    assert start(tmp_path).wait() == 0, said(tmp_path)
    assert starts(tmp_path) == 3 and not processes(tmp_path)
    shards = [json.loads(file.read_text()) for file in tmp_path.glob('out/*/predictions/served/*_*.json')]
    rows = [row for shard in shards for row in shard.values()]
    assert len(shards) == 4 and all(row['prediction'] == 'Answer: A' and row['infra'] is None for row in rows)
    assert asked(tmp_path) == len(rows)  # no answered request is sent again
