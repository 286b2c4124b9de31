"""Which stored answers count, after changes of settings, limits, prompts and partitioners, and what they cost."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.scoring.sampling_settings import AnswerLimit, StoredAnswers
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.inferencers.inferencer import InfraFailureError, ToolEvalGenInferencer
from opencompass_tooleval.work_dir.run_context import in_context
from opencompass_tooleval.work_dir.stored import Records, ask_more, is_unfinished, join_parts, other_settings
from tests.inferencers.test_inferencer import Run, StubModel, make_rows
from tests.stored import store_rows, stored_in

COOL, HOT = {'temperature': 0.5}, {'temperature': 0.9}
TIMEOUT = Answer('', 'infra:timeout')


class Settings:
    """Runs of one data set, each with other settings or records."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def go(
        self,
        sampling: Mapping[str, Any] = COOL,
        use: str = 'ask',
        says: str = '',
        fails: bool = False,
        count: int = 4,
        **more: Any,
    ) -> tuple[list[str], list[str]]:
        """Returns the records asked, and the predictions; the answers are ``says`` and the record."""
        model = StubModel(lambda prompt: TIMEOUT if fails else f'{says}{prompt.record_id}')
        run = Run(self.folder, make_rows(count), model, **more)
        with in_context(stored=StoredAnswers(sampling, use)):
            rows = run.go()
        return model.records_asked(), [row['prediction'] for row in rows]

    @property
    def file(self) -> Path:
        return self.folder / 'stub.json'

    @property
    def records(self) -> Records:
        return Records(tuple(f'r{index}' for index in range(4)), 'digest')


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path)


def test_settings_that_change_back_find_their_answers_also_if_others_have_failed(settings: Settings) -> None:
    _, cool = settings.go(says='cool ')
    ask_more(settings.file)
    assert settings.go(HOT, says='hot ') == (['r0', 'r3', 'r1', 'r2'], [f'hot r{index}' for index in range(4)])
    unset = StoredAnswers(COOL, '')
    # The predictions are those of other settings, and the store has the right ones: nobody needs to decide.
    assert not other_settings(settings.file, settings.folder / 'result', lambda: settings.records, unset)
    assert is_unfinished(settings.file, settings.folder / 'result', settings.records, None, unset)
    ask_more(settings.file)
    with pytest.raises(InfraFailureError):
        settings.go({'temperature': 1.0}, fails=True)
    assert settings.go(COOL, '', fails=True) == ([], cool)


def test_settings_of_records_that_are_not_selected_do_not_matter(settings: Settings) -> None:
    settings.go(count=10)
    ask_more(settings.file)
    settings.go(HOT, count=4)
    result = settings.folder / 'result.json'
    samples = {'samples': {'all': 4}, 'provenance': {'sampling': [HOT], 'records_sha256': 'digest'}}
    result.write_text(json.dumps(samples))
    settings.file.unlink()
    assert not other_settings(settings.file, result, lambda: settings.records, StoredAnswers(HOT, ''))
    assert settings.go(HOT, '') == ([], [f'r{index}' for index in range(4)])
    more = Records(tuple(f'r{index}' for index in range(6)), 'other')
    different = other_settings(settings.file, result, lambda: more, StoredAnswers(HOT, ''))
    assert different == Counter({'temperature 0.5, now 0.9': 2}), 'r4 and r5 are stored with other settings only'


def test_a_failed_try_with_a_higher_limit_leaves_the_cut_answer(tmp_path: Path) -> None:
    def go(limit: int, answer: Answer, **more: Any) -> list[dict[str, Any]]:
        run = Run(tmp_path, make_rows(2), StubModel(lambda prompt: answer), **more)
        settings: dict[str, Any] = {'model': run.model, 'max_out_len': 16, 'decided_limit': AnswerLimit(limit, '')}
        run.inferencer = ToolEvalGenInferencer(output_json_filepath=str(tmp_path), **settings)
        return run.go()

    assert [row['prediction'] for row in go(16, Answer('cut', finish_reason='length'))] == ['cut'] * 2
    ask_more(tmp_path / 'stub.json')
    with pytest.raises(InfraFailureError):
        go(32, TIMEOUT)
    assert [row['prediction'] for row in go(16, TIMEOUT)] == ['cut'] * 2, 'nothing is asked with the limit of before'


class TwoRounds:
    """Dialogues of two requests."""

    def __call__(self, row: Mapping[str, Any]) -> Dialogue[str]:
        first = yield ModelRequest((Message('user', 'one'),))
        second = yield ModelRequest((Message('user', 'two'),))
        return first.text + second.text


