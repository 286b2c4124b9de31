"""FuncQA through the real ``opencompass``: models on real servers, one correct and one wrong, and a tiny model."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.funcqa.data import TABLE, load_records
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory
from tests.benchmarks.support import outcome_of, run
from tests.conftest import ModelServer, start_server
from tests.instructions.shared_data import DEMO

SCRIPT = Path(__file__).resolve().parent / 'funcqa_script.py'
LAGENT = find_spec('lagent') is not None
COUNTS = {'one_hop': 13, 'multi_hop': 7}
METHODS = ('cot', 'easytool')

CONFIG = """
from mmengine.config import read_base
from opencompass.models import HuggingFacewithChatTemplate
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import (
        tooleval_funcqa_datasets, tooleval_funcqa_react_datasets,
    )
    from opencompass_tooleval.configs.summarizers.tooleval_funcqa import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [row for row in [*tooleval_funcqa_datasets, *(tooleval_funcqa_react_datasets if LAGENT else [])]
            if row['abbr'].startswith('tooleval-funcqa-SUBSET') and not row['abbr'].endswith('zero_shot')]
for row in datasets:
    row['infer_cfg']['inferencer']['max_out_len'] = 8
    row['infer_cfg']['inferencer']['dialogues'].update(max_requests=2, max_steps=6)
settings = dict(max_seq_len=8192, run_cfg=dict(num_gpus=0))
api = dict(type=ToolEvalOpenAI, path='tiny', key='none', temperature=0, backoff=0.01, max_workers=16,
           query_per_second=1000, batch_size=64, **settings)
