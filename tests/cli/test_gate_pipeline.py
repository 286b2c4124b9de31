"""Gates on real runs: scripted models through OpenCompass."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.forked import run_opencompass

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import OracleModel

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

datasets = [row for row in datasets if row['abbr'] in WANTED]
models = [dict(type=OracleModel, abbr='m', noise=NOISE, seed=0, batch_size=64, run_cfg=dict(num_gpus=0))]
"""
TEVAL = ['tooleval-teval-instruct_v2', 'tooleval-teval-instruct_v2_zh']
AGENT = 'tooleval-toolbench_g2-agent-react'


@pytest.fixture(scope='module')
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, the same again, and one that knows less."""
    folder = tmp_path_factory.mktemp('runs')
    for name, noise in (('old', 0), ('worse', 0.8)):
        text = CONFIG.replace('WANTED', repr([*TEVAL, AGENT])).replace('NOISE', str(noise))
        (folder / f'{name}.py').write_text(text)
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
