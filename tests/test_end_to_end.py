"""The whole ``opencompass`` command, started in folders outside this repository.

The run with faults has OpenCompass's own runner and tasks.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.teval.data import TABLE
from opencompass_tooleval.catalogue.metrics import main_first
from tests.conftest import ROOT, ModelServer
from tests.forked import run_opencompass, run_tooleval

DEMO = ROOT / 'opencompass_tooleval' / 'demo' / 'teval'
BIN = Path(sys.executable).parent
SETTINGS = ('COMPASS_DATA_CACHE', 'TOOLEVAL_ENCODER', 'TOOLEVAL_CACHE', 'HF_HOME', 'HF_HUB_CACHE', 'PYTHONPATH')

FAULTY = """
from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import tooleval_teval_en_v2_datasets
    from opencompass_tooleval.configs.summarizers.tooleval_teval import summarizer

by_name = {row['name']: row for row in tooleval_teval_en_v2_datasets}
datasets = [by_name[name] for name in ('review_str_v2', 'plan_str_v2', 'retrieve_str_v2')]
datasets[2]['path'] = 'data/nowhere'
models = [dict(type=ToolEvalOpenAI, abbr='api', path='tiny', key='right', openai_api_base='URL', temperature=0, retry=1,
               backoff=0.01, max_workers=4, query_per_second=1000, max_out_len=12, max_seq_len=8192,
               run_cfg=dict(num_gpus=0))]
infer = dict(
    partitioner=dict(type=NaivePartitioner, n=1),
    runner=dict(type=LocalRunner, max_num_workers=1, task=dict(type=OpenICLInferTask)),
)
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=3),
    runner=dict(type=LocalRunner, max_num_workers=1, task=dict(type=OpenICLEvalTask)),
)
"""


@dataclass
class Run:
    """A run in a folder: its exit status, and what it printed."""

    cwd: Path
    status: int
    said: str

    @property
    def folder(self) -> Path:
        """The folder of the experiment, of which there must be exactly one."""
        (folder,) = (self.cwd / 'out').glob('[0-9]*_[0-9]*')  # beside a report
        return folder

    def predictions(self, model: str, stem: str) -> list[dict[str, Any]]:
        file = self.folder / 'predictions' / model / f'tooleval-teval-{stem}.json'
        rows: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding='utf-8'))
        assert list(rows) == [str(index) for index in range(len(rows))]
        return list(rows.values())

    def result(self, model: str, stem: str) -> dict[str, Any]:
        file = self.folder / 'results' / model / f'tooleval-teval-{stem}.json'
        result: dict[str, Any] = json.loads(file.read_text(encoding='utf-8'))
        return result

    def table(self, model: str) -> dict[tuple[str, str], str]:
        """One model's column of the newest CSV: data set and metric -> what is printed there."""
        newest = max((self.folder / 'summary').glob('summary_*[0-9].csv'))  # not the one of variants side by side
        with newest.open(encoding='utf-8') as stream:
            return {(row['dataset'], row['metric']): row[model] for row in csv.DictReader(stream)}

    def missing(self) -> list[str]:
        return [line for line in self.said.splitlines() if line.startswith('MISSING')]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """One with a home that holds neither data nor encoders."""
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    return {**kept, 'HOME': str(folder.parent), **more}


@pytest.fixture(scope='module')
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """``tooleval demo``: the demo config as it is shipped, and its report."""
    cwd = tmp_path_factory.mktemp('elsewhere') / 'demo'
    cwd.mkdir()
    done = run_tooleval('demo', '-w', 'out', cwd=cwd, env=environment(cwd))
    return Run(cwd, done.returncode, done.stdout + done.stderr)


def record_ids(file: Path) -> list[str]:
    return list(json.loads(file.read_text(encoding='utf-8')))


TABLES = {'EN': 'tooleval-teval_v2', 'ZH': 'tooleval-teval_v2_zh'}


