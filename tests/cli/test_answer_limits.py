"""The limit of tokens of an answer: what the server receives, the screen says, and a resumed run asks again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config

from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.scoring.sampling_settings import MAX_OUT_LEN, PUBLISHED, answer_limit
from opencompass_tooleval.models import ToolEvalOpenAI
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.model_config import AuxiliaryModel
from tests.cli.conftest import Command
from tests.conftest import ROOT, ModelServer, start_server, sweep_of
from tests.forked import run_opencompass

SCRIPT = f'{ROOT / "tests" / "cli" / "limits_script.py"}:thinking'
CONFIGS = ROOT / 'opencompass_tooleval' / 'configs' / 'datasets'

ALL = """
from mmengine.config import read_base
from opencompass_tooleval.models import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

datasets = datasets[::STEP]
for row in datasets:
    row['infer_cfg']['inferencer']['max_infra_share'] = 1
datasets.append(dict(datasets[0], abbr='of-the-user', infer_cfg=dict(
    datasets[0]['infer_cfg'], inferencer=dict(datasets[0]['infer_cfg']['inferencer'], max_out_len=77))))
models = [
    dict(type=ToolEvalOpenAI, abbr=abbr, path='tiny', key='none', openai_api_base=url, retry=0, max_workers=8,
         batch_size=8, run_cfg=dict(num_gpus=0), **limit)
    for abbr, url, limit in MODELS
]
"""


def dataset_rows() -> Iterator[Any]:
    """Every row of every table of data sets that is shipped."""
    for file in sorted(CONFIGS.rglob('*_gen.py')):
        config = Config.fromfile(file, format_python_code=False)
        for rows in config.values():
            if isinstance(rows, list):
                yield from (row for row in rows if isinstance(row, dict) and 'infer_cfg' in row)


def test_no_data_set_sets_a_limit_that_hides_the_models() -> None:
    rows = list(dataset_rows())
    assert len(rows) > 300
    for row in rows:
        inferencer = row['infer_cfg']['inferencer']
        assert MAX_OUT_LEN not in inferencer and inferencer[PUBLISHED] >= 512, row['abbr']


def test_a_limit_is_a_number_of_tokens() -> None:
    assert answer_limit({}, {}) is None
    value: Any
    for value in ('16384', True, 0, -1, 1.5):
        with pytest.raises(ValueError, match='max_out_len is'):
            answer_limit({MAX_OUT_LEN: value}, {PUBLISHED: 512})


@pytest.fixture(scope='module')
def servers() -> Iterator[list[ModelServer]]:
    started = [start_server('--script', SCRIPT) for _ in range(3)]
    yield started
    for server in started:
        server.stop()


def limits_asked(server: ModelServer) -> Counter[int]:
    return Counter(request['limit'] for request in server.stats()['asked'])


@pytest.fixture(scope='module', params=[12, pytest.param(1, marks=pytest.mark.long)], ids=['some', 'all'])
def sweep(request: pytest.FixtureRequest, servers: list[ModelServer], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shipped records of each twelfth data set, or of all: every inferencer, native calls, agents; three models."""
    for server in servers:
        server.reset()
    folder = tmp_path_factory.mktemp('limits')
    given: list[dict[str, int]] = [dict(max_out_len=16384), dict(max_out_len=100), {}]
    models = [
        (f'm{number}', server.url, limit) for number, (server, limit) in enumerate(zip(servers, given, strict=True))
    ]
    (folder / 'mine.py').write_text(ALL.replace('MODELS', repr(models)).replace('STEP', str(request.param)))
    done = run_opencompass('mine.py', '-w', 'out', '-m', 'infer', cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = folder.glob('out/*')
    return run


def predictions(run: Path, model: str) -> dict[str, list[dict[str, Any]]]:
    files = sorted(run.glob(f'predictions/{model}/*.json'))
    return {file.stem: list(json.loads(file.read_text()).values()) for file in files}


def test_the_server_receives_the_limit_that_counts(sweep: Path, servers: list[ModelServer]) -> None:
    config = Config.fromfile(next(sweep.glob('configs/*.py')), format_python_code=False)
    published = {row['abbr']: row['infer_cfg']['inferencer'][PUBLISHED] for row in config['datasets']}
    answered = predictions(sweep, 'm0')
    assert answered.keys() == published.keys() and len(published) > 6
    of_user = len(answered['of-the-user'])
    assert limits_asked(servers[0]).keys() == {16384, 77} and limits_asked(servers[0])[77] == of_user
    for server, model in zip(servers[1:], ('m1', 'm2'), strict=True):
        assert limits_asked(server).keys() == {*published.values(), 77} and limits_asked(server)[77] == of_user
        for dataset, rows in predictions(sweep, model).items():
            assert {row[MAX_OUT_LEN] for row in rows} == {77 if dataset == 'of-the-user' else published[dataset]}
    log = next(sweep.glob('logs/infer/m1/*.out')).read_text()
    assert "answers have up to 512 tokens, the benchmark's limit, since max_out_len=100 of the model is lower" in log
    assert "answers have up to 77 tokens, fewer than the benchmark's 512" in log
    assert "the benchmark's limit" not in next(sweep.glob('logs/infer/m0/*.out')).read_text()


OWN = """
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLInferTask

infer = dict(partitioner=dict(type=NaivePartitioner, n=9),
             runner=dict(type=LocalRunner, max_num_workers=1, task=dict(type=OpenICLInferTask)))
datasets = [row for row in datasets if row['abbr'] in ('of-the-user', 'tooleval-teval-review_str_v2')]
"""


def test_the_same_under_opencompass_own_task(servers: list[ModelServer], tmp_path: Path) -> None:
    for server in servers:
        server.reset()
    models = [('m0', servers[0].url, dict(max_out_len=16384)), ('m1', servers[1].url, dict(max_out_len=100))]
    (tmp_path / 'mine.py').write_text(ALL.replace('MODELS', repr(models)).replace('STEP', '1') + OWN)
    done = run_opencompass('mine.py', '-w', 'out', '-m', 'infer', cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    # That task does not tell a data set's 77 from a model's: such a value does not cut below the benchmark's.
    assert limits_asked(servers[0]).keys() == {16384, 512} and limits_asked(servers[1]).keys() == {512}


def test_judges_and_simulators_have_the_limits_of_their_own_configs(servers: list[ModelServer]) -> None:
    url = servers[0].url
    servers[0].reset()
    other = dict(type=ToolEvalOpenAI, path='tiny', key='none', openai_api_base=url, retry=0)
    entry = {'record_id': 'r', 'source': '', 'idx': 0, 'gold_answer': None}
    for limit, sent in ((33, 33), (None, 4096)):
        model = AuxiliaryModel({**other, 'max_out_len': limit} if limit else other)  # Judge asks one, too
        with model.open_queue() as queue:
            queue.submit('it', Conversation.of([Message('user', 'who?')], entry))
            assert queue.results()
        assert servers[0].stats()['asked'][-1]['limit'] == sent


RESUMED = """
for row in datasets:
    row['infer_cfg']['inferencer'].update(max_infra_share=1, published_max_out_len=100)
    row['reader_cfg'] = dict(row['reader_cfg'], test_range=RANGE)
models[0]['abbr'] = 'm'
"""
PLAIN, DIALOGUES = 'tooleval-teval-review_str_v2', 'tooleval-teval-agent-fc'
"""A data set of one round, and one of dialogues."""


@dataclass
class Resumed:
    """A run that is resumed with other settings."""

    folder: Path
    server: ModelServer
    more: dict[str, Any] = field(default_factory=dict)
    """Further settings of the model."""

    def write(self, limit: int, test_range: str, wanted: tuple[str, ...] = (PLAIN,)) -> None:
        settings = {'key': 'none', 'retry': 0, 'max_workers': 8, 'batch_size': 8, 'max_out_len': limit, **self.more}
        text = sweep_of(*wanted, more=RESUMED.replace('RANGE', repr(test_range)), **settings)
        (self.folder / 'mine.py').write_text(text.replace('URL', self.server.url))

    def go(self, limit: int, test_range: str = '', wanted: tuple[str, ...] = (PLAIN,)) -> str:
        """Runs the config with a benchmark's limit of 100, the second time with ``-r``; returns what it says."""
        self.write(limit, test_range, wanted)
        self.server.reset()
        resumed = ['-r'] if (self.folder / 'out').exists() else []
        done = run_opencompass('mine.py', '-w', 'out', '--debug', *resumed, cwd=self.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def limits(self) -> list[int]:
        return sorted(limits_asked(self.server).elements())

    def rows(self, dataset: str = PLAIN) -> list[dict[str, Any]]:
        (file,) = self.folder.glob(f'out/*/predictions/m/{dataset}.json')
        return list(json.loads(file.read_text()).values())

    def result(self, dataset: str = PLAIN) -> dict[str, Any]:
        (file,) = self.folder.glob(f'out/*/results/m/{dataset}.json')
        result: dict[str, Any] = json.loads(file.read_text())
        return result


@pytest.fixture
def resumed(tmp_path: Path, servers: list[ModelServer]) -> Resumed:
    return Resumed(tmp_path, servers[0])


@pytest.mark.long
def test_cut_and_further_answers_are_asked_for_and_no_others(resumed: Resumed, tooleval: Command) -> None:
    said = resumed.go(512, '[1:3]')
    assert 'of its config is below' not in said
    assert resumed.limits() == [512] * 2 and {row['finish_reason'] for row in resumed.rows()} == {'length'}
    told = 'WARNING m: 2 of 2 answers were cut at 512 tokens (teval-review_str_v2). Fix it with: raise `max_out_len`'
    assert told in said and resumed.result()['samples']['all'] == 2
    assert resumed.result()['provenance'][MAX_OUT_LEN] == 512 and resumed.result()['provenance'][PUBLISHED] == 100

    stored = resumed.rows()
    resumed.write(4096, '')
    done = tooleval('plan', resumed.folder / 'mine.py', resumed.folder / 'out')
    assert 'm: an answer has at most 4,096 tokens (max_out_len of the model): all data sets' in done.out
    assert '1 inference jobs' in done.out and resumed.rows() == stored  # a plan changes nothing
    resumed.write(4096, '[1:3]')
    scored = run_opencompass('mine.py', '-w', 'out', '-r', '-m', 'eval', '--debug', cwd=resumed.folder)
    assert scored.returncode == 0 and resumed.rows() == stored  # to score asks nothing, and opens nothing again

    said = resumed.go(4096)
    whole = len(resumed.rows())
    assert whole > 4 and resumed.limits() == [4096] * whole  # the cut ones, and those that were not in the range
    assert {row['finish_reason'] for row in resumed.rows()} == {'stop'} and 'were cut' not in said
    result = resumed.result()
    assert result['provenance'][MAX_OUT_LEN] == 4096 and result['samples']['cut'] == 0
    assert result['samples']['all'] == whole and result['usage']['requests'] == whole + 2  # the cut ones were paid for
    first = resumed.rows()

    said = resumed.go(50, '[2:4]')  # a limit that does not count is told
    limit = "max_out_len=50 of its config is below the benchmark's limit, which is used instead"
    note = f'NOTE m: {limit}: teval-review_str_v2'
    assert note in said and resumed.limits() == [] and resumed.rows() == first
    assert resumed.result()['samples'] == {'all': 2, 'infra': 0, 'cut': 0, 'of': whole}

    resumed.go(8192)
    assert resumed.limits() == [] and resumed.result()['samples']['all'] == whole


@pytest.mark.long
def test_dialogues_go_on_from_their_first_cut_round(tmp_path: Path) -> None:
    server = start_server('--script', SCRIPT.replace('thinking', 'acting'))
    resumed = Resumed(tmp_path, server)
    resumed.go(100, wanted=(DIALOGUES,))
    rows = resumed.rows(DIALOGUES)
    assert {row['finish_reason'] for row in rows} == {'length'} and len(resumed.limits()) >= 2 * len(rows)

    resumed.go(4096, wanted=(DIALOGUES,))
    again = resumed.rows(DIALOGUES)
    assert {row['finish_reason'] for row in again} == {'stop'} and resumed.limits() == [4096] * len(rows)
    assert [row['usage']['requests'] for row in again] == [row['usage']['requests'] + 1 for row in rows]
    server.stop()
