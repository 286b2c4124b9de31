"""The whole ``opencompass`` command, started in folders outside this repository.

The runs without a config file, of the wrappers and with faults have OpenCompass's own runner and tasks.
The demo, and the inference without a config file, are programs that import for themselves. All runs that the
selected tests need are started together, two at a time, and each test waits for its own.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.teval.records import TABLE
from opencompass_tooleval.catalogue.metrics import main_first
from tests.conftest import ROOT, ModelServer, start_server, start_tiny_server
from tests.forked import Fork, start_opencompass

DEMO = ROOT / 'opencompass_tooleval' / 'demo' / 'teval'
BIN = Path(sys.executable).parent
SETTINGS = ('COMPASS_DATA_CACHE', 'TOOLEVAL_ENCODER', 'TOOLEVAL_CACHE', 'HF_HOME', 'HF_HUB_CACHE', 'PYTHONPATH')
PATIENCE = 1500

HEAD = """
from mmengine.config import read_base
from opencompass.models import HuggingFacewithChatTemplate
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.models.fixed_models import OracleModel

with read_base():
    from opencompass_tooleval.configs.datasets.teval.tooleval_teval_v1_gen import tooleval_teval_en_v1_datasets
    from opencompass_tooleval.configs.datasets.teval.tooleval_teval_gen import tooleval_teval_en_v2_datasets
    from opencompass_tooleval.configs.summarizers.tooleval_teval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

by_name = {d['name']: d for d in [*tooleval_teval_en_v1_datasets, *tooleval_teval_en_v2_datasets]}
tiny = dict(max_out_len=12, max_seq_len=8192, run_cfg=dict(num_gpus=0))
api = dict(type=ToolEvalOpenAI, abbr='api', path='tiny', key='none', temperature=0, backoff=0.01, retry=1,
           max_workers=4, query_per_second=1000, **tiny)
"""
TAIL = """
for _d in datasets:
    _d['path'] = DATA_PATHS.get(_d['name'], DATA)
    _d['reader_cfg'] = dict(input_columns=['messages'], output_column='record', test_range=TEST_RANGE)
