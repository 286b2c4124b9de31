"""``opencompass -a vllm`` and ``-a lmdeploy``, and concurrent inference: what the engine receives, or why not.

LMDeploy cannot be installed here. ``engine_stand_ins`` has what OpenCompass imports of it, with its signatures; the
wrapper is the real one.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config
from opencompass.utils.run import change_accelerator

from opencompass_tooleval.models.accelerator import template_faults
from tests.conftest import ROOT
from tests.forked import run_opencompass

STAND_INS = ROOT / 'tests' / 'models' / 'engine_stand_ins'

CONFIG = """
from mmengine.config import read_base
from opencompass.models import HuggingFacewithChatTemplate
from opencompass_tooleval.models import ToolEvalHFChat

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import tooleval_ultratool_en_datasets
    from opencompass_tooleval.configs.summarizers.tooleval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [row for row in tooleval_ultratool_en_datasets if row['name'] in ('tool_usage', 'tool_selection')]
datasets[0]['infer_cfg']['inferencer']['temperature'] = 0.7
datasets[0]['n'] = 3
models = [dict(type=HuggingFacewithChatTemplate, abbr='tiny-hf', path='PATH', max_seq_len=16384, max_out_len=64,
               batch_size=64, run_cfg=dict(num_gpus=0))]
"""


def config(folder: Path, tiny_model: Path, more: str = '') -> Path:
    file = folder / 'sweep.py'
    file.write_text((CONFIG + more).replace('PATH', str(tiny_model)), encoding='utf-8')
    return file


def test_a_data_sets_temperature_the_prices_and_the_budget_count(tiny_model: Path, tmp_path: Path) -> None:
    """OpenCompass's default for ``-a lmdeploy`` is ``top_k=1, temperature=1e-6``; it is nobody's word."""
    prices = 'models[0].update(prices=dict(input=1.0, output=2.0), budget=dict(tokens=10**7))\n'
    file, recorded = config(tmp_path, tiny_model, prices), tmp_path / 'recorded'
    (tmp_path / 'lmdeploy').symlink_to(STAND_INS / 'lmdeploy')
    env = {**os.environ, 'RECORDED': str(recorded), 'PYTHONPATH': f'{STAND_INS}:{ROOT}', 'CUDA_VISIBLE_DEVICES': ''}
    done = run_opencompass(file, '-a', 'lmdeploy', '-w', tmp_path / 'out', cwd=tmp_path, env=env)
    output = done.stdout + ''.join(
        log.read_text(errors='replace') for log in tmp_path.glob('out/*/logs/infer/**/*.out')
    )
    assert done.returncode == 0 and recorded.exists(), output + done.stderr
    assert 'may all be the same' not in output
    received = [json.loads(line) for line in recorded.read_text().splitlines()]
    sampled = [row for row in received if row['do_sample']]
    assert {(row['temperature'], row['top_k']) for row in sampled} == {(0.7, 50)}  # the engine's own default
    assert {row['top_k'] for row in received if not row['do_sample']} == {1}, 'greedy by default'
    contents = [json.loads(result.read_text()) for result in (tmp_path / 'out').rglob('results/*/*.json')]
    counts = [content['samples']['all'] for content in contents]
    repeated = sum(row['prompts'] for row in sampled)
    assert len(counts) == 2 and repeated in counts and repeated % 3 == 0
    assert sum(row['prompts'] for row in received) == sum(counts) and all(one['usage']['cost'] for one in contents)
    (ledger,) = (tmp_path / 'out').rglob('budgets/*.tokens.json')
    used = sum(content['usage'][part]['total'] for content in contents for part in ('prompt', 'completion'))
    assert json.loads(ledger.read_bytes())['spent'] == used


def refused(file: Path, *more: str) -> str:
    """What a run says that ends at once."""
    done = run_opencompass(file, *more, '-w', file.parent / 'out', cwd=file.parent)
    assert done.returncode == 1 and 'Traceback' not in done.stderr and not list(file.parent.rglob('predictions'))
    return done.stderr


def test_settings_that_contradict_each_other_and_models_that_are_not_replaced_end_the_run(
    tiny_model: Path, tmp_path: Path
) -> None:
    settings = {
        'do_sample=True, temperature=0.4': 'temperature 0.4',
        'top_k=1': 'top_k=1, which is temperature 0',
        'do_sample=False': 'do_sample=False, which is temperature 0',
    }
    models = [f"dict(models[0], abbr='m{place}', generation_kwargs=dict({it}))" for place, it in enumerate(settings)]
    models.append("dict(models[0], abbr='ours', type=ToolEvalHFChat)")
    said = refused(config(tmp_path, tiny_model, f'models = [{", ".join(models)}]\n'), '-a', 'lmdeploy')
    assert 'tooleval: ours: opencompass -a lmdeploy does not replace ToolEvalHFChat' in said
    for place, words in enumerate(settings.values()):
        fault = f"the model's config sets {words}, the data set 0.7: remove one of them"
        assert f'tooleval: m{place}-lmdeploy: {fault}' in said


@pytest.mark.parametrize(
    ('engine', 'kind'), [('vllm', 'VLLMwithChatTemplate'), ('lmdeploy', 'TurboMindModelwithChatTemplate')]
)
def test_the_shipped_config_is_accelerated(engine: str, kind: str) -> None:
    file = ROOT / 'opencompass_tooleval' / 'configs' / 'models' / 'tooleval_hf_qwen2_5_7b_instruct.py'
    (model,) = change_accelerator(Config.fromfile(file, format_python_code=False)['models'], engine)
    assert model['type'].endswith(kind) and model['abbr'] == f'qwen2.5-7b-instruct-{engine}'


def test_opencompass_s_concurrent_task_ends_the_run_at_once(tiny_model: Path, tmp_path: Path) -> None:
    task = "dict(type='opencompass.tasks.openicl_infer_concurrent.OpenICLInferConcurrentTask')"
    runner = f"dict(type='opencompass.runners.LocalRunner', max_num_workers=1, task={task})"
    said = refused(config(tmp_path, tiny_model, f"infer['runner'] = {runner}\n"))
    assert "OpenCompass's OpenICLInferConcurrentTask refuses the inferencers of this package: set" in said


def test_a_local_chat_model_without_a_template_ends_the_run_and_names_the_settings(tmp_path: Path) -> None:
    """Both settings were run by hand: a base model, and a template of one's own."""
    (tmp_path / 'tokenizer_config.json').write_text('{}')
    model: dict[str, Any] = {
        'type': 'opencompass.models.HuggingFacewithChatTemplate',
        'abbr': 'm',
        'path': str(tmp_path),
    }
    (fault,) = template_faults({'models': [model]})
    assert fault.is_fault and "m: its tokenizer has no chat template: for a base model set type='opencompass" in str(
        fault
    )
    for more in (
        {'type': 'opencompass.models.HuggingFaceBaseModel'},
        {'tokenizer_kwargs': {'chat_template': '{{ messages }}'}},
        {'fastchat_template': 'vicuna'},
        {'path': 'organisation/name'},
    ):
        assert not list(template_faults({'models': [{**model, **more}]})), more
    (tmp_path / 'chat_template.jinja').write_text('{{ messages }}')
    assert not list(template_faults({'models': [model]}))


def test_a_tokenizer_s_settings_may_be_anything(tmp_path: Path) -> None:
    file = tmp_path / 'tokenizer_config.json'
    model = {'type': 'opencompass.models.HuggingFacewithChatTemplate', 'abbr': 'm', 'path': str(tmp_path)}
    for content in ('[]', '3', '{', '[' * 100_000):
        file.write_text(content)
        assert not list(template_faults({'models': [model]})), content[:9]
    file.unlink()
    os.mkfifo(file)
    assert not list(template_faults({'models': [model]}))