def answers_one(prompt: Any) -> Answer:
    whole = Answer('x', None, 'stop', usage=Usage(prompt=10, completion=0))
    return whole if 'one' in str(prompt) else Answer('', 'infra:timeout', usage=Usage(prompt=1, completion=0))


def test_what_a_dialogue_without_a_store_has_cost_counts_once(tmp_path: Path) -> None:
    """Imported predictions have no rows of requests."""
    options: dict[str, Any] = {'max_infra_share': 1, 'dialogues': {'type': TwoRounds}}

    def go(reply: Any) -> Any:
        (row,) = Run(tmp_path, make_rows(1), StubModel(reply), **options).go()
        return row['usage']['prompt']

    failed = Answer('', 'infra:timeout', usage=Usage(prompt=1000, completion=0))
    assert go(lambda prompt: failed) == 1000
    shutil.rmtree(tmp_path / 'stub.answers')
    costs = []
    for reply in (answers_one, answers_one, lambda _: Answer('x', None, 'stop', usage=Usage(prompt=10, completion=0))):
        ask_more(tmp_path / 'stub.json')
        costs.append(go(reply))
    assert costs == [1000 + 10 + 1, 1000 + 10 + 2, 1000 + 10 + 2 + 10]


def said_in_shard(start: int, prompt: Any) -> str:
    return f'{prompt.record_id} of the shard from {start}'


def parts_of(folder: Path, *parts: tuple[int, int]) -> list[Path]:
    """Answers the rows of ``[r0, r1, r2] * 2`` in shards; of the last shard all but the last answer is there."""
    rows, files = make_rows(3) * 2, []
    for number, (start, stop) in enumerate(parts):
        trial = StubModel(partial(said_in_shard, start))
        run = Run(folder, rows[start:stop], trial)
        run.predictions_name = f'stub_{number}.json'
        run.go()
        files.append(folder / run.predictions_name)
    files[-1].unlink()
    (stored,) = files[-1].with_suffix('.answers').glob('*.jsonl')
    stored.write_text(''.join(stored.read_text().splitlines(keepends=True)[:-1]))
    return files


@pytest.mark.parametrize('parts', [((0, 3), (3, 6)), ((0, 2), (2, 4), (4, 6))])
def test_shards_of_several_trials_become_a_whole(tmp_path: Path, parts: tuple[tuple[int, int], ...]) -> None:
    join_parts(tmp_path / 'stub.json', parts_of(tmp_path, *parts))
    assert [path.name for path in tmp_path.iterdir()] == ['stub.answers']
    run = Run(tmp_path, make_rows(3) * 2)
    predictions = [row['prediction'] for row in run.go()]
    starts = [start for start, stop in parts for _ in range(start, stop)]
    kept = [f'r{index % 3} of the shard from {start}' for index, start in enumerate(starts)]
    changed = [(was, now) for was, now in zip(kept, predictions, strict=True) if was != now]
    assert len(run.model.records_asked()) == 1 == len(changed) and changed[0][1].startswith('answer to')


def test_an_answer_of_megabytes_is_cut_before_it_is_stored(tmp_path: Path) -> None:
    (row,) = Run(tmp_path, make_rows(1), StubModel(lambda prompt: ',' * 9_000_000)).go()
    assert row['prediction'] == ',' * 1_000_000


HOSTILE: list[dict[str, Any]] = [
    {'time': int('9' * 400)},
    {'time': True},
    {'attempt': -5},
    {'attempt': True},
    {'attempt': 1 << 70},
    {'infra': ['x']},
    {'prediction': None},
    {'record_id': ['r0']},
    {'round': 7, 'key': ['a']},
]


@pytest.mark.parametrize('row', HOSTILE, ids=str)
def test_a_row_of_any_kind_ends_nothing(tmp_path: Path, row: dict[str, Any]) -> None:
    whole = {'record_id': 'r0', 'prediction': 'stored', 'infra': None}
    store_rows(tmp_path / 'stub.json', [{**whole, **row}, {**whole, 'record_id': 'r1'}])
    run = Run(tmp_path, make_rows(3))
    predictions = [row['prediction'] for row in run.go()]
    assert predictions[1:] == ['stored', 'answer to r2'] and run.model.records_asked()[-1:] != ['r1']
    assert predictions[0] in ('stored', 'answer to r0')


def test_more_files_than_may_be_open_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('opencompass_tooleval.work_dir.store._MOST_OPEN', 3)
    for index in range(9):
        store_rows(tmp_path / 'stub.json', [{'record_id': f'r{index}', 'prediction': f'stored {index}'}])
    assert len(stored_in(tmp_path / 'stub.answers').files()) == 9
    run = Run(tmp_path, make_rows(9))
    assert [row['prediction'] for row in run.go()] == [f'stored {index}' for index in range(9)]
    assert run.model.asked == []
