"""A run that needs more GPUs than exist ends before any request, with an error in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opencompass_tooleval.models.gpus import lacking_gpus, visible_gpus
from tests.conftest import ROOT
from tests.forked import run_opencompass

CONFIGS = ROOT / 'opencompass_tooleval' / 'configs'
DEMO = ROOT / 'opencompass_tooleval' / 'demo'
DATASETS = ('--datasets', 'tooleval_teval_gen/tooleval_teval_en_v2_datasets')
HF = ('--config-dir', CONFIGS, *DATASETS, '--summarizer', 'tooleval_teval', '--hf-path', 'Qwen/Qwen2.5-7B-Instruct')


@pytest.mark.parametrize(('named', 'gpus'), [
    ('-1', []),
    ('0, 5,5', ['0', '5']),
    ('1,-1,2', ['1']),
    ('GPU-8932f937-d72c,1', ['GPU-8932f937-d72c', '1']),
    ('MIG-41b36874-0ab6,MIG-GPU-8932f937/1/0', ['MIG-41b36874-0ab6', 'MIG-GPU-8932f937/1/0']),
    ('0;rm', []),
])  # fmt: skip
def test_visible_gpus_and_the_model_that_needs_most(
    monkeypatch: pytest.MonkeyPatch, named: str, gpus: list[str]
) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', named)
    assert visible_gpus() == gpus
    assert lacking_gpus({'a': 0, 'b': len(gpus)}) == ''
    message = f'c (and 1 more models) needs 4 GPUs, {len(gpus)} visible; set num_gpus=0 in its run_cfg'
    assert lacking_gpus({'a': 0, 'b': 3, 'c': 4}).startswith(message)


@pytest.mark.parametrize(('arguments', 'model'), [
    pytest.param((CONFIGS / 'eval_leaderboard.py', '--debug'), 'qwen2.5-7b-instruct-hf', id='eval_leaderboard'),
    pytest.param((*HF, '-w', 'mine'), 'Qwen2.5-7B-Instruct_hf', id='hf-path and a work_dir'),
    pytest.param((*HF, '--dry-run'), '', id='dry run'),
])  # fmt: skip
def test_a_run_without_a_gpu_says_what_it_needs(tmp_path: Path, arguments: tuple[object, ...], model: str) -> None:
    (tmp_path / 'data').mkdir()
    (tmp_path / 'data' / 'teval').symlink_to(DEMO / 'teval')
    env = {**os.environ, 'CUDA_VISIBLE_DEVICES': '', 'HOME': str(tmp_path), 'TOOLEVAL_ENCODER': 'offline'}
    done = run_opencompass(*arguments, cwd=tmp_path, env=env)
    if '--dry-run' in arguments:
        assert done.returncode == 0, 'it needs none'
        return
    assert done.returncode == 1 and 'Traceback' not in done.stderr
    assert f'tooleval: {model} needs 1 GPU, 0 visible; set num_gpus=0 in its run_cfg' in done.stderr
    assert not list(tmp_path.rglob('predictions'))
