"""Native calls through the real ``opencompass``: a server with good and bad calls, compared with prompts."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.support import run
from tests.cli.conftest import Command, tooleval
from tests.conftest import ROOT, start_server

__all__ = ['tooleval']  # a fixture

SCRIPT = Path(__file__).resolve().parent / 'calling_script.py'
DATA = ROOT / 'opencompass_tooleval' / 'demo' / 'teval' / 'EN' / 'instruct_v2.json'
CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_teval_demo_gen import (
        tooleval_teval_en_v2_datasets, tooleval_teval_en_v2_fc_datasets,
    )
    from opencompass_tooleval.configs.summarizers.tooleval_teval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [row for row in [*tooleval_teval_en_v2_datasets, *tooleval_teval_en_v2_fc_datasets]
            if row['abbr'] in DATASETS]
model = dict(type=ToolEvalOpenAI, path='tiny', key='none', temperature=0, backoff=0.01, query_per_second=1000,
             max_seq_len=8192, run_cfg=dict(num_gpus=0))
models = [dict(abbr=name, openai_api_base=url, **model) for name, url in URLS.items()]
"""
PLAIN, NATIVE = 'tooleval-teval-instruct_v2', 'tooleval-teval-instruct_v2-fc'


@pytest.fixture(scope='module')
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sweep of two models, each behind a server with a function of the script."""
    folder = tmp_path_factory.mktemp('calls')
    servers = {name: start_server('--script', f'{SCRIPT}:{name}') for name in ('right', 'clumsy')}
    try:
        urls = {name: server.url for name, server in servers.items()}
        run(folder, CONFIG.replace('DATASETS', repr([PLAIN, NATIVE])).replace('URLS', repr(urls)))
    finally:
        for server in servers.values():
            server.stop()
    (made,) = (folder / 'out').iterdir()
    return made


def load(out: Path, kind: str, model: str, dataset: str) -> Any:
    """A file of predictions or results."""
    return json.loads((out / kind / model / f'{dataset}.json').read_text(encoding='utf-8'))


def test_right_calls_are_right_and_stay_calls(out: Path) -> None:
    result = load(out, 'results', 'right', NATIVE)
    assert (result['json_format_metric'], result['json_args_em_metric'], result['reasons']) == (100, 100, {'ok': 26})
    assert result['provenance']['method'] == 'function_calling'
    first = load(out, 'predictions', 'right', NATIVE)['0']
    arguments = {'city': 'Ghent', 'date': '2025-04-12', 'limit': 3}
    assert first['calls'] == [{'name': 'MuseumGuide.list_open', 'arguments': arguments, 'id': 'call_0'}]
    assert first['prediction'] == 'As you say.' and first['finish_reason'] == 'tool_calls'
    assert first['tools'][0]['function']['name'] == 'MuseumGuide_list_open'
    assert first['origin_prompt'][-1]['role'] == 'user' and first['usage']['completion'] > 0


def test_they_stand_beside_the_prompts(out: Path) -> None:
    (table,) = out.glob('summary/*_fc.csv')
    with table.open(encoding='utf-8', newline='') as stream:
        rows = {row['metric']: row for row in csv.DictReader(stream) if row['model'] == 'right'}
    row = rows['json_args_em_metric']
    assert (row['prompt'], row['calling'], row['delta'], row['records']) == ('0.00', '100.00', '100.00', '13')


def test_they_are_scored_again_and_shown(out: Path, tmp_path: Path, tooleval: Command) -> None:
    predictions, scores = out / 'predictions' / 'right' / f'{NATIVE}.json', tmp_path / 'scores.json'
    options = ('--data', DATA, '--method', 'function_calling', '--json', scores)
    assert tooleval('score', 'teval', 'instruct', predictions, *options).code == 0
    assert json.loads(scores.read_text(encoding='utf-8'))['metrics']['json_args_em_metric'] == 100
    assert tooleval('report', out, '-o', tmp_path / 'report').code == 0
    page = (tmp_path / 'report' / 'function_calling.html').read_text(encoding='utf-8')
    assert 'what native calls gain' in page and '100.00' in page


def test_what_goes_wrong_is_named(out: Path) -> None:
    result = load(out, 'results', 'clumsy', NATIVE)
    wrong = {'call:none': 2, 'call:several': 2, 'name:unknown_tool': 2, 'args:not_an_object': 2, 'call:schema': 2}
    assert result['reasons'] == {'ok': 16, **wrong}
    # Of 26 samples: no format for none, several, unknown and broken; arguments 0, all, 4 of 5, 1 of 4, 5 of 6.
    assert result['json_format_metric'] == pytest.approx(100 * 18 / 26)
    assert result['json_args_em_metric'] == pytest.approx(100 * (16 + 2 * (0 + 1 + 4 / 5 + 1 / 4 + 5 / 6)) / 26)
