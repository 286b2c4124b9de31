"""A data set split over jobs gives what one job gives, and a wrong shard is named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import ConfigDict
from opencompass.utils import build_dataset_from_cfg

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.partitioner import ToolEvalNumWorkerPartitioner
from opencompass_tooleval.work_dir.names import answers_folder, whole_name
from opencompass_tooleval.work_dir.shards import check_shards, parts_of, read_predictions, shard_files
from opencompass_tooleval.work_dir.store import Answers, AnswerStore, Row, keys_of, write_json
from opencompass_tooleval.work_dir.stored import ask_more, join_parts
from tests.conftest import ModelServer, sweep_of
from tests.forked import run_opencompass

IDS = [f'r{number}' for number in range(7)]
PARTS = [IDS[:3], IDS[3:6], IDS[6:]]


def write_shards(folder: Path, parts: dict[int, list[str]]) -> Path:
    for number, ids in parts.items():
        rows = {str(index): {'record_id': record} for index, record in enumerate(ids)}
        (folder / f'data_{number}.json').write_text(json.dumps(rows))
    return folder / 'data.json'


@pytest.mark.parametrize(('parts', 'says'), [
    pytest.param({0: PARTS[0], 2: PARTS[2]}, r'data_1\.json: this shard is missing', id='missing'),
    pytest.param({0: PARTS[0], 1: PARTS[1]}, r'data_1\.json: the shards end here with 6 of 7', id='last missing'),
    pytest.param({0: PARTS[0], 1: PARTS[0], 2: PARTS[2]}, r'data_1\.json.*3 records are missing \(r3', id='doubled'),
    pytest.param({0: PARTS[0], 1: IDS[4:], 2: []}, r'data_1\.json.*1 records are missing \(r3\)', id='shifted'),
    pytest.param({0: PARTS[0], 1: ['r5', 'r4', 'r3'], 2: ['r6']}, r'data_1\.json.*another order', id='reordered'),
    pytest.param({0: PARTS[0], 1: PARTS[1], 2: ['r6', 'x']}, r'data_2\.json.*1 do not belong here \(x\)', id='more'),
])  # fmt: skip
def test_whole_shards_pass_and_wrong_ones_are_named(tmp_path: Path, parts: dict[int, list[str]], says: str) -> None:
    (tmp_path / 'data_v2_0.json').write_text('{}')
    with pytest.raises(DataError, match=says):
        check_shards(shard_files(write_shards(tmp_path, parts)), IDS)
    whole = write_shards(tmp_path, dict(enumerate(PARTS)))
    files = shard_files(whole)
    assert [file.name for file in files] == ['data_0.json', 'data_1.json', 'data_2.json']
    check_shards(files, IDS)
    (tmp_path / 'data_1.json').write_text('{"0": {"record_')
    with pytest.raises(DataError, match=r'data_1\.json: the predictions cannot be read'):
        check_shards(shard_files(whole), IDS)


def test_a_name_that_ends_in_a_number_need_not_be_a_shard() -> None:
    datasets = {'x', 'x_1', 'y_2'}
    names = {'x': 'x', 'x_0': 'x', 'x_1': 'x_1', 'x_1_3': 'x_1', 'y_2': 'y_2', 'y_2_0': 'y_2', 'z_0': 'z_0'}
    assert {name: whole_name(name, datasets) for name in names} == names


def demo_dataset(**changes: Any) -> ConfigDict:
    from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalDataset

    reader = {'input_columns': ['messages'], 'output_column': 'record', **changes}
    about = {'path': 'tooleval:demo/teval/EN', 'name': 'review_str_v2', 'reader_cfg': reader}
    return ConfigDict(abbr='data', type=ToolEvalTEvalDataset, **about)


@pytest.mark.parametrize(
    ('test_range', 'wanted'), [('', '0123456'), ('[1:3]', '12'), ('[:5][3:]', '34'), (2, None), (0.5, None)]
)
def test_a_range_selects_records_of_which_each_is_repeated(test_range: Any, wanted: str | None) -> None:
    dataset = demo_dataset(test_range=test_range)
    once = build_dataset_from_cfg(dataset).test['record_id']
    everything = build_dataset_from_cfg(demo_dataset()).test['record_id']
    assert wanted is None or once == [everything[int(number)] for number in wanted if int(number) < len(everything)]
    dataset['n'] = 3
    assert build_dataset_from_cfg(dataset).test['record_id'] == once * 3


CONFIG = """
from mmengine.config import read_base
from opencompass.partitioners import NumWorkerPartitioner
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.partitioner import ToolEvalNumWorkerPartitioner

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

