"""ToolEvalDialogueGenInferencer with a small model in this process: batches, order, resuming, failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.work_dir.unanswered import ask_again, find_unanswered
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.inferencers.test_inferencer import Run as InferencerRun
from tests.inferencers.test_inferencer import StubModel, make_rows
from tests.stored import stored_rows


class Countdown:
    """Dialogues of as many rounds as the record's number says, and ``more``."""

    def __init__(self, more: int = 1) -> None:
        self._more = more

    def __call__(self, row: Mapping[str, Any]) -> Dialogue[str]:
        said = []
        for number in range(int(row['record_id'][1:]) % 4 + self._more):
            said.append(
                (yield ModelRequest((Message('user', f'{row["record"]}, round {number}'),), f'gold {number}')).text
            )
        return '|'.join(said)


def where(prompt: Any) -> str:
    return str(prompt[-1]['prompt'])


class Run(InferencerRun):
    """One call of the inferencer on eight rows, in ``folder``."""

    def __init__(self, folder: Path, model: StubModel | None = None, copies: int = 1, **changes: Any) -> None:
        settings = {'batch_size': 100, 'dialogues': {'type': Countdown, 'more': 1}, **changes}
        answers = model or StubModel(lambda prompt: f'<{where(prompt)}>')
        super().__init__(folder, make_rows(8) * copies, answers, **settings)


def expected(index: int) -> str:
    return '|'.join(f'<gold of r{index}, round {number}>' for number in range(index % 4 + 1))


def test_each_round_is_one_batch_of_all_that_go_on(tmp_path: Path) -> None:
    run = Run(tmp_path)
    rows = run.go()
    assert [len(batch) for batch in run.model.asked] == [8, 6, 4, 2]
    assert [row['prediction'] for row in rows] == [expected(index) for index in range(8)]
    assert [row['record_id'] for row in rows] == [f'r{index}' for index in range(8)]
    assert [row['gold'] for row in rows] == [f'gold of r{index}' for index in range(8)]
    assert {row['infra'] for row in rows} == {None}
    assert rows[0]['origin_prompt'][-1]['prompt'] == 'question 0'
    run = Run(tmp_path / 'named', StubModel(lambda prompt: f'{prompt.source} {prompt.record_id} {prompt.gold_answer}'))
    rows = run.go()
    assert rows[1]['prediction'] == 'stub_v2 r1 gold 0|stub_v2 r1/1 gold 1'
    run = Run(tmp_path / 'copies', copies=2)
    rows = run.go()
    assert [len(batch) for batch in run.model.asked] == [16, 12, 8, 4]
    assert [row['prediction'] for row in rows] == [expected(index) for index in range(8)] * 2
    assert [row['record_id'] for row in rows] == [f'r{index}' for index in range(8)] * 2


def fails_on(what: str, answer: Callable[[], Answer]) -> StubModel:
    return StubModel(lambda prompt: answer() if what in where(prompt) else f'<{where(prompt)}>')


def killed() -> Answer:
    raise KeyboardInterrupt


@pytest.mark.parametrize('what', ['r0, round 0', 'r6, round 1'])
def test_a_killed_run_asks_only_what_is_missing(what: str, tmp_path: Path) -> None:
    run = Run(tmp_path / 'killed', fails_on(what, killed), batch_size=2)
    with pytest.raises(KeyboardInterrupt):
        run.go()
    kept = [row for row in stored_rows(run.store) if 'round' in row]
    assert len(kept) == sum(map(len, run.model.asked[:-1]))
    again = Run(run.folder, batch_size=2)
    again.go()
    assert sum(map(len, again.model.asked)) == 20 - len(kept)
    Run(tmp_path / 'whole').go()
    assert (run.folder / 'stub.json').read_bytes() == (tmp_path / 'whole' / 'stub.json').read_bytes()


def test_a_retry_asks_only_what_has_no_answer(tmp_path: Path) -> None:
    work, folder = WorkDir(tmp_path), tmp_path / 'predictions' / 'stub'
    Run(folder, fails_on('r3, round 2', lambda: Answer('', 'infra:timeout')), max_infra_share=1).go()
    ask_again(work, list(find_unanswered(work)))
    run = Run(folder)
    rows = run.go()
    assert [row['prediction'] for row in rows] == [expected(index) for index in range(8)]
    assert run.model.asked == [['r3/2'], ['r3/3']], 'the answers to its first requests are stored'


class Silent:
    """Dialogues of one round that end in a call and no text."""

    def __call__(self, row: Mapping[str, Any]) -> Dialogue[Answer]:
        yield ModelRequest((Message('user', row['record']),), '')
        return Answer('', calls=(ToolCall('search', {'row': row['record_id']}),))


def test_dialogues_are_named_by_class_or_by_text_and_may_end_in_calls(tmp_path: Path) -> None:
    rows = Run(tmp_path, dialogues={'type': Silent}).go()
    assert [row['prediction'] for row in rows] == [''] * 8
    assert [row['calls'][0]['arguments'] for row in rows] == [{'row': f'r{index}'} for index in range(8)]
    # A dumped config, which is what workers read, holds text.
    run = Run(tmp_path / 'dumped', dialogues={'type': f'{Countdown.__module__}.Countdown', 'more': 2})
    run.go()
    assert [len(batch) for batch in run.model.asked] == [8, 8, 6, 4, 2]
