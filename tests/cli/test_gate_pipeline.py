"""Gates on real runs: scripted models through OpenCompass, and the workflow of the page, step by step in a shell."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.cli.conftest import Command
from tests.conftest import ROOT, ModelServer, start_server
from tests.forked import run_opencompass, write_commands

PAGE = ROOT / 'docs' / 'how-to' / 'gate.md'
SCRIPT = ROOT / 'tests' / 'gate_script.py'
CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

datasets = [row for row in datasets if row['abbr'] in WANTED]
models = [MODEL]
"""
TEVAL = ['tooleval-teval-instruct_v2', 'tooleval-teval-instruct_v2_zh']
AGENT = 'tooleval-toolbench_g2-agent-react'


def config(model: str) -> str:
    return CONFIG.replace('WANTED', repr([*TEVAL, AGENT])).replace('[MODEL]', f'[{model}]')


def oracle(noise: float, seed: int = 0) -> str:
    return f"dict(type=OracleModel, abbr='m', noise={noise}, seed={seed}, batch_size=64, run_cfg=dict(num_gpus=0))"


@pytest.fixture(scope='module')
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, the same again, and one that knows less."""
    folder = tmp_path_factory.mktemp('runs')
    for name, noise in (('old', 0), ('worse', 0.8)):
        (folder / f'{name}.py').write_text(config(oracle(noise)))
        done = run_opencompass(f'{name}.py', '-w', name, '--debug', cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    shutil.copytree(folder / 'old', folder / 'same')
    return folder


def test_a_planted_drop_is_found_and_an_equal_run_holds(tooleval: Command, runs: Path) -> None:
    done = tooleval('gate', runs / 'same', '--baseline', runs / 'old')
    assert done.code == 2 and f'{AGENT}, m: samples: call_f1: too few to decide: 3 records' in done.out, done.out
    done = tooleval('gate', runs / 'same', '--baseline', runs / 'old', '--partial')
    assert done.code == 0 and 'held: 0 of ' in done.out, done.out
    done = tooleval('gate', runs / 'worse', '--baseline', runs / 'old')
    assert done.code == 1 and ' dropped\n' in done.out, done.out


def test_what_a_plan_promises_by_an_earlier_run(tooleval: Command, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)
    plan = ('plan', 'old.py', '--earlier', runs / 'worse', '--earlier', runs / 'old', '--detect', 5)
    rows = {row['dataset']: row for row in json.loads(tooleval(*plan, '--json', '-').out)['detectable']}
    assert set(rows) == {*TEVAL, AGENT}
    row = rows[TEVAL[0]]
    assert (row['records'], row['trials'], row['baseline_trials'], row['is_measured']) == (26, 1, 1, True)
    assert row['drop'] > 20 and row['records_needed'] > 300 and row['trials_needed'] > 10
    (allowing, *_) = json.loads(tooleval(*plan, '--max-drop', 3, '--json', '-').out)['detectable']
    assert allowing['drop'] > row['drop'] + 1 and allowing['records_needed'] > 2 * row['records_needed']
    printed = tooleval(*plan).out
    assert 'smallest drop that a gate finds' in printed and 'needed: for a drop of 5 points' in printed
    once = json.loads(tooleval('plan', 'old.py', '--earlier', runs / 'worse', '--json', '-').out)['detectable']
    assert not any(row['is_measured'] for row in once), 'one trial only bounds the variance'
    assert json.loads(tooleval('plan', 'old.py', '--json', '-').out)['detectable'] == []
    done = tooleval('plan', 'old.py', '--detect', 5)
    assert done.code == 1 and 'name one by --earlier RUN' in done.err


# --- the workflow -----------------------------------------------------------------------------------------------------


def workflow() -> dict[str, Any]:
    (block,) = re.findall(r'^```yaml title=[^\n]*\n(.*?)^```', PAGE.read_text(encoding='utf-8'), re.M | re.S)
    loaded: dict[str, Any] = yaml.safe_load(block)
    return loaded


@pytest.fixture(scope='module', params=[pytest.param('released', marks=pytest.mark.long), 'regressed'])
def server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    started = start_server('--script', f'{SCRIPT}:{request.param}', '--key', 'right')
    started.kind = request.param  # type: ignore[attr-defined]
    yield started
    started.stop()


def model_at(url: str) -> str:
    return (
        "dict(type=ToolEvalOpenAI, abbr='m', path='tiny', key='ENV', openai_api_base="
        f'{url!r}, max_seq_len=8192, max_out_len=256, query_per_second=1000, run_cfg=dict(num_gpus=0))'
    )


@pytest.mark.long
def test_the_workflow_of_the_page_runs(server: ModelServer, tmp_path: Path, tooleval: Command) -> None:
    """Each step in its order, by the rules of GitHub: after a failure only what asks for it."""
    (job,) = workflow()['jobs'].values()
    first = start_server('--script', f'{SCRIPT}:released', '--key', 'right')
    settings = {'HOME': str(tmp_path), 'OPENAI_API_KEY': 'right', 'GITHUB_STEP_SUMMARY': str(tmp_path / 'summary.md')}
    write_commands(tmp_path / 'bin')
    programs = [tmp_path / 'bin', Path(sys.executable).parent, os.environ['PATH']]
    settings |= {'PATH': os.pathsep.join(map(str, programs)), 'PIP_NO_INDEX': '1'}
    text = config(model_at('URL')).replace(f", '{AGENT}'", '')
    try:
        (tmp_path / 'my_sweep.py').write_text(text.replace('URL', first.url))
        done = run_opencompass('my_sweep.py', '-w', 'release', cwd=tmp_path, env={**os.environ, **settings})
        assert done.returncode == 0, done.stdout + done.stderr
        saved = tooleval('gate', tmp_path / 'release', '--save', tmp_path / 'baseline.jsonl')
        assert saved.code == 0, saved.err
    finally:
        first.stop()
    (tmp_path / 'my_sweep.py').write_text(text.replace('URL', server.url))
    (tmp_path / 'requirements.txt').write_text('opencompass-tooleval\n')
    statuses: dict[str, int] = {}
    for step in job['steps']:
        if 'run' not in step or (any(statuses.values()) and 'cancelled' not in step.get('if', '')):
            continue
        assert set(step.get('env', {})) <= set(settings)
        command = ['bash', '-e', '-c', step['run']]
        done = subprocess.run(command, cwd=tmp_path, env={**os.environ, **settings}, capture_output=True, text=True)
        statuses[step['run'].split()[0]] = done.returncode
        print(done.stdout[-2_000:], done.stderr[-2_000:])
    is_regressed = server.kind == 'regressed'  # type: ignore[attr-defined]
    assert statuses == {'pip': 0, 'opencompass': 0, 'tooleval': int(is_regressed), 'cat': 0}
    assert ('dropped: 4 of 4' if is_regressed else 'held: 0 of 4') in (tmp_path / 'summary.md').read_text()
    root = ElementTree.parse(tmp_path / 'gate.xml').getroot()
    assert root.get('failures') == ('4' if is_regressed else '0')
    uploaded = next(step['with']['path'] for step in job['steps'] if 'upload-artifact' in step.get('uses', ''))
    assert all((tmp_path / name).is_file() for name in uploaded.split())
