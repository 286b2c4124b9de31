"""A config that combines models and data sets (``model_dataset_combinations``): only these pairs can be missing."""

from __future__ import annotations

import json
from pathlib import Path

from opencompass_tooleval.results.table import read
from tests.cli.conftest import Command
from tests.forked import run_opencompass

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import OracleModel

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

datasets = [row for row in datasets if row['abbr'] in ('tooleval-restbench-tmdb', 'tooleval-teval-instruct_v2')]
models = [dict(type=OracleModel, abbr=abbr, batch_size=64, run_cfg=dict(num_gpus=0)) for abbr in ('a', 'b')]
model_dataset_combinations = [
    dict(models=models[:1], datasets=datasets),
    dict(models=models[1:], datasets=datasets[:1]),
]
"""


def test_a_pair_that_the_config_leaves_out_is_not_missing(tooleval: Command, tmp_path: Path) -> None:
    (tmp_path / 'sweep.py').write_text(CONFIG, encoding='utf-8')
    done = run_opencompass('sweep.py', '-w', 'out', cwd=tmp_path)
    assert done.returncode == 0 and 'MISSING' not in done.stdout, done.stdout + done.stderr
    assert len(list(tmp_path.glob('out/*/results/*/*.json'))) == 3
    assert not read([tmp_path / 'out']).missing  # the report's rows
    cells = json.loads(tooleval('status', tmp_path / 'out', '--json', '-').out)
    assert {(cell['model'], cell['dataset'], cell['state']) for cell in cells} == {
        ('a', 'tooleval-restbench-tmdb', 'done'),
        ('a', 'tooleval-teval-instruct_v2', 'done'),
        ('b', 'tooleval-teval-instruct_v2', 'done'),
    }
