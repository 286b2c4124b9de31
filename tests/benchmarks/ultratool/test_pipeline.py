"""The published answers through the whole OpenCompass pipeline: the paper's numbers to the last digit."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencompass_tooleval.benchmarks.ultratool.data import find_subset
from tests.benchmarks.support import outcome_of, run
from tests.benchmarks.ultratool.support import PREDICTIONS as ANSWERS
from tests.benchmarks.ultratool.support import SHARED, real
from tests.benchmarks.ultratool.test_published import PAPER, TABLE_4

TASKS = ('planning', 'tool_usage_awareness', 'tool_usage')

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import OracleModel, ReplayModel

with read_base():
    from opencompass_tooleval.configs.datasets.ultratool.tooleval_ultratool_gen import tooleval_ultratool_zh_datasets
    from opencompass_tooleval.configs.summarizers.tooleval_ultratool import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

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


@pytest.mark.long
def test_published_answers_give_the_paper_through_opencompass(tmp_path: Path) -> None:
    """Both models in one sweep: each has its judgements, and each answer the reading of the file it was recorded in."""
    real(ANSWERS / 'gpt-4' / 'tool_usage.json')
    judgements = f'{ANSWERS}/{{model}}/eval/planning_eval.json'
    text = CONFIG.replace('JUDGEMENTS', repr(judgements)).replace('ANSWERS', str(ANSWERS)).replace('TASKS', str(TASKS))
    run(tmp_path, text, COMPASS_DATA_CACHE=str(SHARED))
    metrics = find_subset('planning').metrics
    plans = {(model, 'planning'): dict(zip(metrics, values, strict=True)) for model, values in TABLE_4.items()}
    for (model, task), published in {**PAPER, **plans}.items():
        result = outcome_of(tmp_path, model, f'ultratool-{task}_zh')
        assert {metric: round(result[metric], 2) for metric in published} == published
        assert (result['provenance']['prompt_style'], result['provenance']['list_choice']) == ('gpt', 'span')
        assert [detail['id'] for detail in result['details']] == [str(row) for row in range(1000)]
        assert sum(domain['samples'] for domain in result['breakdown']['domains'].values()) == 1000
        assert len(result['breakdown']['domains']) == 22
