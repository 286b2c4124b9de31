"""FuncQA through the real ``opencompass``: correct and wrong models on a real server, and a tiny model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.funcqa.records import TABLE, load_records
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory
from tests.conftest import ModelServer, start_server
from tests.forked import run_opencompass
from tests.instructions.shared_data import DEMO

SCRIPT = Path(__file__).resolve().parent / 'funcqa_script.py'
METHODS = ('zero_shot', 'cot', 'easytool')
LAGENT = find_spec('lagent') is not None
COUNTS = {'one_hop': 13, 'multi_hop': 7}

CONFIG = """
from mmengine.config import read_base
from opencompass.models import HuggingFacewithChatTemplate
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_funcqa_demo_gen import (
        tooleval_funcqa_datasets, tooleval_funcqa_react_datasets,
    )
    from opencompass_tooleval.configs.summarizers.tooleval_funcqa import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [*tooleval_funcqa_datasets, *(tooleval_funcqa_react_datasets if LAGENT else [])]
for row in datasets:
    row['infer_cfg']['inferencer']['max_out_len'] = 8
    row['infer_cfg']['inferencer']['dialogues'].update(max_requests=2, max_steps=6)
settings = dict(max_seq_len=8192, run_cfg=dict(num_gpus=0))
api = dict(type=ToolEvalOpenAI, path='tiny', key='none', temperature=0, backoff=0.01, max_workers=16,
           query_per_second=1000, batch_size=64, **settings)
models = MODELS
"""


@dataclass
class Bench:
    """One working directory of ``opencompass``."""

    folder: Path

    def run(self, models: str) -> None:
        """Runs the config to its end."""
        text = CONFIG.replace('MODELS', models).replace('LAGENT', str(LAGENT))
        (self.folder / 'mine.py').write_text(text, encoding='utf-8')
        done = run_opencompass('mine.py', '-w', 'out', '--debug', cwd=self.folder)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert {file.name for file in self.folder.iterdir()} == {
            'mine.py',
            'out',
        }  # nothing is left where it was started

    def file(self, kind: str, model: str, subset: str, method: str) -> Any:
        """What the predictions or results file of one data set holds."""
        (file,) = self.folder.glob(f'out/*/{kind}/{model}/tooleval-funcqa-{subset}-{method}.json')
        return json.loads(file.read_text(encoding='utf-8'))

    def trajectories(self, model: str, subset: str, method: str) -> list[Trajectory]:
        """The trajectories in the predictions file."""
        rows = self.file('predictions', model, subset, method)
        assert [row['record_id'] for row in rows.values()] == [str(number) for number in range(COUNTS[subset])]
        return [parse_trajectory(row['prediction']) for row in rows.values()]


@pytest.fixture(scope='module')
def asked() -> dict[str, ModelServer]:
    """The two scripted servers, after the run of :func:`bench`."""
    return {}


@pytest.fixture(scope='module')
def bench(asked: dict[str, ModelServer], tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One run of two scripted servers and the tiny model over three methods."""
    asked |= {name: start_server('--script', f'{SCRIPT}:{name}') for name in ('right', 'wrong')}
    models = ', '.join(f'dict(api, abbr={name!r}, openai_api_base={server.url!r})' for name, server in asked.items())
    tiny = f"dict(type=HuggingFacewithChatTemplate, abbr='tiny', path={str(tiny_model)!r}, batch_size=8, **settings)"
    made = Bench(tmp_path_factory.mktemp('funcqa'))
    try:
        made.run(f'[{models}, {tiny}]')
        yield made
    finally:
        for server in asked.values():
            server.stop()


@pytest.mark.parametrize('subset', COUNTS)
@pytest.mark.parametrize('method', METHODS)
def test_a_server_that_works_it_out_has_100_and_no_errors(bench: Bench, subset: str, method: str) -> None:
    result = bench.file('results', 'right', subset, method)
    assert (result['accuracy'], result['strict_accuracy']) == (100.0, 100.0)
    assert result['reasons'] == {'ok': COUNTS[subset]}
    assert result['tool_error_rate'] == (0.0 if method == 'easytool' else None)
    assert result['provenance']['method'] == method and result['provenance']['gold'] == 'official'
    shown = 'functions_data.json ' if method == 'easytool' else ''
    assert result['provenance'].get('instructions', '').startswith(shown)
    assert result['provenance'].get('rounded', True) is True
    trajectories = bench.trajectories('right', subset, method)
    assert [detail['trajectory'] for detail in result['details']] == [item.to_dict() for item in trajectories]
    if method == 'easytool':
        records = load_records(DEMO / 'funcqa' / next(row.file for row in TABLE if row.name == subset), subset)
        assert [[call.name for call in item.calls] for item in trajectories] == [
            [step.tool for step in record.steps] for record in records
        ]
        assert [len(item.steps) for item in trajectories] == [asked_for(item, subset) for item in trajectories]
        assert {item.check for item in trajectories} == {'yes'}
        assert result['breakdown']['checks'] == {'yes': COUNTS[subset]}


