"""The ledger of a budget: shared by processes, right after kills and damage."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
from pathlib import Path

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.prices import Budget, Prices, budget_of
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.core.scoring.usage_summary import other_row, other_usage, summary_of
from opencompass_tooleval.work_dir.budget_file import Ledger, LockedTask, ledger_file, read_ledger
from opencompass_tooleval.work_dir.lock import exclusive
from opencompass_tooleval.work_dir.names import answers_folder
from opencompass_tooleval.work_dir.store import AnswerStore
from tests.work_dir.processes import hold, kill

BUDGET = Budget('tokens', 1000)
PRICES = Prices(1.0, 2.0)


def ledger(run: Path, task: str = 'a', budget: Budget = BUDGET, name: str = 'm', is_auxiliary: bool = False) -> Ledger:
    return Ledger(LockedTask(run, run / 'predictions' / 'm' / f'.{task}.lock'), name, budget, is_auxiliary)


def test_a_request_waits_for_others_and_is_refused_only_for_what_is_spent(tmp_path: Path) -> None:
    one, other = ledger(tmp_path), ledger(tmp_path, 'b')
    folder = tmp_path / 'predictions' / 'm'
    with exclusive(folder / '.a.lock'), exclusive(folder / '.b.lock'):
        assert one.reserve(600, 100) is True
        assert other.reserve(600, 100) is None and other.reserve(400, 100) is True
        one.settle(600, 100, 150)
        assert one.reserve(600, 100) is None  # 150 are spent and 400 reserved
        other.settle(400, 100, 400)
        assert other.reserve(451, 100) is False and other.reserve(450, 100) is True
    assert read_ledger(ledger_file(tmp_path, 'm', BUDGET)).spent == 550


def test_of_a_killed_task_the_prompts_are_spent_and_nothing_stays_reserved(tmp_path: Path) -> None:
    lock = tmp_path / 'predictions' / 'm' / '.a.lock'
    process = hold(lock)
    killed, other = ledger(tmp_path), ledger(tmp_path, 'b')
    assert killed.reserve(400, 30) and killed.reserve(400, 30)
    assert other.reserve(600, 0) is None
    kill(process)
    assert other.reserve(600, 0) is True
    assert read_ledger(ledger_file(tmp_path, 'm', BUDGET)).spent == 60
    again = ledger(tmp_path, name='again')
    assert again.reserve(900, 30)
    with exclusive(lock):  # it holds the lock of the killed one
        again = ledger(tmp_path, name='again')
        assert again.reserve(970, 30) is True and again.reserve(1, 0) is None


def test_a_budget_on_a_file_system_without_locks_is_refused_with_a_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOLCK, 'No locks available')

    monkeypatch.setattr(fcntl, 'flock', fail)
    with pytest.raises(DataError, match='has no locks, which a budget needs'):
        ledger(tmp_path).reserve(1, 1)


def spend(folder: Path, task: str) -> None:
    """Spends what a task may of the shared budget, and writes how much it was."""
    ledger_of_a, sent = ledger(folder, task), 0
    with exclusive(folder / 'predictions' / 'm' / f'.{task}.lock'):
        while (fits := ledger_of_a.reserve(7, 3)) is not False:
            if fits:
                sent += 7
                ledger_of_a.settle(7, 3, 7)
        (folder / task).write_text(str(sent))


def test_processes_together_stay_within_the_budget(tmp_path: Path) -> None:
    """Each sends what it may, and reports that it took all of it."""
    children = []
    for task in 'abcd':
        if not (child := os.fork()):
            try:
                spend(tmp_path, task)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    try:
        while children:
            assert os.waitpid(children[-1], 0)[1] == 0
            children.pop()
    finally:  # with a lost update, a child waits for ever, also after the test has timed out
        for child in children:
            os.kill(child, signal.SIGKILL)
    sent = [int((tmp_path / task).read_text()) for task in 'abcd']
    assert sum(sent) == 994 == read_ledger(ledger_file(tmp_path, 'm', BUDGET)).spent


def test_what_was_spent_before_there_was_a_ledger_counts(tmp_path: Path) -> None:
    """Of predictions, of stored answers without them, and of a result with its judge; also after damage to the ledger.

    Answers that are stored and in predictions too are counted once, as are the requests of a dialogue.
    """
    folder, results = tmp_path / 'predictions' / 'm', tmp_path / 'results' / 'm'
    for path in (folder, results, tmp_path / 'configs'):
        path.mkdir(parents=True)
    (tmp_path / 'configs' / 'c.py').write_text('')
    row = {'record_id': 'a', 'prediction': 'x', 'usage': Usage(100, 10).to_payload()}
    (folder / 'done.json').write_text(json.dumps({'0': row, '1': {**row, 'record_id': 'b'}}))
    simulator = [other_usage('simulator', 'sim', PRICES, [Usage(20, 5)])]
    AnswerStore(answers_folder(folder / 'begun.json')).append([{**row, 'auxiliary_models': simulator}])
    for name in ('done', 'judged'):
        AnswerStore(answers_folder(folder / f'{name}.json')).append([row, {**row, 'record_id': 'b'}])
    rounds = [{'key': 't', 'round': number, 'usage': row['usage']} for number in range(2)]
    of_dialogue = {**row, 'record_id': 't', 'usage': Usage(200, 20).to_payload()}
    AnswerStore(answers_folder(folder / 'dialogue.json')).append([*rounds, of_dialogue])
    judge = other_row('judge', 'gpt', [Usage(50, 6)], PRICES)
    usage = {**(summary_of([Usage(40, 4)]) or {}), 'auxiliary_models': judge}
    (results / 'judged.json').write_text(json.dumps({'samples': {'all': 1}, 'usage': usage}))
    (folder / 'judged.json').write_text(json.dumps({'0': row}))
    cost = Budget('cost', 5.0, PRICES)
    for name, budget, is_auxiliary, spent in (
        ('m', BUDGET, False, 5 * 110 + 25 + 44 + 56),
        ('m', cost, False, (5 * 120 + 30 + 48 + 62) / 1e6),
        ('gpt', BUDGET, True, 56),
        ('sim', cost, True, 30 / 1e6),
    ):
        file = ledger_file(tmp_path, name, budget, is_auxiliary)
        no_number = b'{"spent": NaN, "in_flight": {}, "not_asked": {}}'
        for damage in (None, b'', b'{"spent": 1', b'\0' * 40, no_number, b'[]'):
            if damage is not None:
                file.write_bytes(damage)
            ledger(tmp_path, 'a', budget, name, is_auxiliary).note_not_asked('begun', 3, 10)
            assert read_ledger(file).spent == pytest.approx(spent)


def test_a_ledger_is_no_link_to_something_else(tmp_path: Path) -> None:
    file = ledger_file(tmp_path, '../../x', BUDGET)
    assert file.parent == tmp_path / 'budgets'
    file.parent.mkdir()
    os.mkfifo(file)
    with pytest.raises(ValueError, match='not a plain file'):
        ledger(tmp_path, name='../../x').reserve(1, 1)


def test_what_is_no_budget() -> None:
    wrong = [{'cost': value} for value in (0, -1, 'a lot')]
    for value in (5, {}, *wrong, {'token': 5}, {'cost': 5, 'tokens': 5}, {'tokens': True}):
        with pytest.raises(ValueError, match=r'should be dict\(cost=...\) or dict\(tokens=...\), a number above 0'):
            budget_of({'budget': value, 'prices': {'input': 1, 'output': 1}})
