"""ToolBench through the ``opencompass`` command: demo records, real ones if they exist, and judges."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.toolbench.success import SuccessGrading
from tests.benchmarks.toolbench.support import DEMO, write_rows
from tests.conftest import ModelServer, start_server
from tests.forked import run_opencompass
from tests.instructions.shared_data import DATA, real

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import OracleModel, ReplayModel

with read_base():
    from opencompass_tooleval.configs.summarizers.tooleval_toolbench import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer
IMPORTS

models = [dict(type=OracleModel, abbr='oracle', run_cfg=dict(num_gpus=0))]
"""
DEMO_IMPORTS = """
    from opencompass_tooleval.configs.datasets.demo.tooleval_toolbench_demo_gen import tooleval_toolbench_datasets
    from opencompass_tooleval.configs.datasets.toolbench.tooleval_toolbench_easytool_gen import (
        tooleval_toolbench_selection_easytool_ids_datasets,
    )

ids = tooleval_toolbench_selection_easytool_ids_datasets[0]
ids['path'] = 'tooleval:demo/toolbench'
ids['instructions'] = 'tooleval:demo/toolbench/instructions.json'
ids['encoder'] = 'offline'
datasets = [*tooleval_toolbench_datasets, ids]
"""
REAL_IMPORTS = """
    from opencompass_tooleval.configs.datasets.toolbench.tooleval_toolbench_gen import (
        tooleval_toolbench_calls_datasets as datasets,
    )
"""
SUCCESS_IMPORTS = """
    from opencompass_tooleval.configs.datasets.toolbench.tooleval_toolbench_success_gen import (
        tooleval_toolbench_success_datasets as datasets,
    )
datasets[0]['path'] = 'trajectories.jsonl'
"""
REPLAY = "models.append(dict(type=ReplayModel, abbr='replay', path='{dataset}.jsonl', run_cfg=dict(num_gpus=0)))\n"


def run(folder: Path, text: str, **environment: str) -> str:
    (folder / 'mine.py').write_text(text)
    env = {**os.environ, 'TOOLEVAL_CACHE': str(folder / 'cache'), **environment}
    done = run_opencompass('mine.py', '-w', 'out', '--debug', cwd=folder, env=env)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def result(folder: Path, model: str, abbr: str) -> dict[str, Any]:
    (file,) = folder.glob(f'out/*/results/{model}/tooleval-toolbench-{abbr}.json')
    outcome: dict[str, Any] = json.loads(file.read_text(encoding='utf-8'))
    return outcome


def answers(folder: Path, name: str, rows: dict[str, str]) -> None:
    write_rows(folder / f'{name}.jsonl', [{'id': record, 'prediction': answer} for record, answer in rows.items()])


