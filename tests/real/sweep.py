"""The sweep: both models, both ways, on the first records of every benchmark that this package ships."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FULL = {
    'tooleval-teval-instruct_v2': 1,
    **{
        f'tooleval-teval-{name}_v2': 1
        for name in ('plan_json', 'review_str', 'reason_str', 'retrieve_str', 'understand_str')
    },
    'tooleval-teval-reason_retrieve_understand_json_v2': 1,
    'tooleval-teval-instruct_v2_zh': 1,
    'tooleval-teval-instruct_v2-fc': 1,
    'tooleval-teval-reason_retrieve_understand_json_v2-fc': 1,
    **{f'tooleval-ultratool-{name}_en': 1 for name in ('tool_creation', 'tool_usage', 'tool_usage_awareness')},
    **{f'tooleval-restbench-{name}': 1 for name in ('tmdb', 'tmdb-easytool', 'tmdb-fc')},
    **{f'tooleval-funcqa-one_hop-{method}': 1 for method in ('zero_shot', 'cot', 'easytool', 'react-fc')},
    'tooleval-toolbench-selection_5-easytool': 1,
    **{f'tooleval-toolbench-calls_g2{variant}': 1 for variant in ('', '-fc')},
    'tooleval-teval-agent-fc': 1,
    'tooleval-toolbench_g1-agent-fc': 1,
    **{f'tooleval-toolbench_g2-agent-{loop}': 1 for loop in ('fc', 'react', 'dfsdt', 'easytool')},
    'tooleval-ultratool_en-agent-fc': 1,
}
"""How many of the demo's records of each data set the small instructed model is asked by llama.cpp's server."""

JUDGED = {'tooleval-ultratool-planning_en': 2}
"""Whose answers are judged by the small model itself, of whose replies none can be read mostly."""

CORE = {
    'tooleval-teval-instruct_v2': 1,
    'tooleval-teval-plan_json_v2': 1,
    'tooleval-teval-instruct_v2-fc': 1,
    'tooleval-restbench-tmdb': 1,
    'tooleval-funcqa-one_hop-zero_shot': 1,
    'tooleval-toolbench-calls_g2': 1,
}
"""The same of each model in each way, of which one takes ten times as long."""

MAX_OUT_LEN = {'smollm2': 64, 'gemma3': 16}
"""Tokens per answer: SmolLM2 writes whole calls, and the base model never ends an answer."""

CONFIG = """
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

ROWS, JUDGE, BOUNDS = {rows!r}, {judge!r}, {bounds!r}
models = {models!r}
datasets = [row for row in datasets if row['abbr'] in ROWS]
for row in datasets:
    row['reader_cfg']['test_range'] = f"[:{{ROWS[row['abbr']]}}]"
    row['infer_cfg']['inferencer'].pop('max_out_len', None)
    if 'judge_cfg' in row['eval_cfg']['evaluator'] and JUDGE:
        row['eval_cfg']['evaluator']['judge_cfg'] = dict(JUDGE)
    dialogues = row['infer_cfg']['inferencer'].get('dialogues', {{}})
    if dialogues.get('simulator') and JUDGE:
        dialogues['simulator'] = dict(model=dict(JUDGE))
    dialogues.update(BOUNDS.get(dialogues.get('method', dialogues.get('loop')), {{}}))
"""

BOUNDS = {
    'easytool': {'max_tries': 1, 'max_requests': 1, 'max_calls': 4},
    'function_calling': {'max_steps': 2},
    'toolbench_react': {'max_depth': 4},
    'dfsdt': {'max_model_calls': 4},
}
"""How long dialogues may be: a model that writes nothing that can be read is asked up to 60 times per question by
EasyTool's published method, and at temperature 0 says the same."""


def write_config(
    file: Path, models: Sequence[Mapping[str, Any]], rows: Mapping[str, int], judge: Mapping[str, Any] | None = None
) -> Path:
    """Writes a config of the demo's data sets.

    Args:
        file: Where.
        models: Their configs, of which the types are names.
        rows: How many records of which data set.
        judge: Model that judges and simulates; by default the demo's recorded ones.
    """
    file.write_text(CONFIG.format(rows=dict(rows), judge=judge, models=list(models), bounds=BOUNDS), encoding='utf-8')
    return file


def run(*words: object, folder: Path, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs this environment's Python to its end.

    Args:
        words: Its arguments.
        folder: Where.
        check: Whether any status but 0 fails the test, with the end of what was printed.
        environment: More variables.
    """
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=folder,
        env={**os.environ, 'PYTHONPATH': str(ROOT), 'TOOLEVAL_CACHE': str(folder / 'cache'), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert not check or done.returncode == 0, done.stdout[-5000:]
    return done


def opencompass(config: Path, work_dir: Path, *more: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a sweep."""
    return run('-m', 'opencompass.cli.main', config, '-w', work_dir, *more, folder=config.parent, **options)


def tooleval(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs the command ``tooleval``."""
    return run('-c', 'from opencompass_tooleval.cli.main import main; main()', *words, **options)


def predictions(work_dir: Path, model: str) -> dict[str, list[dict[str, Any]]]:
    """Data set -> its rows."""
    files = work_dir.glob(f'*/predictions/{model}/*.json')
    return {file.stem: list(json.loads(file.read_text(encoding='utf-8')).values()) for file in files}


def results(work_dir: Path, model: str) -> dict[str, dict[str, Any]]:
    """Data set -> its result."""
    files = work_dir.glob(f'*/results/{model}/*.json')
    return {file.stem: json.loads(file.read_text(encoding='utf-8')) for file in files}