"""
BUILT_IN = """
infer = dict(
    partitioner=dict(type=NaivePartitioner, n=PER_TASK),
    runner=dict(type=LocalRunner, max_num_workers=1, task=dict(type=OpenICLInferTask)),
)
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=len(datasets)),
    runner=dict(type=LocalRunner, max_num_workers=1, task=dict(type=OpenICLEvalTask)),
)
"""


def config(
    models: str,
    stems: tuple[str, ...],
    data: str = 'tooleval:demo/teval/EN',
    data_paths: dict[str, str] | None = None,
    test_range: str = '',
    built_in: int = 0,
) -> str:
    """The text of a config: ``models`` is Python, ``stems`` names data sets.

    ``built_in`` asks for OpenCompass's runner and tasks, that many data sets in each of inference.
    """
    constants = f'DATA, DATA_PATHS, TEST_RANGE, PER_TASK = {data!r}, {data_paths or {}!r}, {test_range!r}, {built_in}\n'
    text = f'{HEAD}models = {models}\ndatasets = [by_name[n] for n in {list(stems)!r}]\n{constants}{TAIL}'
    return text + BUILT_IN if built_in else text


@dataclass
class Run:
    """One or more calls of ``opencompass`` from one folder, outside this repository."""

    cwd: Path
    environment: dict[str, str]
    status: int | None = None
    server: ModelServer | None = None
    program: str = ''

    def start(self, *arguments: str | Path) -> subprocess.Popen[bytes] | Fork:
        """Starts the command; what it says goes to a file."""
        environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
        environment |= {'HOME': str(self.cwd.parent), 'TOKENIZERS_PARALLELISM': 'false', **self.environment}
        if not self.program:
            return start_opencompass(*arguments, cwd=self.cwd, env=environment, output=self.cwd / 'said.txt')
        with (self.cwd / 'said.txt').open('ab') as said:
            return subprocess.Popen(
                [str(BIN / self.program), *map(str, arguments)],
                cwd=self.cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )

    def go(self, *arguments: str | Path) -> Run:
        process = self.start(*arguments)
        try:
            self.status = process.wait(PATIENCE)
        finally:
            process.kill()  # does nothing to one that has ended
        return self

    def go_config(self, text: str, *arguments: str) -> Run:
        (self.cwd / 'my_config.py').write_text(text, encoding='utf-8')
        return self.go('my_config.py', '-w', 'out', *arguments)

    @property
    def said(self) -> str:
        return (self.cwd / 'said.txt').read_text(encoding='utf-8', errors='replace')

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

    def log(self, model: str, stem: str) -> Path:
        return self.folder / 'logs' / 'infer' / model / f'tooleval-teval-{stem}.out'

    def missing(self) -> list[str]:
        return [line for line in self.said.splitlines() if line.startswith('MISSING')]


@dataclass
class Bench:
    """What the runs share."""

    folder: Path
    tiny_model: Path

    def new(self, name: str, server: ModelServer | None = None, **environment: str) -> Run:
        """A run in a fresh folder, with a home that holds neither data nor encoders."""
        cwd = self.folder / name
        cwd.mkdir()
        return Run(cwd, environment, server=server)


# --- the runs -------------------------------------------------------------------------------------------------------


def run_demo(bench: Bench) -> Run:
    """``tooleval demo``: the demo config as it is shipped, and its report."""
    run = bench.new('demo')
    run.program = 'tooleval'
    return run.go('demo', '-w', 'out')


WRAPPER_STEMS = ('instruct_v2', 'review_str_v2', 'retrieve_str_v2')
WRAPPER_RANGE = '[:12]'


def run_wrappers(bench: Bench) -> Run:
    """The tiny model in this process at two batch sizes, and behind a server."""
    server = start_tiny_server(bench.tiny_model)
    chat = f'dict(type=HuggingFacewithChatTemplate, path={str(bench.tiny_model)!r}, **tiny, '
    models = (
        f"[{chat} abbr='batch-1', batch_size=1), {chat} abbr='batch-8', batch_size=8),"
        f' dict(api, openai_api_base={server.url!r})]'
    )
    try:
        return bench.new('wrappers').go_config(config(models, WRAPPER_STEMS, test_range=WRAPPER_RANGE, built_in=99))
    finally:
        server.stop()


def run_command_line(bench: Bench) -> Run:
    """No config file at all, two workers, and data where ``COMPASS_DATA_CACHE`` points."""
    cache = bench.folder / 'data_cache'
    shutil.copytree(DEMO / 'EN', cache / 'data' / 'teval' / 'EN')
    told = subprocess.run([BIN / 'tooleval', 'config-dir'], capture_output=True, text=True, check=True, cwd=cache)
    run = bench.new('command_line', COMPASS_DATA_CACHE=str(cache), TOOLEVAL_ENCODER='offline')
    run.program = 'opencompass'
    datasets = '--datasets tooleval_teval_gen/tooleval_teval_en_v2_datasets'
    arguments = f'{datasets} --summarizer tooleval_teval --hf-num-gpus 0 --max-num-workers 2'
    model = ('--hf-path', bench.tiny_model, '--batch-size', '8', '--max-out-len', '12', '-w', 'out')
    command = ('--config-dir', told.stdout.strip(), *arguments.split(), *model)
    assert run.go(*command, '-m', 'infer').status == 0, run.said[-3000:]
    run.program = ''
    return run.go(*command, '-m', 'eval', '-r', '--debug')  # else a program, which imports, scores each data set


FAULTY_STEMS = ('review_str_v2', 'plan_str_v2', 'retrieve_str_v2')


def run_faulty(bench: Bench) -> Run:
    """One data set in order, one with an error of the server's for one prompt, and one whose file is missing."""
    server = start_server('--canned', 'Answer: A', '--fault', '500@~window seat')
    run = bench.new('faulty', server, TOOLEVAL_ENCODER='offline')
    paths = {'retrieve_str_v2': 'data/nowhere'}
    text = config(f'[dict(api, openai_api_base={server.url!r})]', FAULTY_STEMS, data_paths=paths, built_in=1)
    try:
        run.go_config(text)
        (run.cwd / 'story.json').write_text(json.dumps(server.stats()), encoding='utf-8')
        return run
    finally:
        server.stop()


