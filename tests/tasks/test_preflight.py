"""Warnings of `tooleval plan` before any request: missing GPUs, keys and judges."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.models.preflight import missing_key
from tests.cli.conftest import Command, home, tooleval
from tests.forked import run_opencompass

__all__ = ['home', 'tooleval']

LEVELS = ('FAULT ', 'WARNING ', 'NOTE ')

CONFIG = """
from mmengine.config import read_base

from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.models.local_chat import ToolEvalHFChat

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer

_wanted = ['tooleval-ultratool-planning_zh', 'tooleval-ultratool-planning_en', 'tooleval-ultratool-tool_usage_zh']
datasets = [row for row in datasets if row['abbr'] in _wanted]
for row in datasets:
    row['eval_cfg']['evaluator'].pop('judge_cfg', None)
models = [
    dict(type=ToolEvalHFChat, abbr='large', path='.', run_cfg=dict(num_gpus=2)),
    dict(type=ToolEvalOpenAI, abbr='api', path='x', run_cfg=dict(num_gpus=0)),
]
"""
MISSING = ('OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'OC_JUDGE_MODEL', 'OC_JUDGE_API_KEY', 'OC_JUDGE_API_BASE')


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in MISSING:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '0')
    file = tmp_path / 'sweep.py'
    file.write_text(CONFIG, encoding='utf-8')
    return file


def test_the_key_of_another_request_format(tooleval: Command, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.write_text(CONFIG.replace("abbr='api',", "abbr='api', wire='messages',"), encoding='utf-8')
    fault = 'FAULT api: its key is read from $ANTHROPIC_API_KEY, which is not set. Fix it with: export ANTHROPIC_API'
    assert "wire='messages'" in config.read_text() and fault in tooleval('plan', config).out
    monkeypatch.setenv('ANTHROPIC_API_KEY', 'k')
    assert 'its key is read' not in tooleval('plan', config).out


def test_what_is_missing_is_said_before_anything_is_asked(tooleval: Command, config: Path) -> None:
    done = tooleval('plan', config)
    assert done.code == 1
    gpu, key, judge = (line for line in done.out.splitlines() if line.startswith('FAULT '))
    assert gpu.startswith('FAULT large needs 2 GPUs, 1 visible; set num_gpus=0')
    assert key.startswith('FAULT api: its key is read from $OPENAI_API_KEY, which is not set. Fix it with: export')
    assert judge.startswith('FAULT tooleval-ultratool-planning_zh and 1 more: scoring will fail: UltraTool planning')
    assert judge.endswith('Fix it with: export OC_JUDGE_MODEL=NAME OC_JUDGE_API_KEY=KEY OC_JUDGE_API_BASE=URL')


def test_a_run_reports_what_plan_finds_before_its_first_task(tooleval: Command, config: Path, tmp_path: Path) -> None:
    """Also a data set without its files, a key in the config, and a limit that does not count."""
    more = """
