"""RestBench through the ``opencompass`` command: demo records, and the real ones if they exist."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.restbench.records import TABLE, gold_answer
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions
from opencompass_tooleval.tool_docs.sources import load_docs
from opencompass_tooleval.tool_docs.template import template_instruction
from tests.benchmarks.restbench.support import DEMO, SHARED, loaded
from tests.forked import run_opencompass
from tests.instructions.shared_data import real

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import OracleModel, ReplayModel

with read_base():
    from opencompass_tooleval.configs.summarizers.tooleval_restbench import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer
IMPORTS

models = [
    dict(type=OracleModel, abbr='oracle', run_cfg=dict(num_gpus=0)),
    dict(type=ReplayModel, abbr='replay', path='{dataset}.jsonl', run_cfg=dict(num_gpus=0)),
]
"""
DEMO_IMPORTS = """
    from opencompass_tooleval.configs.datasets.demo.tooleval_restbench_demo_gen import tooleval_restbench_datasets
    from opencompass_tooleval.configs.datasets.restbench.tooleval_restbench_easytool_gen import (
        tooleval_restbench_tmdb_easytool_ids_datasets,
    )

for row in tooleval_restbench_tmdb_easytool_ids_datasets:
    row['path'] = 'tooleval:demo/restbench'
    row['instructions'] = 'tooleval:demo/restbench/tmdb_tool.json'
datasets = [*tooleval_restbench_datasets, *tooleval_restbench_tmdb_easytool_ids_datasets]
"""
REAL_IMPORTS = """
    from opencompass_tooleval.configs.datasets.restbench.tooleval_restbench_easytool_gen import (
        tooleval_restbench_spotify_easytool_datasets,
    )
    from opencompass_tooleval.configs.datasets.restbench.tooleval_restbench_gen import (
        tooleval_restbench_spotify_datasets,
    )
    from opencompass_tooleval.configs.datasets.restbench.tooleval_restbench_easytool_gen import (
        tooleval_restbench_tmdb_easytool_datasets,
    )
    from opencompass_tooleval.configs.datasets.restbench.tooleval_restbench_gen import (
        tooleval_restbench_tmdb_datasets,
    )

datasets = [
    *tooleval_restbench_tmdb_datasets,
    *tooleval_restbench_tmdb_easytool_datasets,
    *tooleval_restbench_spotify_datasets,
    *tooleval_restbench_spotify_easytool_datasets,
]
for row in datasets:
    row['gold'] = 'repaired'
"""
VARIANTS = ('', '-easytool')
ROWS = {subset.name: json.loads((DEMO / subset.file).read_text(encoding='utf-8')) for subset in TABLE}
COUNTS = {name: len(rows) for name, rows in ROWS.items()}
ENTRIES = json.loads((DEMO / 'tmdb_tool.json').read_text(encoding='utf-8'))
NUMBERS = {entry['tool_usage']: entry['ID'] for entry in ENTRIES}
CHOSEN = [repr([{'Task': step, 'ID': NUMBERS[step]} for step in row['solution']]) for row in ROWS['tmdb']]


def answers(folder: Path, name: str, variant: str, given: list[str]) -> None:
    rows = [{'id': str(row), 'prediction': answer} for row, answer in enumerate(given)]
    file = folder / f'restbench_{name}{variant}.jsonl'
    file.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')


def run(folder: Path, imports: str, **environment: str) -> str:
    (folder / 'mine.py').write_text(CONFIG.replace('IMPORTS', imports))
    env = {**os.environ, **environment}
    done = run_opencompass('mine.py', '-w', 'out', '--debug', cwd=folder, env=env)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def result(folder: Path, model: str, abbr: str) -> dict[str, Any]:
    (file,) = folder.glob(f'out/*/results/{model}/tooleval-restbench-{abbr}.json')
    outcome: dict[str, Any] = json.loads(file.read_text(encoding='utf-8'))
    return outcome


def rates(outcome: dict[str, Any]) -> tuple[float, float]:
    return outcome['correct_path_rate'], outcome['tool_name_error_rate']


