"""Native calls through the ``opencompass`` command: a server that calls and errs, and the oracle."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.catalogue.benchmark import RecordedRun
from opencompass_tooleval.extras.recorded import funcqa as funcqa
from opencompass_tooleval.extras.recorded import restbench as restbench
from opencompass_tooleval.extras.recorded import toolbench as toolbench
from tests.conftest import ModelServer, start_server
from tests.forked import run_opencompass
from tests.instructions.shared_data import DEMO

SCRIPT = Path(__file__).resolve().parent / 'calling_script.py'
COUNTS = {
    'restbench-tmdb': 5,
    'restbench-spotify': 4,
    'funcqa-one_hop-react': 13,
    'funcqa-multi_hop-react': 7,
    'toolbench-calls_g2': 3,
    'toolbench-calls_g3': 2,
}
CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.models.fixed_models import OracleModel

with read_base():
    from opencompass_tooleval.configs.summarizers.tooleval import summarizer
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import tooleval_fc_demo_datasets as datasets
    from opencompass_tooleval.configs.tooleval_local import eval, infer

models = [
    dict(type=OracleModel, abbr='oracle', run_cfg=dict(num_gpus=0)),
    dict(type=ToolEvalOpenAI, abbr='api', path='tiny', key='none', openai_api_base=URL, temperature=0, backoff=0.01,
         retry=0, max_workers=8, query_per_second=1000, batch_size=64, max_seq_len=8192, run_cfg=dict(num_gpus=0)),
]
"""


def file_of(folder: Path, kind: str, model: str, name: str) -> Path:
    (file,) = folder.glob(f'out/*/{kind}/{model}/tooleval-{name}-fc.json')
    return file


def result(folder: Path, model: str, name: str) -> dict[str, Any]:
    outcome: dict[str, Any] = json.loads(file_of(folder, 'results', model, name).read_text(encoding='utf-8'))
    return outcome


@pytest.fixture(scope='module')
def server() -> Iterator[ModelServer]:
    running = start_server('--script', f'{SCRIPT}:calls')
    yield running
    running.stop()