models = MODELS
"""


@pytest.fixture(scope='module')
def servers() -> Iterator[dict[str, ModelServer]]:
    """The two functions of the script, each behind a server."""
    started = {name: start_server('--script', f'{SCRIPT}:{name}') for name in ('right', 'wrong')}
    yield started
    for server in started.values():
        server.stop()


def swept(folder: Path, models: str, subset: str = '') -> Path:
    """The folder, after a run of these models over the methods, with one subset or both."""
    text = CONFIG.replace('LAGENT', str(LAGENT)).replace('SUBSET', subset).replace('MODELS', models)
    run(folder, text)
    assert {file.name for file in folder.iterdir()} == {'mine.py', 'out'}  # nothing is left where it was started
    return folder


@pytest.fixture(scope='module')
def ran(servers: dict[str, ModelServer], tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = ', '.join(f'dict(api, abbr={name!r}, openai_api_base={server.url!r})' for name, server in servers.items())
    return swept(tmp_path_factory.mktemp('funcqa'), f'[{models}]')


def result(ran: Path, model: str, subset: str, method: str) -> Any:
    return outcome_of(ran, model, f'funcqa-{subset}-{method}')


def trajectories(ran: Path, model: str, subset: str, method: str) -> list[Trajectory]:
    rows = outcome_of(ran, model, f'funcqa-{subset}-{method}', 'predictions')
    assert [row['record_id'] for row in rows.values()] == [str(number) for number in range(COUNTS[subset])]
    return [parse_trajectory(row['prediction']) for row in rows.values()]


@pytest.mark.parametrize('subset', COUNTS)
@pytest.mark.parametrize('method', METHODS)
def test_a_server_that_works_it_out_has_100_and_no_errors(ran: Path, subset: str, method: str) -> None:
    outcome, by_tools = result(ran, 'right', subset, method), method == 'easytool'
    assert (outcome['accuracy'], outcome['strict_accuracy']) == (100.0, 100.0)
    assert outcome['reasons'] == {'ok': COUNTS[subset]}
    assert outcome['tool_error_rate'] == (0.0 if by_tools else None)
    provenance = outcome['provenance']
    assert provenance['method'] == method and provenance['gold'] == 'official' and provenance.get('rounded', True)
    assert provenance.get('instructions', '').startswith('functions_data.json ' if by_tools else '')
    items = trajectories(ran, 'right', subset, method)
    assert [detail['trajectory'] for detail in outcome['details']] == [item.to_dict() for item in items]
    if by_tools:
        records = load_records(DEMO / 'funcqa' / next(row.file for row in TABLE if row.name == subset), subset)
        steps = [[step.tool for step in record.steps] for record in records]
        assert [[call.name for call in item.calls] for item in items] == steps
        assert [len(item.steps) for item in items] == [asked_for(item, subset) for item in items]
        assert {item.check for item in items} == {'yes'}
        assert outcome['breakdown']['checks'] == {'yes': COUNTS[subset]}


def asked_for(trajectory: Trajectory, subset: str) -> int:
    """How often a model is asked that does everything right."""
    return 3 * len(trajectory.calls) + (2 if subset == 'one_hop' else 4)


def test_errors_are_counted_exactly(ran: Path) -> None:
    for subset, count in COUNTS.items():
        outcome = result(ran, 'wrong', subset, 'easytool')
        names, parameters = len(range(0, count, 3)), len(range(1, count, 3))
        assert (outcome['accuracy'], outcome['strict_accuracy']) == (0.0, 0.0)
        rates = [outcome[f'{error}_error_rate'] for error in ('tool', 'tool_name', 'parameter')]
        assert rates == pytest.approx([100 * errors / count for errors in (names + parameters, names, parameters)])
        assert outcome['breakdown']['tool_errors'] == {'name:unknown_tool': names, 'args:not_a_number': 5 * parameters}
        assert outcome['breakdown']['stopped'] == {'name:unknown_tool': names}
        assert outcome['breakdown']['checks'] == {'unreadable': count - names}
        wrong_number = count - names - parameters
        reasons = {'name:unknown_tool': names, 'args:not_a_number': parameters, 'answer:wrong_number': wrong_number}
        assert outcome['reasons'] == reasons


def test_the_summary_is_table_6(ran: Path) -> None:
    (file,) = ran.glob('out/*/summary/summary_*.csv')
    rows = [line.split(',') for line in file.read_text(encoding='utf-8').splitlines()]
    table = {(row[0], row[2]): row[4:6] for row in rows}
    for column in ('one_hop', 'one_hop_strict', 'multi_hop', 'multi_hop_strict'):
        assert table['tooleval-funcqa-easytool', column] == ['100.00', '0.00']
    one, two = 100 * 9 / 13, 100 * 5 / 7
    assert table['tooleval-funcqa-easytool', 'error'] == ['0.00', f'{(60 * one + 68 * two) / 128:.2f}']
    assert ('tooleval-funcqa-cot', 'error') not in table


def test_each_round_is_one_batch(ran: Path, servers: dict[str, ModelServer]) -> None:
    """16 are in flight at once, and nothing is asked twice."""
    stats = servers['right'].stats()
    assert stats['most_in_flight'] >= 7
    items = [(item, subset) for subset in COUNTS for item in trajectories(ran, 'right', subset, 'easytool')]
    expected = sum(asked_for(*item) for item in items)
    in_text = sum(result(ran, 'right', subset, 'react')['breakdown']['rounds'] for subset in COUNTS if LAGENT)
    assert stats['requests'] == expected + sum(COUNTS.values()) + in_text
    assert len({request['digest'] for request in stats['asked']}) == stats['requests']


@pytest.mark.long
def test_a_tiny_model_runs_every_method_to_its_end(tiny_model: Path, tmp_path: Path) -> None:
    model = f"dict(type=HuggingFacewithChatTemplate, abbr='tiny', path={str(tiny_model)!r}, batch_size=8, **settings)"
    swept(tmp_path, f"[{model}]\nfor row in datasets:\n    row['reader_cfg']['test_range'] = '[:2]'", 'multi_hop')
    for method in METHODS:
        outcome = result(tmp_path, 'tiny', 'multi_hop', method)
        rows = outcome_of(tmp_path, 'tiny', f'funcqa-multi_hop-{method}', 'predictions').values()
        cut = sum(row['finish_reason'] == 'length' for row in rows)
        assert outcome['samples'] == {'all': 2, 'first': 2, 'of': 7, 'infra': 0, 'cut': cut}
        items = [parse_trajectory(row['prediction']) for row in rows]
    assert not any(item.calls for item in items)  # nonsense: no tool is chosen, so that no call fails
    assert (outcome['tool_error_rate'], outcome['accuracy']) == (0.0, 0.0)
    assert outcome['reasons'] == {'plan:no_tasks': 2} and {len(item.steps) for item in items} == {2}


@pytest.mark.skipif(not LAGENT, reason="lagent is absent: pip install 'opencompass-tooleval[agent]'")
def test_react(ran: Path) -> None:
    one, multi = (result(ran, 'right', subset, 'react') for subset in COUNTS)
    metrics = ('accuracy', 'tool_error_rate', 'tool_name_error_rate', 'parameter_error_rate')
    assert [multi[metric] for metric in metrics] == [100.0, 0.0, 0.0, 0.0]
    assert multi['breakdown']['tool_errors'] == {}
    bad = len(one['details']) - 4
    share = 100 * bad / len(one['details'])
    assert [one[metric] for metric in metrics] == pytest.approx([100 - share, share, share, share])
    assert one['breakdown']['tool_errors'] == {'args:not_a_number': 5 * bad, 'name:unknown_tool': bad}
    assert one['breakdown']['stopped'] == {'limit:steps': bad}
    assert one['reasons'] == {'ok': 4, 'name:unknown_tool': bad}
    for trajectory in trajectories(ran, 'right', 'multi_hop', 'react'):
        assert trajectory.steps[-1].text.startswith('Thought: done')
        assert len(trajectory.calls) == len(trajectory.steps) - 1 > 1