def test_demo_config_ranks_the_oracles(demo_run: Run) -> None:
    assert demo_run.status == 0, demo_run.said[-3000:]
    assert not demo_run.missing()
    assert (demo_run.cwd / 'out' / 'report' / 'index.html').is_file()
    assert max(map(len, demo_run.said.splitlines())) < 1_000  # a terminal shows it
    (shown,) = re.findall(r'^```text\n(.*?)^```', (ROOT / 'README.md').read_text(encoding='utf-8'), re.M | re.S)
    lines = [line for line in shown.splitlines() if line != '...' and 'report:' not in line]
    assert len(lines) >= 6 and set(lines) <= set(demo_run.said.splitlines())
    oracle, noisy = demo_run.table('oracle'), demo_run.table('oracle-noise-0.3')
    for table in TABLES.values():
        assert oracle[table, 'overall'] == '100.00'
        assert 0 < float(noisy[table, 'overall']) < 99
        shown = [metric for dataset, metric in oracle if dataset == table]
        assert len(shown) == 17
        assert shown[:7] == ['overall', 'instruct', 'plan', 'reason', 'retrieve', 'understand', 'review']
    assert all(value == '100.00' for (dataset, _), value in oracle.items() if dataset in TABLES.values())
    ultratool = {f'tooleval-ultratool_{language}' for language in ('zh', 'en')}
    instructed = {'tooleval-teval_v2-easytool', 'tooleval-ultratool_zh-easytool'}
    assert oracle['tooleval-teval_v2-easytool', 'overall'] == '100.00'
    assert 'Documentation against instructions' not in demo_run.said and '_easytool.txt' in demo_run.said
    (beside,) = demo_run.folder.glob('summary/summary_*_fc.csv')
    with beside.open(encoding='utf-8') as stream:
        paired = {row['dataset'] for row in csv.DictReader(stream)}
    assert paired > {'tooleval-restbench-tmdb', 'tooleval-toolbench-calls_g2', 'tooleval-teval-instruct_v2'}
    restbench = {
        f'tooleval-restbench-{name}{variant}' for name in ('tmdb', 'spotify') for variant in ('', '-fc', '-easytool')
    }
    funcqa = {f'tooleval-funcqa-{method}' for method in ('zero_shot', 'cot', 'react-fc', 'easytool')}
    toolbench = {
        f'tooleval-toolbench-{name}{variant}'
        for name in ('selection_5', 'calls_g2', 'calls_g3')
        for variant in ('', '-fc', '-easytool')
        if (name, variant) != ('selection_5', '-fc')
    }
    called = {f'tooleval-teval-{name}_v2-fc' for name in ('instruct', 'reason_retrieve_understand_json')}
    subsets = ('teval', 'toolbench_g1', 'toolbench_g2', 'toolbench_g3', 'ultratool_zh', 'ultratool_en')
    loops = ('react', 'react-easytool', 'dfsdt', 'easytool')
    agents = {f'tooleval-{name}-agent-fc' for name in subsets} | {f'tooleval-toolbench_g2-agent-{it}' for it in loops}
    assert {dataset for dataset, _ in oracle} == {  # no empty rows of v1 or of the subset
        *TABLES.values(),
        *ultratool,
        *restbench,
        *instructed,
        *funcqa,
        *toolbench,
        *called,
        *agents,
        'tooleval-toolbench-agent-fc',
        'tooleval-toolbench-success',
    }
    for dataset in agents:
        assert (oracle[dataset, 'finish_rate'], oracle[dataset, 'call_recall']) == ('100.00', '100.00')
    assert oracle['tooleval-toolbench_g1-agent-fc', 'solved_rate'] == '50.00'  # the replayed judge says so
    assert float(noisy['tooleval-teval-agent-fc', 'arguments']) < 100
    for dataset in funcqa:
        for column in ('one_hop', 'one_hop_strict', 'multi_hop', 'multi_hop_strict'):
            assert oracle[dataset, column] == '100.00'
    for dataset in toolbench:
        full = 'accuracy' if 'selection' in dataset else 'error_free_rate'
        assert (oracle[dataset, full], oracle[dataset, 'tool_name_error_rate']) == ('100.00', '0.00')
    for dataset in restbench:
        assert oracle[dataset, 'correct_path_rate'] == '100.00'
        assert oracle[dataset, 'tool_name_error_rate'] == '0.00'
    for table in ultratool:
        columns = {metric: float(value) for (dataset, metric), value in oracle.items() if dataset == table}
        judged = {metric: columns.pop(metric) for metric in ('planning', 'creation')}
        overall = columns.pop('overall')
        assert len(columns) == 7
        assert set(columns.values()) == {100.0}
        assert all(60 <= value <= 90 for value in judged.values())  # the replayed judge says 6 to 9
        assert overall == pytest.approx((700 + sum(judged.values())) / 9, abs=0.01)
        assert float(noisy[table, 'overall']) < overall


def test_demo_details_are_one_per_sample_in_order(demo_run: Run) -> None:
    for language, suffix in (('EN', ''), ('ZH', '_zh')):
        for subset in TABLE:
            stem = f'{subset.name}_v2{suffix}'
            ids = record_ids(DEMO / language / f'{stem}.json')
            for model in ('oracle', 'oracle-noise-0.3'):
                result = demo_run.result(model, stem)
                assert [detail['id'] for detail in result['details']] == ids
                assert [row['record_id'] for row in demo_run.predictions(model, stem)] == ids
                assert result['samples'] == {'all': len(ids), 'infra': 0}
                assert sum(result['reasons'].values()) == len(ids)
                assert list(result)[: len(subset.metrics)] == main_first(subset.metrics)
            metrics = demo_run.result('oracle', stem)
            assert all(metrics[metric] == pytest.approx(100, abs=0.001) for metric in subset.metrics)


