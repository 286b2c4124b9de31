"""RestBench and ToolBench in one run of ``opencompass``: demo records, an oracle, recorded answers, and judges."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.restbench.data import TABLE, gold_answer
from opencompass_tooleval.benchmarks.toolbench.scoring import SuccessGrading
from tests.benchmarks.support import outcome_of, run, write_rows
from tests.conftest import ModelServer, start_server
from tests.instructions.shared_data import DEMO

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import OracleModel, ReplayModel

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import (
        tooleval_restbench_datasets, tooleval_toolbench_datasets,
    )
    from opencompass_tooleval.configs.datasets.restbench.tooleval_restbench_easytool_gen import (
        tooleval_restbench_tmdb_easytool_ids_datasets as paths_by_number,
    )
    from opencompass_tooleval.configs.datasets.toolbench.tooleval_toolbench_easytool_gen import (
        tooleval_toolbench_selection_easytool_ids_datasets,
    )
    from opencompass_tooleval.configs.datasets.toolbench.tooleval_toolbench_success_gen import (
        tooleval_toolbench_success_datasets,
    )
    from opencompass_tooleval.configs.summarizers.tooleval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

paths_by_number[0].update(path='tooleval:demo/restbench', instructions='tooleval:demo/restbench/tmdb_tool.json')
selected_by_number = tooleval_toolbench_selection_easytool_ids_datasets[0]
selected_by_number.update(
    path='tooleval:demo/toolbench', instructions='tooleval:demo/toolbench/instructions.json', encoder='offline'
)
asked = tooleval_toolbench_success_datasets[0]
asked.update(abbr='tooleval-toolbench-success-asked', path='trajectories.jsonl')
datasets = [
    *tooleval_restbench_datasets, *paths_by_number, *tooleval_toolbench_datasets, selected_by_number, asked,
]
models = [
    dict(type=OracleModel, abbr='oracle', run_cfg=dict(num_gpus=0)),
    dict(type=ReplayModel, abbr='replay', path='{dataset}.jsonl', run_cfg=dict(num_gpus=0)),
]
"""
VARIANTS = ('', '-easytool')
ROWS = {subset.name: json.loads((DEMO / 'restbench' / subset.file).read_text('utf-8')) for subset in TABLE}
ENTRIES = json.loads((DEMO / 'restbench' / 'tmdb_tool.json').read_text(encoding='utf-8'))
NUMBERS = {entry['tool_usage']: entry['ID'] for entry in ENTRIES}
CHOSEN = [repr([{'Task': step, 'ID': NUMBERS[step]} for step in row['solution']]) for row in ROWS['tmdb']]
STORED = [{'id': str(i), 'query': f'What is {i}?', 'final_answer': f'It is {i}.' if i else ''} for i in range(6)]


def record_paths(folder: Path) -> None:
    """Paths that lack their last step, paths as numbered lines with one unknown tool, and choices by number."""
    recorded: dict[str, dict[Any, str]] = {}
    for name, rows in ROWS.items():
        golds = [row['solution'] for row in rows]
        numbered = ['\n'.join(f'{i}. {step}' for i, step in enumerate(path, 1)) for path in golds]
        recorded[name] = dict(enumerate(gold_answer(path[:-1]) for path in golds))
        recorded[f'{name}-easytool'] = dict(enumerate(['["GET /nothing"]', *numbered[1:]]))
    unread = {0: 'Let me see.', '0/1': '```', '0/2': CHOSEN[0], 1: repr([{'ID': '1'}])}
    recorded['tmdb-easytool-ids'] = {**dict(enumerate(CHOSEN)), **unread}
    for name, answers in recorded.items():
        record(folder, f'restbench_{name}', answers)


def record(folder: Path, name: str, answers: dict[Any, str]) -> None:
    write_rows(folder / f'{name}.jsonl', ({'id': str(number), 'prediction': text} for number, text in answers.items()))