def asked_for(trajectory: Trajectory, subset: str) -> int:
    """How often a model is asked that does everything right."""
    return 3 * len(trajectory.calls) + (2 if subset == 'one_hop' else 4)


def test_errors_are_counted_exactly(bench: Bench) -> None:
    for subset, count in COUNTS.items():
        result = bench.file('results', 'wrong', subset, 'easytool')
        names, parameters = len(range(0, count, 3)), len(range(1, count, 3))
        assert (result['accuracy'], result['strict_accuracy']) == (0.0, 0.0)
        assert result['tool_error_rate'] == pytest.approx(100 * (names + parameters) / count)
        assert result['tool_name_error_rate'] == pytest.approx(100 * names / count)
        assert result['parameter_error_rate'] == pytest.approx(100 * parameters / count)
        assert result['breakdown']['tool_errors'] == {'name:unknown_tool': names, 'args:not_a_number': 5 * parameters}
        assert result['breakdown']['stopped'] == {'name:unknown_tool': names}
        assert result['breakdown']['checks'] == {'unreadable': count - names}
        assert result['reasons'] == {
            'name:unknown_tool': names,
            'args:not_a_number': parameters,
            'answer:wrong_number': count - names - parameters,
        }


def test_the_summary_is_table_6(bench: Bench) -> None:
    (file,) = bench.folder.glob('out/*/summary/summary_*.csv')
    rows = [line.split(',') for line in file.read_text(encoding='utf-8').splitlines()]
    table = {(row[0], row[2]): row[4:6] for row in rows}
    assert table['tooleval-funcqa-easytool', 'one_hop'] == ['100.00', '0.00']
    assert table['tooleval-funcqa-easytool', 'one_hop_strict'] == ['100.00', '0.00']
    assert table['tooleval-funcqa-easytool', 'multi_hop_strict'] == ['100.00', '0.00']
    assert table['tooleval-funcqa-easytool', 'multi_hop'] == ['100.00', '0.00']
    one, two = 100 * 9 / 13, 100 * 5 / 7
    assert table['tooleval-funcqa-easytool', 'error'] == ['0.00', f'{(60 * one + 68 * two) / 128:.2f}']
    assert ('tooleval-funcqa-cot', 'error') not in table


def test_each_round_is_one_batch(bench: Bench, asked: dict[str, ModelServer]) -> None:
    """16 are in flight at once, and nothing is asked twice."""
    stats = asked['right'].stats()
    assert stats['most_in_flight'] >= 7
    expected = sum(
        asked_for(item, subset) for subset in COUNTS for item in bench.trajectories('right', subset, 'easytool')
    )
    in_text = sum(bench.file('results', 'right', subset, 'react')['breakdown']['rounds'] for subset in COUNTS if LAGENT)
    assert stats['requests'] == expected + 2 * sum(COUNTS.values()) + in_text
    assert len({request['digest'] for request in stats['asked']}) == stats['requests']


@pytest.mark.parametrize('method', METHODS)
def test_a_tiny_model_runs_every_method_to_its_end(bench: Bench, method: str) -> None:
    for subset, count in COUNTS.items():
        result = bench.file('results', 'tiny', subset, method)
        rows = bench.file('predictions', 'tiny', subset, method).values()
        cut = sum(row['finish_reason'] == 'length' for row in rows)
        assert result['samples'] == {'all': count, 'infra': 0, 'cut': cut}
        trajectories = bench.trajectories('tiny', subset, method)
        if method == 'easytool':  # nonsense: no tool is chosen, so that no call fails
            assert not any(item.calls for item in trajectories)
            assert (result['tool_error_rate'], result['accuracy']) == (0.0, 0.0)
            requests = 5 * (2 + 1) + 2 if subset == 'one_hop' else 2
            assert {len(item.steps) for item in trajectories} == {requests}
            assert set(result['reasons']) == {'step:no_result' if subset == 'one_hop' else 'plan:no_tasks'}


@pytest.mark.skipif(not LAGENT, reason="lagent is absent: pip install 'opencompass-tooleval[agent]'")
def test_react(bench: Bench) -> None:
    one, multi = (bench.file('results', 'right', subset, 'react') for subset in COUNTS)
    metrics = ('accuracy', 'tool_error_rate', 'tool_name_error_rate', 'parameter_error_rate')
    assert [multi[metric] for metric in metrics] == [100.0, 0.0, 0.0, 0.0]
    assert multi['breakdown']['tool_errors'] == {}
    bad = len(one['details']) - 4
    share = 100 * bad / len(one['details'])
    assert [one[metric] for metric in metrics] == pytest.approx([100 - share, share, share, share])
    assert one['breakdown']['tool_errors'] == {'args:not_a_number': 5 * bad, 'name:unknown_tool': bad}
    assert one['breakdown']['stopped'] == {'limit:steps': bad}
    assert one['reasons'] == {'ok': 4, 'name:unknown_tool': bad}
    for trajectory in bench.trajectories('right', 'multi_hop', 'react'):
        assert trajectory.steps[-1].text.startswith('Thought: done')
        assert len(trajectory.calls) == len(trajectory.steps) - 1 > 1
