"""Tasks continue after a failing data set, in OpenCompass's worker processes, and fail at their end."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from mmengine.config import ConfigDict
from opencompass.utils import get_logger

from opencompass_tooleval.benchmarks.teval.data import load_samples
from opencompass_tooleval.benchmarks.teval.prompts import gold_answer
from opencompass_tooleval.models.conversation import ToolEvalConversationTemplate
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.report.provenance import runs_table
from opencompass_tooleval.results.table import read
from opencompass_tooleval.tasks import infer_task
from opencompass_tooleval.tasks.eval_task import ToolEvalEvalTask, to_json
from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask
from opencompass_tooleval.tasks.task_process import MODULE, as_module
from opencompass_tooleval.work_dir.lock import exclusive
from opencompass_tooleval.work_dir.names import sweep_lock
from tests.conftest import ROOT
from tests.forked import run_opencompass

MOST = 200
COUNTING = """
import json, os, sys
from opencompass_tooleval.models.fixed_models import ReplayModel

class Counting(ReplayModel):
    def answers(self, *arguments, **options):
        with open(f'{os.environ["COUNTED"]}/{os.getpid()}', 'a') as file:
            print(json.dumps([os.getppid(), sorted(sys.modules)]), file=file)
        return super().answers(*arguments, **options)
"""
CONFIG = """
from mmengine.config import read_base
from counting import Counting

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import tooleval_teval_en_v2_datasets
    from opencompass_tooleval.configs.summarizers.tooleval_teval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

by_abbr = {row['abbr']: row for row in tooleval_teval_en_v2_datasets}
datasets = [by_abbr[f'tooleval-teval-{name}_v2'] for name in ('review_str', 'retrieve_str', 'instruct')]
models = [dict(type=Counting, abbr=name, path='PATH/{dataset}.jsonl', batch_size=64, run_cfg=dict(num_gpus=0))
          for name in ('replay', 'second', 'third')]