def run_unprepared(bench: Bench, name: str, stem: str, **paths: str) -> Run:
    """A run with the default partitioner that lacks something."""
    server = start_server('--canned', 'Answer: A')
    run = bench.new(name, server)
    text = (
        config(f'[dict(api, openai_api_base={server.url!r})]', ('review_str_v2', stem), data_paths=paths)
        + '\ndel infer\n'
    )
    try:
        run.go_config(text)
        (run.cwd / 'story.json').write_text(json.dumps(server.stats()), encoding='utf-8')
        return run
    finally:
        server.stop()


def run_without_data(bench: Bench) -> Run:
    return run_unprepared(bench, 'without_data', 'retrieve_str_v2', retrieve_str_v2='data/nowhere')


def run_without_encoder(bench: Bench) -> Run:
    """The second data set needs the official encoder, which is not there."""
    return run_unprepared(bench, 'without_encoder', 'plan_str_v2')


RUNS: dict[str, Callable[[Bench], Run]] = {
    'command_line': run_command_line,
    'wrappers': run_wrappers,
    'demo': run_demo,
    'faulty': run_faulty,
    'without_data': run_without_data,
    'without_encoder': run_without_encoder,
}


@pytest.fixture(scope='module')
def jobs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tiny_model: Path
) -> Iterator[dict[str, Future[Run]]]:
    """Starts the runs that the selected tests ask for, two at a time."""
    wanted = {name for item in request.session.items for name in getattr(item, 'fixturenames', ())}
    bench = Bench(tmp_path_factory.mktemp('elsewhere'), tiny_model)
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = {name: pool.submit(function, bench) for name, function in RUNS.items() if f'{name}_run' in wanted}
        yield jobs
        for job in jobs.values():
            job.cancel()


def _fixture(name: str) -> Any:
    @pytest.fixture(scope='module', name=f'{name}_run')
    def wait(jobs: dict[str, Future[Run]]) -> Run:
        return jobs[name].result()

    return wait


wrappers_run, command_line_run, demo_run, faulty_run = map(_fixture, ('wrappers', 'command_line', 'demo', 'faulty'))
without_data_run, without_encoder_run = map(_fixture, ('without_data', 'without_encoder'))


def record_ids(file: Path) -> list[str]:
    return list(json.loads(file.read_text(encoding='utf-8')))


# --- the tests ------------------------------------------------------------------------------------------------------

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
def test_batch_sizes_and_the_server_are_asked_and_answer_the_same(wrappers_run: Run) -> None:
    """Greedy decoding in float32 of one model: at batch size 1, at 8 with padding on the left, and behind the server.

    Compared are the prompts, the raw predictions, all of them, and with them every score.
    """
    assert wrappers_run.status == 0, wrappers_run.said[-3000:]
    answers = set()
    for stem in WRAPPER_STEMS:
        ids = record_ids(DEMO / 'EN' / f'{stem}.json')[:12]
        one, eight, api = (wrappers_run.predictions(model, stem) for model in ('batch-1', 'batch-8', 'api'))
        assert [row['record_id'] for row in one] == ids
        for other in (eight, api):
            for name in ('origin_prompt', 'record_id', 'gold', 'prediction'):
                assert [row[name] for row in other] == [row[name] for row in one]
        assert all(row['prediction'] for row in one)
        answers |= {row['prediction'] for row in one}
        assert len({json.dumps(wrappers_run.result(m, stem)['details']) for m in ('batch-1', 'batch-8', 'api')}) == 1
    assert len(answers) > 18  # of 30: the model does not say the same to everything
    assert wrappers_run.table('batch-1') == wrappers_run.table('batch-8') == wrappers_run.table('api')