wanted = ['tooleval-teval-review_str_v2', 'tooleval-ultratool-tool_usage_zh']
datasets = [row for row in datasets if row['abbr'] in wanted]
models = [dict(type=OracleModel, abbr='noisy', noise=0.5, seed=3, batch_size=2, run_cfg=dict(num_gpus=0))]
infer['runner']['max_num_workers'] = 3
if SPLIT == 'shards':
    infer['partitioner'] = dict(type=NumWorkerPartitioner, num_worker=3, min_task_size=1)
elif SPLIT == 'num_worker':
    infer['partitioner'] = dict(type=ToolEvalNumWorkerPartitioner, num_worker=3, min_task_size=1)
elif SPLIT == 'replicas':
    infer['partitioner']['replicas'] = 3
"""


@pytest.mark.parametrize(
    'splits', [('', 'replicas'), pytest.param(('', 'shards', 'num_worker', 'replicas'), marks=pytest.mark.long)]
)
def test_three_jobs_give_what_one_gives(tmp_path: Path, splits: Sequence[str]) -> None:
    results: dict[str, dict[str, Any]] = {}
    for split in splits:
        folder = tmp_path / (split or 'whole')
        folder.mkdir()
        (folder / 'sweep.py').write_text(CONFIG.replace('SPLIT', repr(split)))
        debug = [] if split in ('num_worker', 'replicas') else ['--debug']
        done = run_opencompass('sweep.py', '-w', 'out', *debug, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        names = {file.name for file in folder.iterdir()}
        assert names == {'sweep.py', 'out', *(['.cache'] if split == 'shards' else [])}
        results[split] = {file.name: json.loads(file.read_text()) for file in folder.glob('out/*/results/noisy/*.json')}
        digests = {name: one['computed_from'].pop('predictions_sha256') for name, one in results[split].items()}
        if split != 'shards':  # whose bytes are others
            results[split]['digests'] = digests
        (table,) = folder.glob('out/*/summary/summary_*.csv')
        results[split]['csv'] = table.read_text()
        (predictions,) = folder.glob('out/*/predictions/noisy')
        files = {file.stem for file in predictions.glob('*.json')}
        assert len(files) == (6 if split == 'shards' else 2)
        assert {file.name for file in predictions.iterdir()} == {
            f'{name}.{kind}' for name in files for kind in ('json', 'answers')
        }
        if split in ('num_worker', 'replicas'):
            assert len([*folder.glob('out/*/logs/infer/noisy/*.out')]) == 3
        assert ('min_task_size of the partitioner: no effect' in done.stdout + done.stderr) == (split == 'num_worker')
    if 'shards' in results:
        results['shards']['digests'] = results['']['digests']
    assert all(one == results[''] for one in results.values()) and len(results['']) == 4


NAME = 'tooleval-teval-review_str_v2'
TWICE = """
from opencompass.partitioners import NumWorkerPartitioner
from opencompass_tooleval.partitioner import ToolEvalNumWorkerPartitioner
datasets[0]['n'] = 2
infer['partitioner'] = PARTITIONER
"""
SHARDS = "dict(type=NumWorkerPartitioner, num_worker=3, min_task_size=1, dataset_size_path='', force_rebuild=True)"
REPLICAS = 'dict(type=ToolEvalNumWorkerPartitioner, num_worker=2)'


def remove(file: Path) -> None:
    """Removes predictions with their answers, as if nothing had been asked."""
    shutil.rmtree(answers_folder(file))
    file.unlink()


def unfinish(file: Path, keep: int, fails: bool = False) -> None:
    """Turns finished predictions into what a killed task leaves: their first answers, in another order."""
    rows = list(json.loads(file.read_text()).values())
    kept = {index: rows[index] for index in reversed(range(keep))}
    if fails:
        kept[keep] = {**rows[keep], 'infra': 'infra:timeout', 'prediction': ''}
    remove(file)
    answers_of(file, [row['record_id'] for row in rows]).update(kept)


def answers_of(file: Path, record_ids: list[str]) -> Answers:
    """The stored answers to records, as the inferencer reads them."""
    store = AnswerStore(answers_folder(file))
    answers = Answers(store, keys_of(record_ids), lambda index, row: True, lambda row: bool(row.get('infra')))
    answers.read()
    return answers


@pytest.mark.long
def test_shards_of_an_earlier_run_keep_their_answers(tmp_path: Path, canned_server: ModelServer) -> None:
    """The server gets the questions that the shards lack, and the predictions are those of a whole run."""
    sweep, config = tmp_path / 'sweep.py', sweep_of(NAME, more=TWICE, openai_api_base=canned_server.url, max_workers=4)
    sweep.write_text(config.replace('PARTITIONER', SHARDS))
    done = run_opencompass('sweep.py', '-w', 'out', cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,), (run,) = tmp_path.glob('out/*/predictions/api'), tmp_path.glob('out/*')
    shards = [folder / f'{NAME}_{number}.json' for number in range(3)]
    rows = [row for shard in shards for row in json.loads(shard.read_text()).values()]
    assert len(rows) == 12 and [row['record_id'] for row in rows[:6]] == [row['record_id'] for row in rows[6:]]
    for file in run.glob('results/*/*.json'):
        file.unlink()
    unfinish(shards[1], 2, fails=True)
    remove(shards[2])
    other = folder / f'{NAME}_7.json'  # a data set that an earlier config of the run selected, with such a name
    other.write_text('{}')
    earlier = run / 'configs' / '20200101_000000.py'
    earlier.write_text(f"models = [dict(abbr='api')]\ndatasets = [dict(abbr='{NAME}_7')]\n")
    os.utime(earlier, (0, 0))
    (run / 'configs' / '20200101_000001.py').write_text('models = [dict(')  # of a run that ended on a full disk
    canned_server.reset()
    sweep.write_text(config.replace('PARTITIONER', REPLICAS))
    done = run_opencompass('sweep.py', '-w', 'out', '-r', cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert canned_server.stats()['requests'] == 12 - 4 - 2
    whole = list(json.loads((folder / f'{NAME}.json').read_text()).values())
    assert [row['record_id'] for row in whole] == [row['record_id'] for row in rows]
    assert not any(row['infra'] for row in whole) and [file.name for file in run.glob('results/*/*.json')]
    assert sorted(file.name for file in folder.iterdir()) == [f'{NAME}.answers', f'{NAME}.json', other.name]


def write_part(file: Path, rows: list[Row], keep: list[int] | None = None, is_stored: bool = True) -> None:
    """Writes what a job leaves of its shard: all answers, or those to some of its records without predictions."""
    answers = answers_of(file, [row['record_id'] for row in rows])
    if is_stored or keep:
        answers.update({index: rows[index] for index in (range(len(rows)) if keep is None else keep)})
    if keep is None:
        write_json(file, ((str(index), row) for index, row in enumerate(rows)))


class Dying:
    """Patches what changes names of files, so that the process ends after so many changes."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.has_died = False

    def patch(self, patch: pytest.MonkeyPatch) -> None:
        for name in ('unlink', 'rename', 'rmdir', 'replace'):
            patch.setattr(os, name, self._dying(getattr(os, name)))

    def _dying(self, function: Any) -> Any:
        def changes(*arguments: Any, **options: Any) -> Any:
            if not self.left:
                self.has_died = True
                raise KeyboardInterrupt
            self.left -= 1
            return function(*arguments, **options)

        return changes