"""


@pytest.fixture(scope='module')
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """review_str and instruct are answered; retrieve_str has no file of answers.

    All paths hold a blank: the working directory's, the model's and the interpreter's.
    """
    folder = tmp_path_factory.mktemp('my tasks')
    (folder / 'environment').symlink_to(sys.prefix)
    interpreter = folder / 'environment' / 'bin' / Path(sys.executable).name
    demo = ROOT / 'opencompass_tooleval' / 'demo' / 'teval' / 'EN'
    for subset in ('review_str', 'instruct'):
        samples = load_samples(demo / f'{subset}_v2.json', subset)
        rows = ({'id': sample.record.id, 'prediction': gold_answer(sample.record)} for sample in samples)
        (folder / f'{subset}_v2.jsonl').write_text(''.join(json.dumps(row) + '\n' for row in rows))
    (folder / 'sweep.py').write_text(CONFIG.replace('PATH', str(folder)))
    (folder / 'counting.py').write_text(COUNTING)
    (folder / 'counted').mkdir()
    command = [str(interpreter), '-m', 'opencompass.cli.main', 'sweep.py', '-w', 'out']
    environment = {**os.environ, 'PYTHONPATH': f'{ROOT}:{folder}', 'COUNTED': str(folder / 'counted')}
    environment['PYTHONPROFILEIMPORTTIME'] = '1'  # each process reports what it imports
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True), folder


def test_what_can_be_done_is_done(run: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    done, folder = run
    results = {file.stem: json.loads(file.read_text()) for file in folder.glob('out/*/results/replay/*.json')}
    assert set(results) == {'tooleval-teval-review_str_v2', 'tooleval-teval-instruct_v2'}, done.stderr
    assert results['tooleval-teval-review_str_v2']['review_quality'] == 100.0
    assert results['tooleval-teval-instruct_v2']['string_args_em_metric'] == 100.0
    for row in runs_table(read([*folder.glob('out/*')])).rows:
        assert all(float(seconds) > 0 for seconds in row[2:]), 'logs say how long inference and scoring took'


def test_a_sweep_imports_opencompass_once(run: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    """In the command, in what forks the tasks, and in the tasks of both stages."""
    done, folder = run
    logs = list(folder.glob('out/*/logs/*/*/*.out'))
    assert len(logs) == 6
    imported = '\n'.join([done.stderr, *(log.read_text() for log in logs)])
    for module in ('torch', 'transformers', 'opencompass.datasets'):
        assert len(re.findall(rf'import time: .*\| +{re.escape(module)}$', imported, re.MULTILINE)) == 1, module


def test_a_task_of_teval_loads_few_modules_and_no_extra(run: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    tasks = [json.loads(file.read_text().splitlines()[0]) for file in (run[1] / 'counted').iterdir()]
    assert len(tasks) == 3 and len({server for server, _ in tasks}) == 1, 'forks of one process'
    for _, modules in tasks:
        loaded = [name for name in modules if name.startswith('opencompass_tooleval')]
        assert len(loaded) <= MOST
        assert not [name for name in loaded if '.extras' in name]
    assert any({'sentence_transformers', 'jsonschema'} <= set(modules) for _, modules in tasks), 'for later tasks'


@pytest.mark.parametrize('task', [ToolEvalInferTask, ToolEvalEvalTask])
def test_a_task_is_named_by_its_model_and_how_many_data_sets(task: Any) -> None:
    def name(*counts: int) -> str:
        datasets = [[{'abbr': f'data-{number}'} for number in range(count)] for count in counts]
        models = [{'abbr': f'model-{number}', 'run_cfg': {}} for number in range(len(counts))]
        return str(task(ConfigDict(models=models, datasets=datasets, work_dir='out')).name)

    assert name(1) == f'{task.name_prefix}[model-0/data-0]'
    assert name(73) == f'{task.name_prefix}[model-0: 73 data sets]'
    assert name(2, 3) == f'{task.name_prefix}[model-0: 2 data sets, model-1: 3 data sets]'


def test_what_failed_is_said(run: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    done, folder = run
    assert done.returncode == 1
    assert 'MISSING replay x tooleval-teval-retrieve_str_v2: no result; see ' in done.stdout
    assert done.stdout.count('MISSING') == 3
    (log,) = folder.glob('out/*/logs/infer/replay/*.out')
    text = log.read_text()
    assert 'TaskFailedError: 1 data sets failed' in text
    assert 'FAILED tooleval-teval-retrieve_str_v2: DataError' in text
    (log,) = folder.glob('out/*/logs/eval/replay/*.out')
    assert 'FileNotFoundError: there are no predictions: neither ' in log.read_text()


AT_EXIT = re.compile(
    r'Exception ignored in atexit callback: <bound method finalize\._exitfunc of .*\nTraceback .*\n'
    r'(?:  File "[^"]*/weakref\.py", .*\n(?:    .*\n)+)+RuntimeError: dictionary changed size during iteration\n'
)
"""A fault of Python 3.11: garbage that is collected while it looks for its own finalizers."""


def test_a_second_sweep_is_refused(run: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    _, folder = run
    (work_dir,) = folder.glob('out/*')
    with exclusive(sweep_lock(work_dir)):
        done = run_opencompass('sweep.py', '-w', 'out', '-r', cwd=folder)
    assert done.returncode != 0
    (line,) = [line for line in done.stderr.splitlines() if 'locked' in line]
    assert f'.sweep.lock is locked by process {os.getpid()} on ' in line
    errors = AT_EXIT.sub('', done.stderr)
    assert 'Traceback' not in errors and not [line for line in done.stdout.splitlines() if 'MISSING' in line]


def test_predictions_of_other_prompts_are_refused() -> None:
    texts = [json.dumps([{'role': 'system', 'content': f'tools {i}'}]) for i in range(2)]
    rows = [
        {'record_id': f'r{i}', 'prompt_digest': ToolEvalConversationTemplate().asked(text)}
        for i, text in enumerate(texts)
    ]
    task = object.__new__(ToolEvalEvalTask)
    task.dataset_cfg = {'infer_cfg': {'prompt_template': {'type': ToolEvalConversationTemplate}}}
    data = Dataset.from_list([{'messages': text} for text in texts])
    assert task._check_asked(data, rows)
    assert not task._check_asked(data, [rows[0], {'record_id': 'r1'}])
    assert not task._check_asked(data, [{'record_id': 'r0'}, {'record_id': 'r1'}])
    with pytest.raises(ValueError, match=r'2 predictions answer other prompts .* \(r1, r0\)'):
        task._check_asked(data, [rows[1], rows[0]])
    task.dataset_cfg['infer_cfg']['prompt_template']['system_role'] = 'user'
    with pytest.raises(ValueError, match='2 predictions answer other prompts'):
        task._check_asked(data, rows)


@pytest.mark.parametrize('stage', ['infer', 'eval'])
@pytest.mark.parametrize(('gpus', 'launcher'), [(1, []), (2, ['-m', 'torch.distributed.run'])])
def test_a_command_is_quoted_once(
    stage: str, gpus: int, launcher: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind: Any = ToolEvalInferTask if stage == 'infer' else ToolEvalEvalTask
    task = object.__new__(kind)
    task.work_dir, task.num_gpus, task.num_procs, task.model_cfgs = str(tmp_path), gpus, gpus, [{}]
    task.cfg = {'models': [], 'datasets': []}
    monkeypatch.setattr(sys, 'executable', '/my python/bin/python3')
    for path in ('/a b/it\'s "$HOME".py', '/plain.py'):
        for given in (path, shlex.quote(path)):
            words = shlex.split(task.get_command(given, 'GPUS=0 {task_cmd}'))
            assert words[: 2 + len(launcher)] == ['GPUS=0', '/my python/bin/python3', *launcher]
            assert words[-5:] == ['-m', MODULE, stage, path, str(os.getpid())]
    with pytest.raises(ValueError, match='is not in the command'):
        as_module('python b.py cfg', 'a.py', 'eval')


def test_a_result_is_written_line_by_line_and_reads_back() -> None:
    details = [{'id': 'a\nb'}, {'id': '二'}]
    result = {'f1': np.float64(50.5), '准确率': None, 'reasons': {'ok': 1}, 'details': details, 'runs': []}
    text = to_json(result)
    assert json.loads(text) == result and '准确率' in text
    assert '{"id": "a\\nb"},\n{"id": "二"}\n' in text


def test_trials_that_cannot_differ_are_told_before_inference(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(get_logger(), 'warning', warnings.append)
    server: dict[str, Any] = dict(path='m', key='none', openai_api_base='http://127.0.0.1:9/v1')
    cold, warm = ToolEvalOpenAI(**server), ToolEvalOpenAI(**server, temperature=0.7)
    for model in (cold, warm):
        for trials in (1, 3):
            dataset = {'abbr': f'd{trials}', 'n': trials, 'infer_cfg': {'inferencer': {'max_out_len': 8}}}
            infer_task.warn_of_same_answers(model, dataset)
    infer_task.warn_of_same_answers(cold, {'abbr': 'old', 'infer_cfg': {'inferencer': {}}})
    assert warnings == [
        'd3: n=3 asks for every record 3 times, and the answers may all be the same: it samples at temperature 0. '
        "Set a temperature above 0 in the model's config, or leave out n"
    ]
