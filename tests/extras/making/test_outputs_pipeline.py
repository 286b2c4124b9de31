"""The config of a made set through the real ``opencompass``: the oracle is right in all of it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.extras.making.made_set import MadeSet
from opencompass_tooleval.extras.making.outputs import write_outputs
from tests.extras.making.small_set import small_set
from tests.forked import start_opencompass

PATIENCE = 1500
CONFIG = """
from mmengine.config import read_base

with read_base():
    from .office_gen import {parts}
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [{datasets}]
"""
MODELS = """
from opencompass_tooleval.models import OracleModel

models = [dict(type=OracleModel, abbr='oracle', path='oracle', max_out_len=64, batch_size=8, run_cfg=dict(num_gpus=0))]
"""


@pytest.fixture
def made(tmp_path: Path) -> MadeSet:
    made = small_set(tmp_path / 'office')
    made.write()
    write_outputs(made)
    return made


def results_of(made: MadeSet, *arguments: str) -> dict[str, Any]:
    """Runs ``opencompass`` in the folder of the set; data set -> the oracle's result."""
    printed = made.folder / 'printed.txt'
    environment = {**os.environ, 'TOOLEVAL_CACHE': str(made.folder / 'cache')}
    run = start_opencompass(*arguments, '-w', 'out', '--debug', cwd=made.folder, env=environment, output=printed)
    assert run.wait(PATIENCE) == 0, printed.read_text(encoding='utf-8', errors='replace')[-3000:]
    files = made.folder.glob('out/*/results/oracle/*.json')
    return {file.stem: json.loads(file.read_text(encoding='utf-8')) for file in files}


def write_config(made: MadeSet, *parts: str) -> None:
    names = [f'office_{part}' for part in parts]
    text = CONFIG.format(parts=', '.join(names), datasets=', '.join(f'*{name}' for name in names))
    (made.folder / 'mine.py').write_text(text + MODELS, encoding='utf-8')


def check_steps(results: dict[str, Any]) -> None:
    """All metrics of the step files are 100, but for the rounding of the encoder's single precision."""
    steps = {abbr: result for abbr, result in results.items() if '-agent-' not in abbr}
    assert len(steps) == 16 + 7
    for abbr, result in steps.items():
        numbers = {name: value for name, value in result.items() if isinstance(value, float)}
        assert numbers == pytest.approx(dict.fromkeys(numbers, 100.0), abs=1e-5) and numbers, abbr


def test_step_files(made: MadeSet) -> None:
    write_config(made, 'teval', 'ultratool')
    check_steps(results_of(made, 'mine.py'))


def test_whole_set_from_the_command_line(made: MadeSet) -> None:
    """The config among a user's own, with the models of another file."""
    for kind in ('datasets', 'models'):
        (made.folder / 'configs' / kind).mkdir(parents=True)
    shutil.copy(made.folder / 'office_gen.py', made.folder / 'configs' / 'datasets')
    (made.folder / 'configs' / 'models' / 'knows_all.py').write_text(MODELS, encoding='utf-8')
    results = results_of(made, '--datasets', 'office_gen', '--models', 'knows_all')
    check_steps(results)
    agent = results['office-agent-function_calling']
    assert agent['provenance']['benchmark'] == 'made', agent
    assert agent['solved'] == 100.0, agent