@pytest.fixture(scope='module')
def ran(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('calling')
    (folder / 'sweep.py').write_text(CONFIG.replace('URL', repr(server.url)), encoding='utf-8')
    done = run_opencompass('sweep.py', '-w', 'out', '--debug', cwd=folder)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder


def test_the_oracle_has_100(ran: Path) -> None:
    for name, count in COUNTS.items():
        outcome = result(ran, 'oracle', name)
        full = next(iter(outcome.values()))
        assert full == 100.0 and outcome['tool_name_error_rate'] == 0.0
        assert (outcome['reasons'], outcome['samples']) == ({'ok': count}, {'all': count, 'infra': 0})


def test_paths_are_scored_exactly(ran: Path) -> None:
    outcome = result(ran, 'api', 'restbench-tmdb')
    assert (outcome['correct_path_rate'], outcome['tool_name_error_rate']) == (80.0, 20.0)
    assert outcome['reasons'] == {'ok': 2, 'call:none': 1, 'name:unknown_tool': 1, 'args:not_an_object': 1}
    assert [detail['reason'] for detail in outcome['details'][2:]] == [
        'call:none',
        'name:unknown_tool',
        'args:not_an_object',
    ]
    assert outcome['breakdown']['parse_methods'] == {'calls': 4, 'none': 1}
    assert outcome['provenance']['method'] == 'function_calling'
    outcome = result(ran, 'api', 'restbench-spotify')
    assert (outcome['correct_path_rate'], outcome['tool_name_error_rate']) == (75.0, 0.0)
    assert outcome['reasons'] == {'ok': 2, 'call:schema': 1, 'calls:missing': 1}
    rows = json.loads(file_of(ran, 'predictions', 'api', 'restbench-spotify').read_text(encoding='utf-8')).values()
    (endless,) = (row for row in rows if row['record_id'] == '1')
    assert len(endless['calls']) == 10 and endless['finish_reason'] == 'tool_calls'  # max_steps
    assert endless['calls'][1] == {
        'name': 'DELETE /me/bookings/{booking_id}',
        'arguments': {'booking_id': 9},
        'id': 'call_0',
    }


def test_calls_are_scored_exactly(ran: Path) -> None:
    outcome = result(ran, 'api', 'toolbench-calls_g2')
    rates = outcome['error_free_rate'], outcome['tool_name_error_rate'], outcome['parameter_error_rate']
    assert rates == pytest.approx((100 / 3, 100 / 7, 100 / 7))
    assert outcome['reasons'] == {'ok': 1, 'args:not_an_object': 1, 'name:unknown_tool': 1}
    assert outcome['breakdown']['calls'] == 7 and outcome['breakdown']['relevant_called'] == 100.0
    outcome = result(ran, 'api', 'toolbench-calls_g3')
    rates = outcome['error_free_rate'], outcome['tool_name_error_rate'], outcome['parameter_error_rate']
    assert rates == (0.0, 0.0, 100.0)
    assert outcome['reasons'] == {'call:none': 1, 'args:missing': 1}
    assert outcome['breakdown']['without_calls'] == 1 and outcome['breakdown']['codes'] == {'args:missing': 3}
    assert outcome['details'][1]['parsed'] == outcome['details'][1]['gold']


def test_questions_are_worked_out_in_rounds(ran: Path) -> None:
    outcome = result(ran, 'api', 'funcqa-multi_hop-react')
    assert (outcome['accuracy'], outcome['reasons']) == (100.0, {'ok': 7})
    assert outcome['provenance']['method'] == 'function_calling' and outcome['provenance']['max_calls'] == 100
    outcome = result(ran, 'api', 'funcqa-one_hop-react')
    assert outcome['accuracy'] == outcome['strict_accuracy'] == pytest.approx(100 * 9 / 13)
    rates = [outcome[f'{error}_error_rate'] for error in ('tool', 'tool_name', 'parameter')]
    assert rates == pytest.approx([300 / 13, 100 / 13, 200 / 13])
    assert outcome['reasons'] == {
        'ok': 8,
        'answer:no_number': 1,
        'name:unknown_tool': 1,
        'args:not_an_object': 1,
        'args:not_a_number': 1,
        'limit:steps': 1,
    }
    twice, endless = (outcome['details'][number]['trajectory'] for number in (6, 5))
    assert [[call['observation'] for call in step['calls']] for step in twice['steps']] == [['5', '5'], []]
    assert [len(step['calls']) for step in endless['steps']] == [1] * 20


def test_the_table_has_them_beside_the_others(ran: Path) -> None:
    (file,) = ran.glob('out/*/summary/summary_*[0-9].csv')
    rows = [line.split(',') for line in file.read_text(encoding='utf-8').splitlines()]
    table = {(row[0], row[2]): row[4:6] for row in rows}
    assert table['tooleval-restbench-tmdb-fc', 'correct_path_rate'] == ['100.00', '80.00']
    assert table['tooleval-toolbench-calls_g3-fc', 'parameter_error_rate'] == ['0.00', '100.00']
    assert table['tooleval-funcqa-react-fc', 'multi_hop'] == ['100.00', '100.00']
    error = (60 * 300 / 13) / 128
    assert table['tooleval-funcqa-react-fc', 'error'] == ['0.00', f'{error:.2f}']


def test_recorded_calls_have_the_same_scores(ran: Path) -> None:

    def same(name: str, run: RecordedRun) -> None:
        outcome, scored = result(ran, 'api', name), run.score(name)
        assert scored.total.metrics == {metric: outcome[metric] for metric in scored.total.metrics}
        assert [score.to_detail() for score in scored.scores] == outcome['details']

    for service in ('tmdb', 'spotify'):
        name, folder = f'restbench-{service}', DEMO / 'restbench'
        files: dict[str, Any] = {'data': folder / f'{service}.json', 'specs': folder / 'specs' / f'{service}_oas.json'}
        file = file_of(ran, 'predictions', 'api', name)
        same(name, restbench.read(service, file, **files, method='function_calling'))
    for subset, data in (('calls_g2', 'G2_category.json'), ('calls_g3', 'G3_instruction.json')):
        file = file_of(ran, 'predictions', 'api', f'toolbench-{subset}')
        run_ = toolbench.read(subset, file, data=DEMO / 'toolbench' / data, method='function_calling')
        same(f'toolbench-{subset}', run_)
    for subset, data in (('one_hop', 'funcqa_oh.json'), ('multi_hop', 'funcqa_mh.json')):
        file = file_of(ran, 'predictions', 'api', f'funcqa-{subset}-react')
        same(f'funcqa-{subset}-react', funcqa.read(subset, file, data=DEMO / 'funcqa' / data))
