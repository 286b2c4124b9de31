"""host/planned_jobs on data sets that are split over several jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mmengine.config import Config
from opencompass.registry import PARTITIONERS
from opencompass.utils import build_dataset_from_cfg

from opencompass_tooleval.core.tool_set import ToolSet
from opencompass_tooleval.core.usage import Usage
from opencompass_tooleval.core.usage_summary import summary_of
from opencompass_tooleval.host.planned_jobs import ModelPlan, make_plan

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.host.fixed_models import OracleModel
from opencompass_tooleval.host.partitioner import ToolEvalNumWorkerPartitioner

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer

wanted = ['tooleval-teval-review_str_v2', 'tooleval-teval-retrieve_str_v2']
datasets = [row for row in datasets if row['abbr'] in wanted]
models = [dict(type=OracleModel, abbr='m', path='x', max_out_len=9, batch_size=2)]
infer['partitioner'] = dict(type=ToolEvalNumWorkerPartitioner, num_worker=2, min_task_size=1)
"""


def plan_of(config: Path, run: Path) -> ModelPlan:
    (model,) = make_plan(config, run).models
    return model


def test_what_answers_will_cost(tmp_path: Path) -> None:
    """By the most that they may have; once a model has answered, by what its answers had; dialogues only then."""
    config, run = tmp_path / 'mine.py', tmp_path / 'run'
    text = CONFIG.replace("'tooleval-teval-retrieve_str_v2'", "'tooleval-funcqa-one_hop-cot'")
    config.write_text(text.replace("path='x'", "path='x', prices=dict(input=2.0, output=8.0)"))
    first = plan_of(config, run)
    reviews = 6
    most = 512 * reviews
    assert (first.answer_tokens, first.bound) == (most, 'about')
    assert first.answers_by == ('data sets: 1 by max_out_len, the most that they can have; 1 of dialogues not counted')
    assert first.cost == pytest.approx((2 * first.prompt_tokens + 8 * most) / 1e6)
    (run / 'configs').mkdir(parents=True, exist_ok=True)
    for model, completion in (('slow', 300), ('quick', 100)):
        for dataset in ('tooleval-teval-review_str_v2', 'tooleval-funcqa-one_hop-cot'):
            file = run / 'results' / model / f'{dataset}.json'
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({'usage': summary_of([Usage(1000, completion), None])}))
    (run / 'results' / 'quick' / 'other.json').write_text('{')
    (run / 'results' / 'slow' / 'tooleval-teval-review_str_v2.json').write_text('{')
    later = plan_of(config, run)
    questions = later.samples - reviews
    assert later.answer_tokens == reviews * 100 + questions * 200 and later.bound == 'about'
    assert later.answers_by == 'data sets: 2 as long as those of quick, slow'
    assert (first.dialogues, later.dialogues) == (questions, 0)
    assert questions * 1000 < later.prompt_tokens < questions * 1000 + first.prompt_tokens
    assert later.cost == pytest.approx((2 * later.prompt_tokens + 8 * later.answer_tokens) / 1e6)


def test_tools_that_are_offered_are_part_of_the_prompt(tmp_path: Path) -> None:
    config = tmp_path / 'mine.py'
    (abbr,) = wanted = ['tooleval-teval-instruct_v2-fc']
    config.write_text(CONFIG.replace("['tooleval-teval-review_str_v2', 'tooleval-teval-retrieve_str_v2']", str(wanted)))
    (dataset,) = (row for row in Config.fromfile(config, format_python_code=False)['datasets'] if row['abbr'] == abbr)
    rows = build_dataset_from_cfg(dataset).test
    tools = sum(len(ToolSet.of_text(text).tools) for text in rows['tools'])
    words = sum(len(message['content'].split()) for text in rows['messages'] for message in json.loads(text))
    assert plan_of(config, tmp_path / 'run').prompt_tokens > 2 * words + 40 * tools


def test_a_data_set_is_done_when_all_its_parts_are(tmp_path: Path) -> None:
    config, run = tmp_path / 'mine.py', tmp_path / 'run'
    config.write_text(CONFIG)
    first = plan_of(config, run)
    assert (first.jobs, first.datasets, first.done) == (2, 2, 0)

    cfg = Config.fromfile(config, format_python_code=False)
    cfg['work_dir'] = str(run)
    partitioner = PARTITIONERS.build({**cfg['infer']['partitioner'], 'out_dir': str(run / 'predictions')})
    parts = {row['abbr']: partitioner.get_size(row) for task in partitioner(cfg) for rows in task['datasets']
             for row in rows}  # fmt: skip
    assert len(parts) == 4 and first.samples == sum(parts.values())
    seen = []
    for number, (abbr, size) in enumerate(sorted(parts.items())):
        file = run / 'predictions' / 'm' / f'{abbr}.json'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({str(index): {} for index in range(size)}))
        if number != 2:
            model = plan_of(config, run)
            seen.append((model.datasets, model.done))
    assert seen == [(2, 0), (1, 1), (0, 2)]
    assert (model.jobs, model.samples) == (0, 0)
