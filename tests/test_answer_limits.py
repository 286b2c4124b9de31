"""The limit of tokens of an answer: what the server receives, what the screen says, and what a resumed run asks again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config

from opencompass_tooleval.core.answer_limit import MAX_OUT_LEN, PUBLISHED, answer_limit
from tests.conftest import ROOT, ModelServer, start_server
from tests.forked import run_opencompass

SCRIPT = f'{ROOT / "tests" / "limits_script.py"}:thinking'
CONFIGS = ROOT / 'opencompass_tooleval' / 'configs' / 'datasets'

ALL = """
from mmengine.config import read_base
from opencompass_tooleval.models import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

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


@pytest.mark.parametrize(
    ('model', 'inferencer', 'tokens', 'source'),
    [
        (16384, {PUBLISHED: 512}, 16384, 'model'),
        (100, {PUBLISHED: 512}, 512, 'benchmark'),
        (512, {PUBLISHED: 512}, 512, 'model'),
        (None, {PUBLISHED: 512}, 512, 'benchmark'),
        (16384, {MAX_OUT_LEN: 77, PUBLISHED: 512}, 77, 'data set'),
        (77, {}, 77, 'model'),
    ],
)
def test_whose_limit_counts(model: int | None, inferencer: dict[str, int], tokens: int, source: str) -> None:
    limit = answer_limit({MAX_OUT_LEN: model}, inferencer)
    assert limit is not None and (limit.tokens, limit.source) == (tokens, source)
    assert bool(limit.note) == (model == 100 or tokens == 77 and bool(inferencer))


def test_none_has_no_limit() -> None:
    assert answer_limit({}, {}) is None


@pytest.mark.parametrize('value', ['16384', True, 0, -1, 1.5])
def test_a_limit_is_a_number_of_tokens(value: Any) -> None:
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


@pytest.fixture(scope='module')
def everything(servers: list[ModelServer], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All shipped demo records: every inferencer, native calls, dialogues and agents; three models."""
    folder = tmp_path_factory.mktemp('limits')
    given: list[dict[str, int]] = [dict(max_out_len=16384), dict(max_out_len=100), {}]
    models = [(f'm{number}', server.url, limit) for number, (server, limit) in enumerate(zip(servers, given, strict=True))]
    (folder / 'mine.py').write_text(ALL.replace('MODELS', repr(models)))
    done = run_opencompass('mine.py', '-w', 'out', '-m', 'infer', cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = folder.glob('out/*')
    return run


def predictions(run: Path, model: str) -> dict[str, list[dict[str, Any]]]:
    files = sorted(run.glob(f'predictions/{model}/*.json'))
    return {file.stem: list(json.loads(file.read_text()).values()) for file in files}


def test_the_server_receives_the_limit_that_counts(everything: Path, servers: list[ModelServer]) -> None:
    config = Config.fromfile(next(everything.glob('configs/*.py')), format_python_code=False)
    published = {row['abbr']: row['infer_cfg']['inferencer'][PUBLISHED] for row in config['datasets']}
    answered = predictions(everything, 'm0')
    assert answered.keys() == published.keys() and len(published) > 60
    of_user = len(answered['of-the-user'])
    assert limits_asked(servers[0]).keys() == {16384, 77} and limits_asked(servers[0])[77] == of_user
    for server, model in zip(servers[1:], ('m1', 'm2'), strict=True):
        assert limits_asked(server).keys() == {*published.values(), 77} and limits_asked(server)[77] == of_user
        for dataset, rows in predictions(everything, model).items():
            assert {row[MAX_OUT_LEN] for row in rows} == {77 if dataset == 'of-the-user' else published[dataset]}


def test_the_log_says_which_limit_counts_instead(everything: Path) -> None:
    log = next(everything.glob('logs/infer/m1/*.out')).read_text()
    assert "answers have up to 512 tokens, the benchmark's limit, since max_out_len=100 of the model is less" in log
    assert "answers have up to 77 tokens, fewer than the benchmark's 512" in log
    assert "the benchmark's limit" not in next(everything.glob('logs/infer/m0/*.out')).read_text()
