"""The published answers through the whole OpenCompass pipeline: the paper's numbers to the last digit."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.records import find_subset
from tests.benchmarks.ultratool.support import PREDICTIONS as ANSWERS
from tests.benchmarks.ultratool.support import SHARED
from tests.benchmarks.ultratool.test_published import PAPER, TABLE_4
from tests.forked import run_opencompass

TASKS = ('planning', 'tool_usage_awareness', 'tool_usage')

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import OracleModel, ReplayModel

with read_base():
    from opencompass_tooleval.configs.eval_ultratool import eval, infer, summarizer
    from opencompass_tooleval.configs.datasets.ultratool.tooleval_ultratool_gen import tooleval_ultratool_zh_datasets

datasets = [row for row in tooleval_ultratool_zh_datasets if row['name'] in TASKS]
for row in datasets:
    if row['name'] == 'planning':
        row['eval_cfg']['evaluator']['judgements'] = JUDGEMENTS
models = [
    dict(
        type=ReplayModel,
        abbr=model,
        files={f'{task}_zh': f'ANSWERS/{model}/{task}.json' for task in TASKS},
        batch_size=500,
        run_cfg=dict(num_gpus=0),
    )
    for model in ['gpt-3.5', 'gpt-4']
]
"""


def opencompass(folder: Path, config: str, judgements: str, tasks: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Runs the config in a folder."""
    if not (ANSWERS / 'gpt-4' / 'tool_usage.json').is_file():
        pytest.skip('the published answers to UltraTool are not beside the repository')
    text = config.replace('JUDGEMENTS', repr(judgements)).replace('ANSWERS', str(ANSWERS)).replace('TASKS', str(tasks))
    (folder / 'mine.py').write_text(text)
    environment = {**os.environ, 'COMPASS_DATA_CACHE': str(SHARED)}
    return run_opencompass('mine.py', '-w', 'out', cwd=folder, env=environment)


def result_of(folder: Path, model: str, task: str) -> dict[str, Any]:
    (file,) = folder.glob(f'out/*/results/{model}/tooleval-ultratool-{task}_zh.json')
    result: dict[str, Any] = json.loads(file.read_text(encoding='utf-8'))
    return result


@pytest.mark.long
def test_published_answers_give_the_paper_through_opencompass(tmp_path: Path) -> None:
    """Both models in one sweep: each has its judgements, and each answer the reading of the file it was recorded in."""
    done = opencompass(tmp_path, CONFIG, f'{ANSWERS}/{{model}}/eval/planning_eval.json', TASKS)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    metrics = find_subset('planning').metrics
    plans = {(model, 'planning'): dict(zip(metrics, values, strict=True)) for model, values in TABLE_4.items()}
    for (model, task), published in {**PAPER, **plans}.items():
        result = result_of(tmp_path, model, task)
        assert {metric: round(result[metric], 2) for metric in published} == published
        assert (result['provenance']['prompt_style'], result['provenance']['list_choice']) == ('gpt', 'span')
        assert [detail['id'] for detail in result['details']] == [str(row) for row in range(1000)]
        assert sum(domain['samples'] for domain in result['breakdown']['domains'].values()) == 1000
        assert len(result['breakdown']['domains']) == 22


def test_judgements_of_one_model_are_not_given_to_others(tmp_path: Path) -> None:
    """gpt-4 and the oracle both got 76.39 once."""
    models = "models = [*models[1:], dict(type=OracleModel, abbr='oracle', batch_size=500, run_cfg=dict(num_gpus=0))]"
    done = opencompass(tmp_path, f'{CONFIG}{models}', f'{ANSWERS}/gpt-4/eval/planning_eval.json', ('planning',))
    assert done.returncode == 1
    assert round(result_of(tmp_path, 'gpt-4', 'planning')['overall'], 2) == 76.39
    assert not list(tmp_path.glob('out/*/results/oracle/*.json'))
    (log,) = tmp_path.glob('out/*/logs/eval/oracle/*.out')
    text = log.read_text(encoding='utf-8')
    assert 'could not be judged' in text and 'judgement of another answer' in text