@pytest.fixture(scope='module')
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The oracle and recorded answers on the demo's records, by names and by numbers."""
    folder = tmp_path_factory.mktemp('restbench')
    for subset in TABLE:
        golds = [row['solution'] for row in ROWS[subset.name]]
        numbered = ['\n'.join(f'{i}. {step}' for i, step in enumerate(path, 1)) for path in golds]
        answers(folder, subset.name, '', [gold_answer(path[:-1]) for path in golds])
        answers(folder, subset.name, '-easytool', ['["GET /nothing"]', *numbered[1:]])
    recorded = dict(enumerate(CHOSEN)) | {0: 'Let me see.', '0/1': '```', '0/2': CHOSEN[0], 1: repr([{'ID': '1'}])}
    lines = [json.dumps({'id': str(record_id), 'prediction': answer}) for record_id, answer in recorded.items()]
    (folder / 'restbench_tmdb-easytool-ids.jsonl').write_text('\n'.join(lines), encoding='utf-8')
    run(folder, DEMO_IMPORTS)
    return folder


@pytest.mark.parametrize(('name', 'count'), COUNTS.items())
def test_demo_records(ran: Path, name: str, count: int) -> None:
    for variant in VARIANTS:
        outcome = result(ran, 'oracle', name + variant)
        assert rates(outcome) == (100.0, 0.0)
        assert [detail['id'] for detail in outcome['details']] == [str(row) for row in range(count)]
        assert outcome['provenance']['tools'] == ('instructions' if variant else 'documentation')
        assert ('instructions_sha256' in outcome['provenance']) == bool(variant)
    assert rates(result(ran, 'replay', name)) == (0.0, 0.0)
    outcome = result(ran, 'replay', f'{name}-easytool')
    assert rates(outcome) == (100 * (count - 1) / count, 100 / count)
    assert outcome['reasons'] == {'ok': count - 1, 'name:unknown_tool': 1}
    assert outcome['breakdown']['parse_methods'] == {'lines': count - 1, 'literal': 1}
    documented, instructed = (result(ran, 'oracle', name + variant)['provenance'] for variant in VARIANTS)
    assert documented['records_sha256'] == instructed['records_sha256']
    assert documented['prompts_sha256'] != instructed['prompts_sha256']
    (table,) = ran.glob('out/*/summary/summary_*_easytool.txt')
    assert 'Documentation against instructions' in table.read_text(encoding='utf-8')


def test_published_method(ran: Path) -> None:
    """EasyTool's own prompt: numbers are chosen, and what cannot be read is asked for again."""
    outcome = result(ran, 'oracle', 'tmdb-easytool-ids')
    assert rates(outcome) == (100.0, 0.0)
    assert outcome['provenance']['method'] == 'easytool'
    assert outcome['provenance']['tools'] == 'instructions'
    outcome = result(ran, 'replay', 'tmdb-easytool-ids')
    assert rates(outcome) == (80.0, 0.0)
    assert outcome['reasons'] == {'ok': 4, 'id:quoted': 1}
    (file,) = ran.glob('out/*/predictions/replay/tooleval-restbench-tmdb-easytool-ids.json')
    predictions = json.loads(file.read_text(encoding='utf-8'))
    asked = predictions['0']['origin_prompt']
    assert [turn['role'] for turn in asked] == ['SYSTEM', 'HUMAN']
    assert f'following tools:\n{ENTRIES}You need' in asked[1]['prompt']
    assert predictions['0']['prediction'] == CHOSEN[0]


@pytest.mark.long
def test_real_records(tmp_path: Path) -> None:
    document = real('restbench/specs/spotify_oas.json')
    data = tmp_path / 'cache' / 'data'
    (data / 'easytool').mkdir(parents=True)
    (data / 'restbench').symlink_to(SHARED / 'data' / 'restbench')
    (data / 'easytool' / 'tmdb_tool.json').symlink_to(real('easytool/tmdb_tool.json'))
    made = dump_instructions(map(template_instruction, load_docs('openapi', document)))
    (data / 'easytool' / 'spotify_tool.json').write_text(made, encoding='utf-8')
    for name in ('tmdb', 'spotify'):
        for variant in VARIANTS:
            answers(tmp_path, name, variant, [gold_answer(record.published) for record in loaded(name)[0]])
    run(tmp_path, REAL_IMPORTS, COMPASS_DATA_CACHE=str(tmp_path / 'cache'))
    for name, count in (('tmdb', 100), ('spotify', 57)):
        for variant in VARIANTS:
            outcome = result(tmp_path, 'oracle', name + variant)
            assert rates(outcome) == (100.0, 0.0)
            assert outcome['samples']['all'] == count
            assert outcome['provenance']['gold'] == 'repaired'
    assert rates(result(tmp_path, 'replay', 'tmdb')) == (100.0, 0.0)  # blanks and placeholders are no matter
    assert rates(result(tmp_path, 'replay', 'spotify')) == pytest.approx((100 * 56 / 57, 100 / 57))