def test_demo_records(tmp_path: Path) -> None:
    for variant in ('', '-easytool'):
        bread = {str(record): '{"tool": "Loaf Finder"}' for record in range(101, 108)}
        answers(tmp_path, f'toolbench_selection_5{variant}', {**bread, '101': '{"tool": "Moon Finder"}'})
        calls = [
            {'tool': 'Rink Rates', 'api': 'Prices', 'parameters': {'city': 'York'}},
            {'tool': 'Rink Rates', 'api': 'Prices', 'parameters': {'town': 'York'}},
            {'tool': 'Rink Rates', 'api': 'Book'},
        ]
        answers(tmp_path, f'toolbench_calls_g3{variant}', {'301': 'none', '302': json.dumps([*calls, calls[0]])})
        answers(tmp_path, f'toolbench_calls_g2{variant}', dict.fromkeys(('201', '202', '203'), '[]'))
    stored = (DEMO / 'trajectories.jsonl').read_text(encoding='utf-8')
    (tmp_path / 'toolbench_success.jsonl').write_text(stored.replace('final_answer', 'prediction'), encoding='utf-8')
    numbers = {str(record): '{"ID": 9999}' for record in range(102, 108)}
    answers(tmp_path, 'toolbench_selection_5-easytool-ids', {**numbers, '101': 'Well,', '101/1': "{'ID': 9999}"})
    run(tmp_path, CONFIG.replace('IMPORTS', DEMO_IMPORTS) + REPLAY)
    for variant in ('', '-easytool'):
        outcome = result(tmp_path, 'oracle', f'selection_5{variant}')
        assert (outcome['accuracy'], outcome['tool_name_error_rate']) == (100.0, 0.0)
        assert outcome['provenance']['candidates_encoder'] == 'offline:all-MiniLM-L6-v2'
        assert outcome['provenance']['tools'] == ('instructions' if variant else 'documentation')
        assert [detail['id'] for detail in outcome['details']] == [str(record) for record in range(101, 108)]
        for name in ('calls_g2', 'calls_g3'):
            outcome = result(tmp_path, 'oracle', name + variant)
            rates = outcome['error_free_rate'], outcome['tool_name_error_rate'], outcome['parameter_error_rate']
            assert rates == (100.0, 0.0, 0.0)
        outcome = result(tmp_path, 'replay', f'selection_5{variant}')
        assert outcome['accuracy'] == pytest.approx(100 / 7)
        assert outcome['tool_name_error_rate'] == pytest.approx(100 / 7 * (1 + _without_bread(outcome)))
        outcome = result(tmp_path, 'replay', f'calls_g3{variant}')
        rates = outcome['error_free_rate'], outcome['tool_name_error_rate'], outcome['parameter_error_rate']
        assert rates == (0.0, 25.0, 25.0)
        assert outcome['reasons'] == {'call:none': 1, 'args:missing': 1}
        assert outcome['breakdown']['codes'] == {
            'args:missing': 1,
            'args:hallucinated_argument': 1,
            'name:unknown_api': 1,
        }
        outcome = result(tmp_path, 'replay', f'calls_g2{variant}')
        assert (outcome['error_free_rate'], outcome['breakdown']['without_calls']) == (0.0, 3)
    documented, instructed = (result(tmp_path, 'oracle', f'calls_g2{v}')['provenance'] for v in ('', '-easytool'))
    assert documented['records_sha256'] == instructed['records_sha256']
    assert documented['prompts_sha256'] != instructed['prompts_sha256']
    (table,) = tmp_path.glob('out/*/summary/summary_*_easytool.txt')
    assert 'Documentation against instructions' in table.read_text(encoding='utf-8')
    for model in ('oracle', 'replay'):  # what is stored, both times
        outcome = result(tmp_path, model, 'success')
        assert outcome['success_rate'] == 50.0
        assert outcome['reasons'] == {'ok': 2, 'judge:no': 1, 'answer:empty': 1}
        assert outcome['provenance']['judge'] == 'replayed-judge'
        (file,) = tmp_path.glob(f'out/*/results/{model}/tooleval-toolbench-success_judgements.jsonl')
        judged = SuccessGrading((), ()).read(file)
        assert [one.found and one.found.value for one in judged] == [
            'yes',
            'no',
            None,
            'yes',
        ]
    # EasyTool's own prompt: a number is chosen, and what cannot be read is asked for again.
    outcome = result(tmp_path, 'oracle', 'selection_5-easytool-ids')
    assert (outcome['accuracy'], outcome['tool_name_error_rate']) == (100.0, 0.0)
    assert outcome['provenance']['method'] == 'easytool'
    outcome = result(tmp_path, 'replay', 'selection_5-easytool-ids')
    assert (outcome['accuracy'], outcome['reasons']) == (0.0, {'name:unknown_tool': 7})


def _without_bread(outcome: dict[str, Any]) -> int:
    """Requests but the first among whose candidates is no Loaf Finder."""
    return sum(detail['reason'] == 'name:unknown_tool' for detail in outcome['details'][1:])


@pytest.mark.long
def test_real_records(tmp_path: Path) -> None:
    real('toolbench/G2_category.json')
    run(tmp_path, CONFIG.replace('IMPORTS', REAL_IMPORTS), COMPASS_DATA_CACHE=str(DATA.parent))
    for name, count in (('calls_g2', 124), ('calls_g3', 61)):
        outcome = result(tmp_path, 'oracle', name)
        rates = outcome['error_free_rate'], outcome['tool_name_error_rate'], outcome['parameter_error_rate']
        assert rates == (100.0, 0.0, 0.0)
        assert outcome['samples'] == {'all': count, 'infra': 0}
        assert outcome['breakdown']['relevant_called'] == 100.0


def _judge(server: ModelServer) -> dict[str, str]:
    return {'OC_JUDGE_MODEL': 'tiny', 'OC_JUDGE_API_KEY': 'right', 'OC_JUDGE_API_BASE': server.url}


def test_a_judge_over_the_network_is_asked_once(tmp_path: Path) -> None:
    rows = [{'id': str(i), 'query': f'What is {i}?', 'final_answer': f'It is {i}.' if i else ''} for i in range(6)]
    write_rows(tmp_path / 'trajectories.jsonl', rows)
    server = start_server('--canned', '{"Reason": "It says so.", "Choice": "Yes"}', '--key', 'right')
    try:
        again = "models.append(dict(type=OracleModel, abbr='again', run_cfg=dict(num_gpus=0)))\n"
        run(tmp_path, CONFIG.replace('IMPORTS', SUCCESS_IMPORTS) + again, **_judge(server))
        assert server.stats()['requests'] == 5  # nothing is asked about an empty answer, and nothing twice
        outcomes = [result(tmp_path, model, 'success') for model in ('oracle', 'again')]
        assert sorted(outcome['provenance']['judge_calls'] for outcome in outcomes) == [0, 5]
        for outcome in outcomes:
            assert outcome['success_rate'] == pytest.approx(100 * 5 / 6)
            assert outcome['reasons'] == {'ok': 5, 'answer:empty': 1}
            assert 'right' not in json.dumps(outcome['provenance'])
    finally:
        server.stop()
