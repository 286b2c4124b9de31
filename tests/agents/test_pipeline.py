"""Agents through the real ``opencompass``: the demo's tasks, the oracle, and a repeated run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.tasks.records import TABLE, find_subset
from opencompass_tooleval.core.calls.observation import SOURCES as ALL_SOURCES
from opencompass_tooleval.core.calls.trajectory import parse_trajectory
from tests.forked import start_opencompass

PATIENCE = 1500
CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import OracleModel

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import tooleval_agent_datasets
    from opencompass_tooleval.configs.summarizers.tooleval_agent import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [*tooleval_agent_datasets]
models = [dict(type=OracleModel, abbr=name, path=name, max_out_len=64, batch_size=8, run_cfg=dict(num_gpus=0))
          for name in ['first', 'second']]
"""


SOURCES = {
    'teval': {'exact': 3, 'function': 6, 'other_task': 1, 'error': 2},
    'toolbench_g1': {'exact': 1, 'other_task': 4, 'nearest': 4, 'error': 3},
    'toolbench_g2': {'exact': 5, 'nearest': 1},
    'toolbench_g3': {'exact': 1, 'other_task': 1, 'nearest': 4},
    'ultratool_zh': {'simulated': 13},
    'ultratool_en': {'simulated': 13},
}
"""What answers the calls of native agents."""


def read(folder: Path, kind: str, model: str) -> dict[str, Any]:
    """Data set -> what its predictions or results file holds."""
    files = folder.glob(f'out/*/{kind}/{model}/*.json')
    return {file.stem: json.loads(file.read_text(encoding='utf-8')) for file in files}


def without_path(rows: dict[str, Any]) -> dict[str, Any]:
    return {index: {**row, 'sampling': None} for index, row in rows.items()}


def test_demo(tmp_path: Path) -> None:
    (tmp_path / 'sweep.py').write_text(CONFIG, encoding='utf-8')
    printed = tmp_path / 'printed.txt'
    environment = {**os.environ, 'TOOLEVAL_CACHE': str(tmp_path / 'cache')}
    run = start_opencompass('sweep.py', '-w', 'out', '--debug', cwd=tmp_path, env=environment, output=printed)
    assert run.wait(PATIENCE) == 0, printed.read_text(encoding='utf-8', errors='replace')[-3000:]
    results, predictions = (read(tmp_path, kind, 'first') for kind in ('results', 'predictions'))
    abbrs = {f'tooleval-{row.name}-agent-fc': row for row in TABLE if row.name != 'teval_zh'}
    for loop in ('react', 'react-easytool', 'dfsdt', 'easytool'):
        abbrs[f'tooleval-toolbench_g2-agent-{loop}'] = find_subset('toolbench_g2')
    assert set(results) == set(predictions) == set(abbrs)
    for abbr, subset in abbrs.items():
        full = [metric for metric in subset.metrics if metric.startswith(('finish', 'call', 'arguments', 'all'))]
        assert {metric: results[abbr][metric] for metric in full} == dict.fromkeys(full, 100.0), abbr
        provenance, source = results[abbr]['provenance'], predictions[abbr]['0']['source']
        assert (provenance['benchmark'], provenance['subset']) == ('agents', subset.name)
        assert source.startswith(f'agents_{subset.name}')
        simulator = 'oracle-simulator' if subset.format == 'ultratool' else None
        assert (provenance['bank'] is None, provenance['simulator']) == (simulator is not None, simulator)
        for row in predictions[abbr].values():
            assert parse_trajectory(row['prediction']).final_answer
    second = read(tmp_path, 'predictions', 'second')
    assert {abbr: without_path(rows) for abbr, rows in second.items()} == {
        abbr: without_path(rows) for abbr, rows in predictions.items()
    }
    judged = results['tooleval-toolbench_g1-agent-fc']
    assert (judged['solved_rate'], judged['provenance']['judge']) == (50.0, 'replayed-judge')
    assert judged['breakdown']['judged']['solved']['rates'] == pytest.approx([50.0, 400 / 7, 50.0, 300 / 7])
    (compared,) = tmp_path.glob('out/*/summary/summary_*_easytool.csv')
    summary = compared.with_name(compared.name.replace('_easytool', '')).read_text(encoding='utf-8')
    assert all(abbr in summary for abbr in abbrs)
    assert 'solved_rate,gen *,50.00,50.00' in summary and 'win_rate' not in summary
    assert 'tooleval-toolbench_g2-agent-react' in compared.read_text(encoding='utf-8')
    for name, counted in SOURCES.items():
        sources = results[f'tooleval-{name}-agent-fc']['breakdown']['sources']
        assert sources == {**dict.fromkeys(ALL_SOURCES, 0), **counted}, name

    (file,) = tmp_path.glob('out/*/predictions/second/tooleval-teval-agent-fc.json')
    rows = json.loads(file.read_text(encoding='utf-8'))
    del (raw := json.loads(rows['1']['prediction']))['format']
    file.write_text(json.dumps({**rows, '1': {**rows['1'], 'prediction': json.dumps(raw)}}), encoding='utf-8')
    Path(str(file).replace('predictions', 'results')).unlink()
    words = ('sweep.py', '-w', 'out', '-r', '-m', 'eval', '--debug')
    run = start_opencompass(*words, cwd=tmp_path, env=environment, output=printed)
    assert run.wait(PATIENCE) == 1
    output = printed.read_text(encoding='utf-8', errors='replace')
    assert (
        f'{file.relative_to(tmp_path)}: prediction of task ' in output
        and 'run the tasks again with this version' in output
    )