def record_calls(folder: Path) -> None:
    """Choices of one tool for all requests, calls with errors and without any, and stored final answers."""
    requests = range(101, 108)
    prices = [{'tool': 'Rink Rates', 'api': 'Prices', 'parameters': {key: 'York'}} for key in ('city', 'town')]
    calls = [*prices, {'tool': 'Rink Rates', 'api': 'Book'}, prices[0]]
    for variant in VARIANTS:
        bread = dict.fromkeys(requests, '{"tool": "Loaf Finder"}')
        record(folder, f'toolbench_selection_5{variant}', {**bread, 101: '{"tool": "Moon Finder"}'})
        record(folder, f'toolbench_calls_g3{variant}', {301: 'none', 302: json.dumps(calls)})
        record(folder, f'toolbench_calls_g2{variant}', dict.fromkeys((201, 202, 203), '[]'))
    numbers: dict[int | str, str] = {**dict.fromkeys(requests, '{"ID": 9999}'), 101: 'Well,', '101/1': "{'ID': 9999}"}
    record(folder, 'toolbench_selection_5-easytool-ids', numbers)
    stored = (DEMO / 'toolbench' / 'trajectories.jsonl').read_text(encoding='utf-8')
    asked = write_rows(folder / 'trajectories.jsonl', STORED).read_text(encoding='utf-8')
    answers = (stored + asked).replace('final_answer', 'prediction')
    (folder / 'toolbench_success.jsonl').write_text(answers, encoding='utf-8')


@pytest.fixture(scope='module')
def judge() -> Iterator[ModelServer]:
    server = start_server('--canned', '{"Reason": "It says so.", "Choice": "Yes"}', '--key', 'right')
    yield server
    server.stop()


