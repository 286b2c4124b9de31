"""A data set split over jobs gives what one job gives, and a wrong shard is named."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import ConfigDict
from opencompass.utils import build_dataset_from_cfg

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.partitioner import ToolEvalNumWorkerPartitioner
from opencompass_tooleval.work_dir.shards import (
    check_shards,
    shard_files,
    shard_pattern,
    whole_name,
    whole_of,
)
from tests.forked import run_opencompass

IDS = [f'r{number}' for number in range(7)]
PARTS = [IDS[:3], IDS[3:6], IDS[6:]]


def write_shards(folder: Path, parts: dict[int, list[str]]) -> Path:
    for number, ids in parts.items():
        rows = {str(index): {'record_id': record} for index, record in enumerate(ids)}
        (folder / f'data_{number}.json').write_text(json.dumps(rows))
    return folder / 'data.json'


@pytest.mark.parametrize(
    ('name', 'whole'), [('d_0', 'd'), ('d_v2_12', 'd_v2'), ('d_v2', ''), ('d', ''), ('7', ''), ('_7', ''), ('d_', '')]
)
def test_a_shard_is_told_by_the_number_behind_its_name(name: str, whole: str) -> None:
    assert whole_of(name) == whole
    shards = re.compile(shard_pattern(whole or 'd'))
    assert bool(shards.fullmatch(name)) == bool(whole or name == 'd')


def test_whole_shards(tmp_path: Path) -> None:
    whole = write_shards(tmp_path, dict(enumerate(PARTS)))
    (tmp_path / 'data_v2_0.json').write_text('{}')
    files = shard_files(whole)
    assert [file.name for file in files] == ['data_0.json', 'data_1.json', 'data_2.json']
    check_shards(files, IDS)


@pytest.mark.parametrize(
    ('parts', 'says'),
    [
        pytest.param({0: PARTS[0], 2: PARTS[2]}, r'data_1\.json: this shard is missing', id='missing'),
        pytest.param({0: PARTS[0], 1: PARTS[1]}, r'data_1\.json: the shards end here with 6 of 7', id='last missing'),
        pytest.param(
            {0: PARTS[0], 1: PARTS[0], 2: PARTS[2]}, r'data_1\.json.*3 records are missing \(r3', id='doubled'
        ),
        pytest.param({0: PARTS[0], 1: IDS[4:], 2: []}, r'data_1\.json.*1 records are missing \(r3\)', id='shifted'),
        pytest.param({0: PARTS[0], 1: ['r5', 'r4', 'r3'], 2: ['r6']}, r'data_1\.json.*another order', id='reordered'),
        pytest.param(
            {0: PARTS[0], 1: PARTS[1], 2: ['r6', 'x']}, r'data_2\.json.*1 do not belong here \(x\)', id='more'
        ),
    ],
)
def test_wrong_shards_are_named(tmp_path: Path, parts: dict[int, list[str]], says: str) -> None:
    with pytest.raises(DataError, match=says):
        check_shards(shard_files(write_shards(tmp_path, parts)), IDS)


def test_a_cut_shard_is_named(tmp_path: Path) -> None:
    whole = write_shards(tmp_path, dict(enumerate(PARTS)))
    (tmp_path / 'data_1.json').write_text('{"0": {"record_')
    with pytest.raises(DataError, match=r'data_1\.json: the predictions cannot be read'):
        check_shards(shard_files(whole), IDS)


def test_a_name_that_ends_in_a_number_need_not_be_a_shard() -> None:
    datasets = {'x', 'x_1', 'y_2'}
    names = {'x': 'x', 'x_0': 'x', 'x_1': 'x_1', 'x_1_3': 'x_1', 'y_2': 'y_2', 'y_2_0': 'y_2', 'z_0': 'z_0'}
    assert {name: whole_name(name, datasets) for name in names} == names


def demo_dataset(**changes: Any) -> ConfigDict:
    from opencompass_tooleval.benchmarks.teval.adapter import ToolEvalTEvalDataset

    reader = {'input_columns': ['messages'], 'output_column': 'record'}
    path = 'tooleval:demo/teval/EN'
    return ConfigDict(
        abbr='data', type=ToolEvalTEvalDataset, path=path, name='review_str_v2', reader_cfg={**reader, **changes}
    )


def partition(out_dir: Path, num_worker: int) -> list[Any]:
    partitioner = ToolEvalNumWorkerPartitioner(str(out_dir), num_worker=num_worker, min_task_size=1)
    combination = {'models': [ConfigDict(abbr='model', type='M')], 'datasets': [demo_dataset()]}
    return list(partitioner.partition([combination], 'work', str(out_dir)))


def test_sizes_are_counted_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stale = tmp_path / '.cache' / 'dataset_size.json'
    stale.parent.mkdir()
    stale.write_text('{"data": 2}')
    partitioner = ToolEvalNumWorkerPartitioner(str(tmp_path), num_worker=2, min_task_size=1)
    size = partitioner.get_size(demo_dataset())
    assert size > 2 and partitioner.get_size(demo_dataset(test_range='[1:3]')) == 2
    ranges = [part['reader_cfg']['test_range'] for part in partitioner.split_dataset(demo_dataset())]
    assert ranges[0].startswith('[0:') and int(ranges[-1].partition(':')[2][:-1]) >= size
    assert stale.read_text() == '{"data": 2}'


@pytest.mark.parametrize(
    ('test_range', 'wanted'),
    [('', '0123456'), ('[1:3]', '12'), ('[::6]', '06'), ('[:5][3:]', '34'), (2, None), (0.5, None)],
)
def test_a_range_selects_records_of_which_each_is_repeated(test_range: Any, wanted: str | None, tmp_path: Path) -> None:
    dataset = demo_dataset(test_range=test_range)
    once = build_dataset_from_cfg(dataset).test['record_id']
    everything = build_dataset_from_cfg(demo_dataset()).test['record_id']
    assert wanted is None or once == [everything[int(number)] for number in wanted if int(number) < len(everything)]
    dataset['n'] = 3
    assert build_dataset_from_cfg(dataset).test['record_id'] == once * 3
    partitioner = ToolEvalNumWorkerPartitioner(str(tmp_path), num_worker=2, min_task_size=1)
    combination = {'models': [ConfigDict(abbr='model', type='M')], 'datasets': [dataset]}
    parts = [part for job in partitioner.partition([combination], 'w', str(tmp_path)) for part in job['datasets'][0]]
    if not isinstance(test_range, str):  # OpenCompass's partitioner writes '2[0:3]'
        return
    asked = [record for part in parts for record in build_dataset_from_cfg(part).test['record_id']]
    assert len(parts) == 2 and asked == once * 3


def test_a_part_may_lack_as_many_answers_as_the_whole(tmp_path: Path) -> None:
    from opencompass_tooleval.inferencers.inferencer import ToolEvalGenInferencer

    partitioner = ToolEvalNumWorkerPartitioner(str(tmp_path), num_worker=2, min_task_size=1)
    for share, expected in ((None, 0.01), (0.2, 0.4), (0.7, 1.0)):
        dataset = demo_dataset()
        dataset['infer_cfg'] = ConfigDict(inferencer=ConfigDict(type=ToolEvalGenInferencer))
        if share is not None:
            dataset.infer_cfg.inferencer.max_infra_share = share
        parts = partitioner.split_dataset(dataset)
        assert [part.infer_cfg.inferencer.max_infra_share for part in parts] == [expected] * 2
        assert dataset.infer_cfg.inferencer.get('max_infra_share') == share


def test_shards_of_another_split_are_refused(tmp_path: Path) -> None:
    size = ToolEvalNumWorkerPartitioner(str(tmp_path)).get_size(demo_dataset())
    (tmp_path / 'model').mkdir()
    write_shards(tmp_path / 'model', {0: [str(number) for number in range(size - 1)]})
    with pytest.raises(DataError, match=r'data_0\.json: it holds \d+ records, not \d+: .* another num_worker'):
        partition(tmp_path, 2)


CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.partitioner import ToolEvalNumWorkerPartitioner

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

wanted = ['tooleval-teval-review_str_v2', 'tooleval-ultratool-tool_usage_zh']
datasets = [row for row in datasets if row['abbr'] in wanted]
models = [dict(type=OracleModel, abbr='noisy', noise=0.5, seed=3, batch_size=2, run_cfg=dict(num_gpus=0))]
if SPLIT == 'shards':
    infer['partitioner'] = dict(type=ToolEvalNumWorkerPartitioner, num_worker=3, min_task_size=1)
elif SPLIT == 'replicas':
    infer['partitioner']['replicas'] = 3
    infer['runner']['max_num_workers'] = 3
"""


def test_three_jobs_give_what_one_gives(tmp_path: Path) -> None:
    results = {}
    for split in ('', 'shards', 'replicas'):
        folder = tmp_path / (split or 'whole')
        folder.mkdir()
        (folder / 'sweep.py').write_text(CONFIG.replace('SPLIT', repr(split)))
        debug = [] if split == 'replicas' else ['--debug']
        done = run_opencompass('sweep.py', '-w', 'out', *debug, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        assert {file.name for file in folder.iterdir()} == {'sweep.py', 'out'}  # nothing is left where it was started
        results[split] = {file.name: json.loads(file.read_text()) for file in folder.glob('out/*/results/noisy/*.json')}
        (table,) = folder.glob('out/*/summary/summary_*.csv')
        results[split]['csv'] = table.read_text()
        files = [file.name for file in folder.glob('out/*/predictions/noisy/*')]
        assert len(files) == (6 if split == 'shards' else 2)
        logs = [file.name for file in folder.glob('out/*/logs/infer/noisy/*.out')]
        assert len(logs) == {'': 0, 'shards': len(logs), 'replicas': 3}[split]
    assert results['shards'] == results['replicas'] == results[''] and len(results['']) == 3