datasets = [*datasets, dict(datasets[0], abbr='tooleval-lost', path='data/nowhere')]
models += [dict(models[1], abbr='written', key='sk-abcdefgh', max_out_len=9)]
"""
    config.write_text(CONFIG + more, encoding='utf-8')
    planned = [line for line in tooleval('plan', config).out.splitlines() if line.startswith(LEVELS)]
    kinds = [row['kind'] for row in json.loads(tooleval('plan', config, '--json', '-').out)['findings']]
    assert kinds == [f'config:{kind}' for kind in ('data', 'gpus', 'key', 'scoring', 'literal_key', 'unused_limit')]
    done = run_opencompass(str(config), '-w', 'out', cwd=tmp_path)
    output = re.sub(r'\s+', ' ', done.stdout + done.stderr)
    assert done.returncode == 1 and not list(tmp_path.glob('out/*/logs/infer'))
    for line in planned:
        level, _, text = line.partition(' ')
        assert text in output, (level, text)
    assert 'FAULT tooleval-lost: data/nowhere: not found' in output


def test_nothing_is_said_where_all_is_there(tooleval: Command, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (('CUDA_VISIBLE_DEVICES', '0,1'), ('OPENAI_API_KEY', 'key'), ('OC_JUDGE_MODEL', 'judge')):
        monkeypatch.setenv(name, value)
    done = tooleval('plan', config)
    assert done.code == 0 and 'FAULT' not in done.out
    # A judge of the environment has no prices for a budget.
    priced = 'models[1].update(prices=dict(input=1.0, output=1.0), budget=dict(cost=5))\n'
    config.write_text(CONFIG + priced, encoding='utf-8')
    (line,) = (line for line in tooleval('plan', config).out.splitlines() if line.startswith('FAULT '))
    assert 'scoring will fail: judge has no prices, and the budget of the model pays for it: add prices=' in line


def test_gpus_of_a_cluster_are_not_those_here(tooleval: Command, config: Path) -> None:
    config.write_text(CONFIG + "infer['runner']['type'] = 'SlurmArrayRunner'\n", encoding='utf-8')
    done = tooleval('plan', config)
    assert 'FAULT api: ' in done.out and 'FAULT large' not in done.out


NODES = """
from opencompass_tooleval.models import ToolEvalServed
engine = dict(nodes=2, command=['vllm', '{port}', '{rank}'])
models = [dict(type=ToolEvalServed, abbr='two', path='x', engine=engine, run_cfg=dict(num_gpus=1))]
"""


def test_an_engine_on_several_nodes_needs_slurm(
    tooleval: Command, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'key')
    config.write_text(CONFIG + NODES, encoding='utf-8')
    (line,) = (line for line in tooleval('plan', config).out.splitlines() if line.startswith('FAULT two'))
    assert line.startswith(
        'FAULT two: its engine (nodes=2) needs a Slurm job of 2 nodes, and this process is not in a job: run it with'
    )
    config.write_text(CONFIG + NODES + "infer['runner']['type'] = 'SlurmArrayRunner'\n", encoding='utf-8')
    done = tooleval('plan', config)
    assert 'FAULT two' not in done.out and ' 2x1 ' in done.out
    assert 'the largest takes 2 nodes with 1 GPUs each' in done.out


OURS = 'opencompass_tooleval.models.openai_model.ToolEvalOpenAI'
THEIRS = 'opencompass.models.OpenAISDK'
FIXED = 'opencompass_tooleval.models.fixed_models'


def test_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('OPENAI_API_KEY', raising=False)
    models = ('opencompass_tooleval.models.served_model.ToolEvalServed', f'{FIXED}.OracleModel', 'no.such.Model')
    lacking: list[dict[str, Any]] = [
        {'type': OURS},
        {'type': OURS, 'key': 'ENV'},
        {'type': OURS, 'key': ['ENV', 'other']},
        {'type': THEIRS},
    ]
    fine: list[dict[str, Any]] = [{'type': OURS, 'key': 'none'}, *({'type': model} for model in models), {}]
    assert all(map(missing_key, lacking)) and not any(map(missing_key, fine))
    monkeypatch.setenv('OPENAI_API_KEY', 'key')
    assert not any(map(missing_key, lacking))


def test_a_missing_encoder_is_one_line_of_the_list(
    tooleval: Command, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not end the list; the other data sets are counted, and a fault of two data sets is one line."""
    text = CONFIG.replace('_wanted = [', "_wanted = ['tooleval-teval-plan_json_v2', 'tooleval-teval-plan_str_v2', ")
    lost = "for row in datasets[:2]:\n    row['encoder'] = 'no/such-encoder'\n"
    partitioner = "infer['partitioner'] = dict(type='ToolEvalNumWorkerPartitioner', num_worker=2, min_task_size=1)\n"
    config.write_text(text.replace('for row in datasets:', f'{lost}for row in datasets:') + partitioner)
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '0,1')
    monkeypatch.setenv('OC_JUDGE_MODEL', 'judge')
    done = tooleval('plan', config)
    encoder, key = (line for line in done.out.splitlines() if line.startswith('FAULT '))
    assert "_v2 and 1 more: encoder 'no/such-encoder' is not on this machine; fetch it" in encoder
    assert key.startswith('FAULT api: its key is read')
    rows = [line.split() for line in done.out.splitlines() if line.startswith(('large', 'api'))]
    assert done.code == 1 and [(row[0], row[3]) for row in rows[:2]] == [('large', '3'), ('api', '3')]


MISTYPED = """
from mmengine.config import read_base
with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer
    from opencompass_tooleval.configs.models.tooleval_oracle import models
_wanted = ['tooleval-teval-plan_json_v2', 'tooleval-ultratool-planning_zh', 'tooleval-ultratool-tool_usage_zh']
datasets = [row for row in datasets if row['abbr'] in _wanted]
datasets[0]['path'] = 'data/tevall/EN'
datasets[1]['path'] = 'data/ultratol'
datasets[1]['eval_cfg']['evaluator'].pop('judge_cfg', None)
models = models[:1]
"""


def test_faults_of_data_sets_are_the_same_on_each_screen_and_leave_only_these_out(
    tooleval: Command, config: Path, tmp_path: Path
) -> None:
    """A mistyped path of T-Eval, and a data set with two faults; the third data set is asked and scored."""
    config.write_text(MISTYPED, encoding='utf-8')
    rows = json.loads(tooleval('plan', config, '--json', '-').out)['findings']
    of_teval, of_ultratool = (f'{path}: not found; looked at ' for path in ('data/tevall/EN', 'data/ultratol'))
    found = [(row['about'].rpartition('-')[2], row['kind'], row['fix']) for row in rows]
    judge = 'export OC_JUDGE_MODEL=NAME OC_JUDGE_API_KEY=KEY OC_JUDGE_API_BASE=URL'
    assert found == [
        ('plan_json_v2', 'config:data', 'tooleval prepare teval'),
        ('planning_zh', 'config:data', 'tooleval prepare ultratool'),
        ('planning_zh', 'config:scoring', judge),
    ]
    assert [row['text'].startswith(words) for row, words in zip(rows, (of_teval, of_ultratool), strict=False)] == [
        True
    ] * 2
    done = run_opencompass(str(config), '-w', 'out', cwd=tmp_path)
    screen, log = done.stdout[done.stdout.index('MISSING') :], re.sub(r'\s+', ' ', done.stdout + done.stderr)
    (run,) = tmp_path.glob('out/*')
    assert done.returncode == 1 and [file.stem for file in run.glob('results/*/*')] == [
        'tooleval-ultratool-tool_usage_zh'
    ]
    for shown in (screen, tooleval('status', run).out):
        told = re.findall(r'why:  (.*?)\.?\n  fix: (.*)\n', shown)
        assert told == [(row['text'], row['fix']) for row in rows], shown
    assert all(f'FAULT {row["about"]}: {row["text"]}. Fix it with: {row["fix"]}' in log for row in rows)
