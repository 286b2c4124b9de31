"""A benchmark is a value in a table: an invented one works in every command that loops over benchmarks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import pytest
from datasets import Dataset
from opencompass.datasets.base import BaseDataset
from opencompass.registry import LOAD_DATASET

from opencompass_tooleval import plugin
from opencompass_tooleval.catalogue.benchmark import (
    Benchmark,
    BenchmarkFiles,
    ConfiguredDataset,
    Content,
    DataFiles,
    RecordedRun,
)
from opencompass_tooleval.core.calls.messages import Message, messages_text
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.core.scoring.scorer import Scorer
from opencompass_tooleval.data_path import candidate_paths, resolve_data_path
from opencompass_tooleval.extras.probe.doctor import check_data
from opencompass_tooleval.findings.kinds import Level
from opencompass_tooleval.work_dir.recorded import load_recorded
from tests.cli.conftest import Command, write_json


# The benchmark: forty lines.
def read(files: Sequence[Path]) -> Content:
    return Content({'riddles': len(json.loads(files[0].read_text()))})


class Solved(Scorer):
    subset = SimpleNamespace(metrics=('solved',))

    def __init__(self, case: str) -> None:
        self.case = case

    def provenance(self) -> dict[str, Any]:
        return {'benchmark': 'riddles', 'subset': 'short', 'case': self.case, 'version': '1'}

    def read_record(self, payload: str) -> Any:
        return json.loads(payload)

    def score_records(self, records: Sequence[Any], answers: Sequence[Any]) -> list[SampleScore]:
        scores = []
        for (name, gold), answer in zip(records, answers, strict=True):
            right = answer.text == gold or (self.case == 'any' and answer.text.lower() == gold.lower())
            reason = 'ok' if right else 'answer:wrong'
            scores.append(SampleScore(name, {'solved': float(right)}, reason, answer.text, 'text', gold))
        return scores


def recorded(
    subset: str,
    predictions: Path,
    *,
    data: Annotated[Path, 'The riddles.'],
    case: Annotated[Literal['any', 'as written'], 'Of letters.'] = 'any',
) -> RecordedRun:
    riddles = json.loads(data.read_text())
    answers = load_recorded(predictions).in_order(list(riddles))
    records = [(name, gold) for name, (_, gold) in riddles.items()]
    return RecordedRun(Solved(case), records, answers, subset, ('case', 'version'), expected=3)


def configured(subset: str) -> ConfiguredDataset:
    return ConfiguredDataset([str(candidate_paths('riddles_gen')[0].absolute())], subset)


BENCHMARK = Benchmark(name='riddles', title='Riddles', paper='no paper', subsets=('short',), sizes={('short', None): 2})
FILES = BenchmarkFiles(
    (DataFiles('short', ('data/riddles/short.json',), read, {'riddles': 2}),),
    'Riddles are everywhere.',
    'git clone https://example.org/sphinx',
)


# What it brings for OpenCompass: a data set, and a config.
@LOAD_DATASET.register_module(force=True)
class Riddles(BaseDataset):
    @staticmethod
    def load(path: str, name: str) -> Dataset:
        riddles = json.loads((resolve_data_path(path, '') / f'{name}.json').read_text())
        rows = []
        for key, (text, gold) in riddles.items():
            messages = messages_text([Message('user', text)])
            rows.append({'record_id': key, 'messages': messages, 'record': gold, 'gold_answer': gold, 'source': name})
        return Dataset.from_list(rows)


CONFIG = """riddles_datasets = [dict(
    type='Riddles', abbr='riddles-short', path='data/riddles', name='short',
    reader_cfg=dict(input_columns=['messages'], output_column='record'),
    infer_cfg=dict(
        prompt_template=dict(type='ToolEvalConversationTemplate', template='{messages}'),
        retriever=dict(type='ZeroRetriever'), inferencer=dict(type='ToolEvalGenInferencer'),
    ),
)]
"""
RIDDLES = {'legs': ['Four legs, then two, then three?', 'Man'], 'name': ['What is mine and used by others?', 'A name']}


@pytest.fixture(autouse=True)
def described(monkeypatch: pytest.MonkeyPatch) -> None:
    for table, name in ((plugin.BENCHMARKS, 'BENCHMARK'), (plugin.FILES, 'FILES'), (plugin.RECORDED, 'recorded')):
        monkeypatch.setitem(table, 'riddles', f'{__name__}:{name}')
    monkeypatch.setitem(plugin.CONFIGURED, 'riddles', f'{__name__}:configured')


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / 'source' / 'deep').mkdir(parents=True)
    write_json(tmp_path / 'source' / 'deep' / 'short.json', RIDDLES)
    return tmp_path / 'source'


def test_prepare_list_and_doctor(tooleval: Command, tmp_path: Path, source: Path) -> None:
    asked = tooleval('prepare', 'riddles')
    assert asked.code == 1
    assert asked.out.startswith('Riddles are everywhere. Fetch and prepare them with:\n  git clone https://example.org')
    assert 'tooleval prepare riddles --from sphinx' in asked.out
    target = tmp_path / 'data-cache' / 'data' / 'riddles' / 'short.json'
    assert tooleval('prepare', 'riddles', '--from', source).out == f'copied {target}: 2 riddles\n'
    rows = [line.split() for line in tooleval('list').out.splitlines()]
    assert ['riddles', 'Riddles', 'no', 'paper', '1', '1', 'of', '1'] in rows
    assert ['short', '2', 'riddles', '2', 'riddles'] in map(str.split, tooleval('list', 'riddles').out.splitlines())
    findings = {finding.about: finding for finding in check_data()}
    assert (findings['Riddles short'].level, findings['Riddles short'].text) == (Level.OK, '2 riddles')
    target.write_text('{}')
    findings = {finding.about: finding for finding in check_data()}
    assert findings['Riddles short'].text == '0 riddles, published are 2'
    assert 'riddles' in tooleval('prepare', '--help').out and 'riddles' in tooleval('score', '--help').out


def test_score(tooleval: Command, tmp_path: Path, source: Path) -> None:
    answers = write_json(tmp_path / 'answers.json', {'legs': 'man', 'name': 'A name'})
    data = source / 'deep' / 'short.json'

    def metrics(*options: object) -> Any:
        done = tooleval('score', 'riddles', 'short', answers, '--data', data, *options, '--json', '-')
        assert done.code == 0, done.err
        assert done.err == 'NOTE 2 samples of 3: not comparable with the paper\n'
        result = json.loads(done.out)
        assert (result['benchmark'], result['subset'], result['version']) == ('riddles', 'short', '1')
        return result['metrics']

    assert metrics() == {'solved': 100.0}
    assert metrics('--case', 'as written') == {'solved': 50.0}
    assert tooleval('score', 'riddles', 'short', answers, '--data', data, '--case', 'other').code == 2
    shown = tooleval('score', 'riddles', 'short', answers, '--data', data, '--case', 'as written').out
    assert 'Riddles short, 2 samples' in shown and 'reasons: answer:wrong 1, ok 1' in shown
    assert tooleval('score', 'riddles', 'short', answers, '--data', data, '--predictions', answers).code == 1


def test_prompts(tooleval: Command, source: Path) -> None:
    tooleval('prepare', 'riddles', '--from', source)
    candidate_paths('riddles_gen.py')[0].write_text(CONFIG)
    done = tooleval('prompts', 'riddles', 'short', '--limit', 1)
    assert (done.code, done.out) == (0, '=== legs\n--- user\nFour legs, then two, then three?\n\n'), done.err
    done = tooleval('prompts', 'riddles', 'short', '--language', 'en')
    assert done.code == 1 and 'riddles has no languages: leave --language out' in done.err
