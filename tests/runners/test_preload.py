"""A task loads what its config names, and no extra: modules counted in the tasks of an ordinary sweep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.tasks.preload import named_modules, preload
from tests.conftest import ROOT

MOST = 200
COUNTING = """
import json, os, sys
from opencompass_tooleval.models.fixed_models import OracleModel

class Counting(OracleModel):
    def answers(self, *arguments, **options):
        with open(f'{os.environ["COUNTED"]}/{os.getpid()}', 'w') as file:
            json.dump([os.getppid(), sorted(sys.modules)], file)
        return super().answers(*arguments, **options)
"""
CONFIG = """
from mmengine.config import read_base
from counting import Counting

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_teval_demo_gen import tooleval_teval_en_v2_datasets
    from opencompass_tooleval.configs.summarizers.tooleval_teval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = tooleval_teval_en_v2_datasets
models = [dict(type=Counting, abbr=name, max_out_len=8) for name in ('a', 'b', 'c')]
"""


def test_a_sweep_of_teval_loads_few_modules_and_no_extra(tmp_path: Path) -> None:
    (tmp_path / 'counting.py').write_text(COUNTING)
    (tmp_path / 'config.py').write_text(CONFIG)
    (tmp_path / 'counted').mkdir()
    environment = {**os.environ, 'PYTHONPATH': f'{ROOT}:{tmp_path}', 'COUNTED': str(tmp_path / 'counted')}
    command = [
        sys.executable,
        '-c',
        'from opencompass.cli.main import main; main()',
        'config.py',
        '-w',
        'out',
    ]  # no fork of the tests
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    tasks = [json.loads(file.read_text()) for file in (tmp_path / 'counted').iterdir()]
    assert len(tasks) == 3 and len({server for server, _ in tasks}) == 1, 'forks of one process'
    for _, modules in tasks:
        loaded = [name for name in modules if name.startswith('opencompass_tooleval')]
        assert len(loaded) <= MOST
        assert not [name for name in loaded if '.extras' in name]
    assert any({'sentence_transformers', 'jsonschema'} <= set(modules) for _, modules in tasks), 'for later tasks'


def test_a_module_that_ends_the_program_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'ends_the_program.py').write_text('import sys\nsys.exit(3)\n')
    monkeypatch.syspath_prepend(tmp_path)
    preload(['ends_the_program'])
    assert 'ends_the_program' not in sys.modules


def test_modules_of_classes_and_of_names_are_found_at_any_depth() -> None:
    task = {
        'models': [{'type': OracleModel}],
        'datasets': [[{'type': 'a.B', 'infer_cfg': {'inferencer': {'type': 'c.d.E'}}, 'abbr': 'type'}]],
        'other': {'type': 'Registered', 'deep': ({'type': 'f.G'}, {'type': 'MAJOR. minor thing'}, {'type': '.x'})},
    }
    assert named_modules(task) == ['a', 'c.d', 'f', 'opencompass_tooleval.models.fixed_models']