@pytest.mark.parametrize('others', ['finished', 'finished by an earlier version', 'unfinished'])
@pytest.mark.parametrize('trials', [1, 2])
def test_a_kill_while_shards_are_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trials: int, others: str
) -> None:
    """At each change of a file's name; then again from the beginning. A shard may have trials of another one's records.

    The last shard has an unfinished dialogue, whose requests are not repeated if there is one trial.
    """
    is_stored, keep = others != 'finished by an earlier version', [*range(5)] if others == 'unfinished' else None
    record_ids = [f'r{number}' for number in range(14 // trials)] * trials
    rows = [{'record_id': record, 'prediction': str(number)} for number, record in enumerate(record_ids)]
    for left in range(99):
        folder = tmp_path / str(left)
        folder.mkdir()
        whole, parts = folder / 'data.json', [folder / f'data_{number}.json' for number in range(3)]
        write_part(parts[1], rows[5:10], keep, is_stored=is_stored)
        write_part(parts[2], rows[10:], keep=[3, 0])
        AnswerStore(answers_folder(parts[2])).append([{'key': rows[11]['record_id'], 'round': 0, 'answer': 'x'}])
        write_part(parts[0], rows[:5], keep, is_stored=is_stored)
        assert parts_of(whole) == parts
        dying = Dying(left)
        with monkeypatch.context() as patch:
            dying.patch(patch)
            try:
                join_parts(whole, parts)
            except KeyboardInterrupt:
                assert dying.has_died
        for _ in range(2):
            join_parts(whole, parts_of(whole))
        answers = answers_of(whole, record_ids)
        joined = [row['prediction'] for row in answers.in_order()]
        assert sorted(joined, key=int) == [*map(str, range(11)), '13'], left
        assert trials > 1 or [*answers.store.rounds] == [rows[11]['record_id']], left
        assert [file.name for file in folder.iterdir()] == ['data.answers']
        if not dying.has_died:
            break
    assert not dying.has_died and left > 5


@pytest.mark.parametrize('is_stored', [True, False], ids=['with stores', 'finished by an earlier version'])
def test_joined_shards_are_added_to_what_the_whole_has(tmp_path: Path, is_stored: bool) -> None:
    """A single task has asked two records of the first shard: one is answered, the other request has failed."""
    whole, parts = tmp_path / 'data.json', [tmp_path / f'data_{number}.json' for number in range(2)]
    rows = [{'record_id': record, 'prediction': f'{record} of a shard'} for record in IDS]
    stored = {0: {**rows[0], 'prediction': 'stored'}, 1: {**rows[1], 'prediction': '', 'infra': 'infra:timeout'}}
    answers_of(whole, IDS).update({index: {**row, 'time': 1.0} for index, row in stored.items()})
    write_part(parts[0], rows[:4], is_stored=is_stored)
    write_part(parts[1], rows[4:], keep=[1])
    join_parts(whole, parts)
    answers = answers_of(whole, IDS)
    assert [*answers.in_order()] == [stored[0], *rows[1:4], rows[5]] and answers.again == {}


@pytest.mark.parametrize('is_stored', [True, False], ids=['with a store', 'of an earlier version'])
def test_a_kill_while_predictions_are_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_stored: bool
) -> None:
    """Their answers are stored before the file is removed, and once."""
    rows = [{'record_id': record, 'prediction': str(number)} for number, record in enumerate([*IDS, *IDS])]
    for left in range(9):
        folder = tmp_path / str(left)
        folder.mkdir()
        file = folder / 'data.json'
        write_part(file, rows, is_stored=is_stored)
        dying = Dying(left)
        with monkeypatch.context() as patch:
            dying.patch(patch)
            try:
                ask_more(file)
            except KeyboardInterrupt:
                assert dying.has_died
        if file.exists():
            assert dying.has_died and read_predictions(file) == rows
            ask_more(file)
        assert [*answers_of(file, [*IDS, *IDS]).in_order()] == rows
        assert len(list(AnswerStore(answers_folder(file)).read())) == len(rows)
        assert {one.name for one in folder.iterdir() if one.suffix != '.lock'} == {'data.answers'}
        if not dying.has_died:
            break
    assert not dying.has_died and left >= 1


def test_shards_of_another_package_are_refused(tmp_path: Path) -> None:
    """Their rows have no ids: OpenCompass's own partitioner continues them."""
    model, dataset = ConfigDict(abbr='model', type='M'), demo_dataset()
    out = tmp_path / 'predictions'
    (out / 'model').mkdir(parents=True)
    (out / 'model' / 'data_0.json').write_text('{}')
    partitioner = ToolEvalNumWorkerPartitioner(str(out), num_worker=2)
    with pytest.raises(SystemExit, match=r"data_0\.json: OpenCompass has split.*'NumWorkerPartitioner'"):
        partitioner.partition([{'models': [model], 'datasets': [dataset]}], 'work', str(out))
    other = ConfigDict({**dataset, 'abbr': 'data_0'})  # not a shard then
    tasks = partitioner.partition([{'models': [model], 'datasets': [dataset, other]}], 'work', str(out))
    assert [row['abbr'] for task in tasks for row in task['datasets'][0]] == ['data']
