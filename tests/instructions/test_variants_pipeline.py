"""With documentation and with instructions through the ``opencompass`` command: an oracle and a tiny HF model."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.variant_kinds import EASYTOOL
from opencompass_tooleval.core.statistics.intervals import Pairs, intervals_of
from tests.forked import run_opencompass

CONFIG = """
from mmengine.config import read_base
from opencompass.models import HuggingFacewithChatTemplate
from opencompass_tooleval.models.fixed_models import OracleModel

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_easytool_demo_gen import (
        tooleval_teval_en_v2_easytool_datasets,
        tooleval_ultratool_zh_easytool_datasets,
    )
    from opencompass_tooleval.configs.datasets.demo.tooleval_teval_demo_gen import tooleval_teval_en_v2_datasets
    from opencompass_tooleval.configs.datasets.demo.tooleval_ultratool_demo_gen import tooleval_ultratool_zh_datasets
    from opencompass_tooleval.configs.summarizers.tooleval_easytool import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

_names = NAMES
datasets = [
    row
    for row in [
        *tooleval_teval_en_v2_datasets,
        *tooleval_teval_en_v2_easytool_datasets,
        *tooleval_ultratool_zh_datasets,
        *tooleval_ultratool_zh_easytool_datasets,
    ]
    if row['name'] in _names
]
BROKEN
models = [
    dict(type=OracleModel, abbr='noisy', noise=0.5, seed=1, run_cfg=dict(num_gpus=0)),
    dict(
        type=HuggingFacewithChatTemplate, abbr='tiny', path=TINY, max_out_len=16, max_seq_len=8192, batch_size=8,
        run_cfg=dict(num_gpus=0),
    ),
][MODELS]
"""


def opencompass(
    folder: Path, tiny: Path, names: list[str], models: str = ':', broken: str = ''
) -> subprocess.CompletedProcess[str]:
    text = CONFIG.replace('TINY', repr(str(tiny))).replace('MODELS', models).replace('BROKEN', broken)
    text = text.replace('NAMES', repr(names))
    (folder / 'sweep.py').write_text(text, encoding='utf-8')
    return run_opencompass('sweep.py', '-w', 'out', cwd=folder)


def one(folder: Path, pattern: str) -> Path:
    (file,) = folder.glob(f'out/*/{pattern}')
    return file


def load(folder: Path, stage: str, model: str, dataset: str) -> Any:
    return json.loads(one(folder, f'{stage}/{model}/{dataset}.json').read_text(encoding='utf-8'))


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Path:
    folder = tmp_path_factory.mktemp('variants')
    done = opencompass(folder, tiny_model, ['retrieve_str_v2', 'tool_selection', 'tool_usage'])
    (folder / 'said.txt').write_text(done.stdout, encoding='utf-8')
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder


@pytest.fixture(scope='module')
def table(folder: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    with one(folder, 'summary/summary_*_easytool.csv').open(encoding='utf-8') as stream:
        return {(line['model'], line['dataset'], line['metric']): line for line in csv.DictReader(stream)}


PAIRS = [
    ('tooleval-teval-retrieve_str_v2', 'name', False),
    ('tooleval-ultratool-tool_selection_zh', 'global_accuracy', False),
    ('tooleval-ultratool-tool_selection_zh', 'local_accuracy', True),
    ('tooleval-ultratool-tool_usage_zh', 'local_levenshtein', True),
]


@pytest.mark.parametrize('model', ['noisy', 'tiny'])
@pytest.mark.parametrize(('dataset', 'metric', 'steps'), PAIRS)
def test_scores_delta_and_interval(
    folder: Path, table: dict[Any, dict[str, str]], model: str, dataset: str, metric: str, steps: bool
) -> None:
    line = table[model, dataset, metric]
    before, after = (load(folder, 'results', model, name) for name in (dataset, f'{dataset}-easytool'))
    assert (line['documentation'], line['instructions']) == (f'{before[metric]:.2f}', f'{after[metric]:.2f}')
    assert float(line['delta']) == pytest.approx(after[metric] - before[metric], abs=0.0051)
    ids = tuple(detail['id'] for detail in before['details'])
    queries = tuple(detail.get('query', '') for detail in before['details'])
    weights = tuple(float(len(detail['steps']) if steps else 1) for detail in before['details'])
    values = [tuple(100 * detail['values'][metric] for detail in result['details']) for result in (before, after)]
    (interval,) = intervals_of({(dataset, metric): Pairs(ids, *values, weights, weights, queries=queries)}).values()
    assert float(line['low']) == pytest.approx(interval.low, abs=0.0051)
    assert float(line['high']) == pytest.approx(interval.high, abs=0.0051)
    assert float(line['low']) <= float(line['delta']) <= float(line['high'])
    assert line['records'] == str(len(before['details']))


def test_an_oracle_that_errs_elsewhere_has_differences(table: dict[Any, dict[str, str]]) -> None:
    deltas = [float(table['noisy', dataset, metric]['delta']) for dataset, metric, _ in PAIRS]
    assert any(deltas)


@pytest.mark.parametrize('model', ['noisy', 'tiny'])
def test_variants_differ_in_the_prompts_alone(folder: Path, model: str) -> None:
    for dataset in {dataset for dataset, _, _ in PAIRS}:
        before, after = (load(folder, 'predictions', model, name) for name in (dataset, f'{dataset}-easytool'))
        assert list(before) == list(after)
        for old, new in zip(before.values(), after.values(), strict=True):
            assert (new['record_id'], new['gold']) == (old['record_id'], old['gold'])
            assert new['origin_prompt'] != old['origin_prompt']
        result = load(folder, 'results', model, f'{dataset}-easytool')
        assert result['provenance']['instructions'].startswith('tooleval:demo/easytool/')
        assert len(result['provenance']['instructions_sha256']) == 64


def test_tokens_are_those_of_the_models_own_tokenizer(
    folder: Path, table: dict[Any, dict[str, str]], tiny_model: Path
) -> None:
    from transformers import AutoTokenizer

    roles = {'SYSTEM': 'system', 'HUMAN': 'user', 'BOT': 'assistant'}
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    dataset = 'tooleval-ultratool-tool_selection_zh'
    means = []
    for name in (dataset, f'{dataset}-easytool'):
        rows = load(folder, 'predictions', 'tiny', name).values()
        chats = [
            [{'role': roles[turn['role']], 'content': turn['prompt']} for turn in row['origin_prompt']] for row in rows
        ]
        ids = [tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False) for chat in chats]
        means.append(sum(map(len, ids)) / len(rows))
    line = table['tiny', dataset, 'global_accuracy']
    for of in ('first_prompt', 'task_prompts'):  # a task is one prompt
        columns = EASYTOOL.token_columns(of)
        assert [float(line[column]) for column in columns[:2]] == pytest.approx(means, abs=0.0051)
        assert float(line[columns[2]]) == pytest.approx(100 * (1 - means[1] / means[0]), abs=0.0051)
        assert float(line[columns[2]]) > 40  # what is chosen from is described, no more


def test_the_table_is_printed_last_and_says_what_counted(folder: Path) -> None:
    said = (folder / 'said.txt').read_text(encoding='utf-8')
    text = one(folder, 'summary/summary_*_easytool.txt').read_text(encoding='utf-8')
    assert text not in said and '_easytool.txt' in said  # a long table: in its file
    assert 'tokens of noisy: means over the tasks, estimate: words, signs and Chinese characters' in text
    assert 'tokens of tiny: means over the tasks, tokenizer tiny' in text


@pytest.mark.long
def test_tools_without_instruction_fail_the_run_by_name(tmp_path: Path, tiny_model: Path) -> None:
    broken = (
        'for _row in datasets:\n'
        "    if _row['name'] == 'tool_usage' and 'instructions' in _row:\n"
        "        _row['instructions'] = 'tooleval:demo/easytool/ultratool_en.json'\n"
    )
    done = opencompass(tmp_path, tiny_model, ['tool_usage'], ':1', broken)
    assert done.returncode == 1
    assert 'MISSING noisy x tooleval-ultratool-tool_usage_zh-easytool: no result; see ' in done.stdout
    text = one(tmp_path, 'summary/summary_*_easytool.txt').read_text(encoding='utf-8')
    assert 'NOTE noisy: no result of tooleval-ultratool-tool_usage_zh-easytool, so nothing to compare' in text
    log = one(tmp_path, 'logs/infer/noisy/*.out').read_text(encoding='utf-8')
    assert '15 tools of tool_usage_zh have no instruction: cleaner_match, cleaning_quote, ' in log