@pytest.mark.long
def test_without_a_config_file(command_line_run: Run, tiny_model: Path) -> None:
    run, model = command_line_run, f'{tiny_model.name}_hf'
    assert run.status == 0, run.said[-3000:]
    for subset in TABLE:
        stem = f'{subset.name}_v2'
        result = run.result(model, stem)
        assert [detail['id'] for detail in result['details']] == record_ids(DEMO / 'EN' / f'{stem}.json')
        assert result['samples']['infra'] == 0
        if subset.encoder and 'v2' in subset.encoder:
            assert result['provenance']['encoder'].startswith('offline')
    table = run.table(model)
    assert len(table) == 17
    assert 0 <= float(table['tooleval-teval_v2', 'overall']) < 50
    assert 'not comparable with the leaderboard' in run.said


@pytest.mark.long
def test_two_workers_split_a_data_set_and_its_answers_come_together(command_line_run: Run, tiny_model: Path) -> None:
    """With two workers OpenCompass splits a data set of more than 16 records and writes two predictions files."""
    parts = [command_line_run.predictions(f'{tiny_model.name}_hf', f'instruct_v2_{part}') for part in (0, 1)]
    ids = [row['record_id'] for part in parts for row in part]
    assert ids == record_ids(DEMO / 'EN' / 'instruct_v2.json')


def test_lasting_faults_fail_the_run_and_name_what_is_missing(faulty_run: Run) -> None:
    assert faulty_run.status == 1
    lines = {line.partition(': ')[0]: line for line in faulty_run.missing()}
    assert set(lines) == {f'MISSING api x tooleval-teval-{stem}' for stem in ('plan_str_v2', 'retrieve_str_v2')}
    for stem in ('plan_str_v2', 'retrieve_str_v2'):
        line = lines[f'MISSING api x tooleval-teval-{stem}']
        log = faulty_run.cwd / line.rpartition('see ')[2]
        assert log.samefile(faulty_run.log('api', stem))
    said = faulty_run.log('api', 'retrieve_str_v2').read_text(encoding='utf-8')
    assert 'data/nowhere' in said and 'tooleval prepare teval' in said
    asked = json.loads((faulty_run.cwd / 'story.json').read_text(encoding='utf-8'))
    assert asked['requests'] == 6 + 4 + 1  # review, plan, and the one more try: nothing of the missing data set
    said = faulty_run.log('api', 'plan_str_v2').read_text(encoding='utf-8')
    assert 'InfraFailureError' in said
    assert '1 of 4 samples have no answer' in said and '(infra:server 1)' in said
    assert not list(faulty_run.folder.glob('predictions/*/*plan_str_v2.json'))
    assert list(faulty_run.folder.glob('predictions/*/tmp_*plan_str_v2.jsonl'))


def test_lasting_faults_leave_the_other_tables(faulty_run: Run) -> None:
    ids = record_ids(DEMO / 'EN' / 'review_str_v2.json')
    result = faulty_run.result('api', 'review_str_v2')
    assert [detail['id'] for detail in result['details']] == ids
    assert result['review_quality'] == pytest.approx(100 * 2 / 6)  # A is right in two of six
    assert faulty_run.table('api')['tooleval-teval_v2', 'review'] == '33.33'
    assert list((faulty_run.folder / 'summary').glob('summary_*_notes.txt'))


def test_missing_data_ends_the_run_before_it_asks_anything(without_data_run: Run) -> None:
    assert without_data_run.status != 0
    assert 'data/nowhere' in without_data_run.said
    assert 'Fix it with: tooleval prepare teval' in without_data_run.said
    assert json.loads((without_data_run.cwd / 'story.json').read_text(encoding='utf-8'))['requests'] == 0


def test_a_missing_encoder_ends_the_run_before_it_asks_anything(without_encoder_run: Run) -> None:
    assert without_encoder_run.status != 0
    assert "encoder 'all-mpnet-base-v2' is not on this machine" in without_encoder_run.said
    assert 'hf download sentence-transformers/all-mpnet-base-v2' in without_encoder_run.said
    assert json.loads((without_encoder_run.cwd / 'story.json').read_text(encoding='utf-8'))['requests'] == 0