@pytest.fixture(scope='module')
def ran(judge: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('demo')
    record_paths(folder)
    record_calls(folder)
    judging = {'OC_JUDGE_MODEL': 'tiny', 'OC_JUDGE_API_KEY': 'right', 'OC_JUDGE_API_BASE': judge.url}
    run(folder, CONFIG, TOOLEVAL_CACHE=str(folder / 'cache'), **judging)
    return folder


def restbench(ran: Path, model: str, name: str) -> tuple[float, float, Any]:
    outcome = outcome_of(ran, model, f'restbench-{name}')
    return outcome['correct_path_rate'], outcome['tool_name_error_rate'], outcome


def calls(ran: Path, model: str, name: str) -> tuple[float, float, float, Any]:
    outcome = outcome_of(ran, model, f'toolbench-calls_{name}')
    rates = (outcome[f'{metric}_rate'] for metric in ('error_free', 'tool_name_error', 'parameter_error'))
    return (*rates, outcome)


def assert_same_records(outcomes: list[Any]) -> None:
    """With documentation and with instructions."""
    documented, instructed = (outcome['provenance'] for outcome in outcomes)
    assert documented['records_sha256'] == instructed['records_sha256']
    assert documented['prompts_sha256'] != instructed['prompts_sha256']
    assert (documented['tools'], instructed['tools']) == ('documentation', 'instructions')


@pytest.mark.parametrize('name', ROWS)
def test_paths(ran: Path, name: str) -> None:
    count = len(ROWS[name])
    outcomes = []
    for variant in VARIANTS:
        correct, errors, outcome = restbench(ran, 'oracle', name + variant)
        assert (correct, errors) == (100.0, 0.0)
        assert [detail['id'] for detail in outcome['details']] == [str(row) for row in range(count)]
        outcomes.append(outcome)
    assert_same_records(outcomes)
    assert restbench(ran, 'replay', name)[:2] == (0.0, 0.0)
    correct, errors, outcome = restbench(ran, 'replay', f'{name}-easytool')
    assert (correct, errors) == (100 * (count - 1) / count, 100 / count)
    assert outcome['reasons'] == {'ok': count - 1, 'name:unknown_tool': 1}
    assert outcome['breakdown']['parse_methods'] == {'lines': count - 1, 'literal': 1}


def test_paths_by_number(ran: Path) -> None:
    """EasyTool's own prompt: numbers are chosen, and what cannot be read is asked for again."""
    correct, errors, outcome = restbench(ran, 'oracle', 'tmdb-easytool-ids')
    assert (correct, errors, outcome['provenance']['method']) == (100.0, 0.0, 'easytool')
    correct, errors, outcome = restbench(ran, 'replay', 'tmdb-easytool-ids')
    assert (correct, errors, outcome['reasons']) == (80.0, 0.0, {'ok': 4, 'id:quoted': 1})
    first = outcome_of(ran, 'replay', 'restbench-tmdb-easytool-ids', 'predictions')['0']
    assert [turn['role'] for turn in first['origin_prompt']] == ['SYSTEM', 'HUMAN']
    assert f'following tools:\n{ENTRIES}You need' in first['origin_prompt'][1]['prompt']
    assert first['prediction'] == CHOSEN[0]


@pytest.mark.parametrize('variant', VARIANTS)
def test_choices_and_calls(ran: Path, variant: str) -> None:
    outcome = outcome_of(ran, 'oracle', f'toolbench-selection_5{variant}')
    assert (outcome['accuracy'], outcome['tool_name_error_rate']) == (100.0, 0.0)
    assert outcome['provenance']['candidates_encoder'] == 'offline:all-MiniLM-L6-v2'
    assert [detail['id'] for detail in outcome['details']] == [str(record) for record in range(101, 108)]
    for name in ('g2', 'g3'):
        assert calls(ran, 'oracle', name + variant)[:3] == (100.0, 0.0, 0.0)
    outcome = outcome_of(ran, 'replay', f'toolbench-selection_5{variant}')
    assert outcome['accuracy'] == pytest.approx(100 / 7)
    without_bread = sum(detail['reason'] == 'name:unknown_tool' for detail in outcome['details'][1:])
    assert outcome['tool_name_error_rate'] == pytest.approx(100 / 7 * (1 + without_bread))
    *rates, outcome = calls(ran, 'replay', f'g3{variant}')
    assert (rates, outcome['reasons']) == ([0.0, 25.0, 25.0], {'call:none': 1, 'args:missing': 1})
    assert outcome['breakdown']['codes'] == {'args:missing': 1, 'args:hallucinated_argument': 1, 'name:unknown_api': 1}
    free, *_, outcome = calls(ran, 'replay', f'g2{variant}')
    assert (free, outcome['breakdown']['without_calls']) == (0.0, 3)


def test_choices_by_number(ran: Path) -> None:
    outcome = outcome_of(ran, 'oracle', 'toolbench-selection_5-easytool-ids')
    assert (outcome['accuracy'], outcome['provenance']['method']) == (100.0, 'easytool')
    outcome = outcome_of(ran, 'replay', 'toolbench-selection_5-easytool-ids')
    assert (outcome['accuracy'], outcome['reasons']) == (0.0, {'name:unknown_tool': 7})


def test_variants_are_compared(ran: Path) -> None:
    assert_same_records([calls(ran, 'oracle', f'g2{variant}')[-1] for variant in VARIANTS])
    (table,) = ran.glob('out/*/summary/summary_*_easytool.txt')
    assert 'Documentation against instructions' in table.read_text(encoding='utf-8')


@pytest.mark.parametrize('model', ['oracle', 'replay'])
def test_stored_answers_and_a_replayed_judge(ran: Path, model: str) -> None:
    outcome = outcome_of(ran, model, 'toolbench-success')
    assert (outcome['success_rate'], outcome['provenance']['judge']) == (50.0, 'replayed-judge')
    assert outcome['reasons'] == {'ok': 2, 'judge:no': 1, 'answer:empty': 1}
    (file,) = ran.glob(f'out/*/results/{model}/tooleval-toolbench-success_judgements.jsonl')
    judged = SuccessGrading((), ()).read(file)
    assert [one.found and one.found.value for one in judged] == ['yes', 'no', None, 'yes']


def test_a_judge_over_the_network_is_asked_once(ran: Path, judge: ModelServer) -> None:
    """Nothing is asked about an empty answer, and nothing twice."""
    assert judge.stats()['requests'] == 5
    outcomes = [outcome_of(ran, model, 'toolbench-success-asked') for model in ('oracle', 'replay')]
    assert sorted(outcome['provenance']['judge_calls'] for outcome in outcomes) == [0, 5]
    for outcome in outcomes:
        assert outcome['success_rate'] == pytest.approx(100 * 5 / 6)
        assert outcome['reasons'] == {'ok': 5, 'answer:empty': 1}
        assert 'right' not in json.dumps(outcome['provenance'])