@pytest.mark.long
def test_without_a_config_file(tiny_model: Path, tmp_path: Path) -> None:
    """Two workers, which split a data set of more than 16 records, and data where ``COMPASS_DATA_CACHE`` points."""
    shutil.copytree(DEMO / 'EN', tmp_path / 'cache' / 'data' / 'teval' / 'EN')
    cwd = tmp_path / 'work'
    cwd.mkdir()
    told = subprocess.run([BIN / 'tooleval', 'config-dir'], capture_output=True, text=True, check=True, cwd=cwd)
    datasets = '--datasets tooleval_teval_gen/tooleval_teval_en_v2_datasets'
    arguments = f'{datasets} --summarizer tooleval_teval --hf-num-gpus 0 --max-num-workers 2 --batch-size 8'.split()
    model = ('--hf-path', tiny_model, '--max-out-len', '12', '-w', 'out')
    env = environment(cwd, COMPASS_DATA_CACHE=str(tmp_path / 'cache'), TOOLEVAL_ENCODER='offline')
    done = run_opencompass('--config-dir', told.stdout.strip(), *arguments, *model, cwd=cwd, env=env)
    run, name = Run(cwd, done.returncode, done.stdout + done.stderr), f'{tiny_model.name}_hf'
    assert run.status == 0, run.said[-3000:]
    for subset in TABLE:
        stem = f'{subset.name}_v2'
        result = run.result(name, stem)
        assert [detail['id'] for detail in result['details']] == record_ids(DEMO / 'EN' / f'{stem}.json')
        assert result['samples']['infra'] == 0
        if subset.encoder and 'v2' in subset.encoder:
            assert result['provenance']['encoder'].startswith('offline')
    table = run.table(name)
    assert len(table) == 17
    assert 0 <= float(table['tooleval-teval_v2', 'overall']) < 50
    assert 'not comparable with published scores: another sentence encoder: offline' in run.said
    parts = [run.predictions(name, f'instruct_v2_{part}') for part in (0, 1)]
    assert [row['record_id'] for part in parts for row in part] == record_ids(DEMO / 'EN' / 'instruct_v2.json')


def test_lasting_faults_fail_the_run_name_what_is_missing_and_leave_the_other_tables(
    canned_server: ModelServer, tmp_path: Path
) -> None:
    """One data set in order, one with an error of the server's for one prompt, and one whose file is missing."""
    canned_server.reset('500@~window seat')
    cwd = tmp_path / 'work'
    cwd.mkdir()
    (cwd / 'mine.py').write_text(FAULTY.replace('URL', canned_server.url), encoding='utf-8')
    env = environment(cwd, TOOLEVAL_ENCODER='offline')
    done = run_opencompass('mine.py', '-w', 'out', cwd=cwd, env=env)
    run = Run(cwd, done.returncode, done.stdout + done.stderr)
    assert run.status == 1
    logs = {}
    for line in run.missing():
        about, _, log = line.partition(': no result; see ')
        logs[about] = (cwd / log).read_text(encoding='utf-8')
    plan, retrieve = (f'MISSING api x tooleval-teval-{name}_str_v2' for name in ('plan', 'retrieve'))
    assert set(logs) == {plan, retrieve}
    assert 'data/nowhere' in logs[retrieve] and 'tooleval prepare teval' in logs[retrieve]
    assert 'InfraFailureError' in logs[plan]
    assert '1 of 4 samples have no answer' in logs[plan] and '(infra:server 1)' in logs[plan]
    assert canned_server.stats()['requests'] == 6 + 4 + 1  # review, plan, and the one more try
    assert not list(run.folder.glob('predictions/*/*plan_str_v2.json'))
    assert list(run.folder.glob('predictions/*/*plan_str_v2.answers/*.jsonl'))
    result = run.result('api', 'review_str_v2')
    assert [detail['id'] for detail in result['details']] == record_ids(DEMO / 'EN' / 'review_str_v2.json')
    assert result['review_quality'] == pytest.approx(100 * 2 / 6)  # A is right in two of six
    assert run.table('api')['tooleval-teval_v2', 'review'] == '33.33'
    assert list((run.folder / 'summary').glob('summary_*_notes.txt'))
