"""work_dir/progress and work_dir/work_dir: answers, locks and logs of tasks, and the status read from them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg

from opencompass_tooleval.cli.status import show_status
from opencompass_tooleval.work_dir.lock import exclusive
from opencompass_tooleval.work_dir.names import Replica, answers_folder, lock_path, sweep_lock
from opencompass_tooleval.work_dir.progress import Cell, State, dataset_abbr, look, model_abbr
from opencompass_tooleval.work_dir.replicas import Claims
from opencompass_tooleval.work_dir.store import AnswerStore
from opencompass_tooleval.work_dir.work_dir import WorkDir, last_error

PREFIX = '11/21 12:17:33 - OpenCompass - '
TASK = f'{PREFIX}INFO - Task [m/plan_v2,m/plan_v2_zh,m/easytool-plan_v2]\n'
RETRIED = f'{PREFIX}ERROR - /x/api_model.py - _try - 9 - http://h/v1: RateLimitError: slow down\n'
TRACEBACK = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    x\n{0}\n'
FAILED_ZH = f'{PREFIX}ERROR - /x/going_on.py - attempt - 29 - FAILED plan_v2_zh: DataError: no plan_v2: gone\n'
END = f'{PREFIX}INFO - time elapsed: 3.20s\n'
CUT = 'slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n'
PREEMPTED = 'slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO PREEMPTION ***\n'


def row_of(record_id: str, time: float = 1.0) -> dict[str, Any]:
    """The row of an answer."""
    return {'record_id': record_id, 'prediction': 'x', 'time': time}


class Run(WorkDir):
    """A run made by hand."""

    def add_log(self, text: str, name: str = 'plan_v2', stage: str = 'infer', age: float = 0) -> Path:
        file = self.path / 'logs' / stage / 'm' / f'{name}.out'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding='utf-8')
        time = file.stat().st_mtime - age
        os.utime(file, (time, time))
        return file

    def store(self, *rows: Mapping[str, Any], dataset: str = 'plan_v2') -> None:
        """Stores answers as a task does that has ended."""
        AnswerStore(answers_folder(self.predictions('m', dataset))).append(list(map(dict, rows)))

    def lock(self, dataset: str = 'plan_v2') -> Path:
        return lock_path(self.predictions('m', dataset))

    def configure(self, models: Iterable[str], datasets: Iterable[str]) -> None:
        of_models, of_datasets = ([{'abbr': name} for name in names] for names in (models, datasets))
        text = f'models = {of_models}\ndatasets = {of_datasets}\n'
        (self.path / 'configs' / 'a.py').write_text(text, encoding='utf-8')

    def cell(self, dataset: str = 'plan_v2') -> Cell:
        return look(self, 'm', dataset)

    def error(self, dataset: str = 'plan_v2') -> str:
        return self.cell(dataset).error


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / 'configs').mkdir()
    config = tmp_path / 'configs' / 'a.py'
    config.touch()
    os.utime(config, (1, 1))
    return Run(tmp_path)


def test_a_shard_is_of_its_data_set(run: Run) -> None:
    log = run.add_log(FAILED_ZH.replace('plan_v2_zh', 'plan_v2_1'), 'plan_v2_1', age=9)
    run.add_log('fine', 'plan_v2_0')
    assert run.cell().state is State.FAILED and run.cell().log == log


@pytest.mark.parametrize(
    ('end', 'error'),
    [
        (END + TRACEBACK.format('openai.NotFoundError: no model'), 'NotFoundError'),
        (END + TRACEBACK.format('KeyboardInterrupt'), 'KeyboardInterrupt'),
        ('[rank0]: ' + TRACEBACK.format('[rank0]: ValueError: x'), 'ValueError'),
        (CUT, 'DUE TO TIME LIMIT'),
        ('element.sh: line 3:  42 Killed   python -m x\n', 'Killed'),
        (PREEMPTED, ''),
        (CUT + TASK, ''),
        ('SomeLib: ImportError: falls back\n', ''),
    ],
)
def test_what_ended_a_task_failed_all_that_is_left_of_it(run: Run, end: str, error: str) -> None:
    run.add_log(TASK + RETRIED + end)
    assert error in run.error() and error in run.error('plan_v2_zh')
    assert run.cell().state is (State.FAILED if error else State.WAITING)
    with exclusive(run.lock('plan_v2_zh')):
        assert run.cell().state is State.WAITING
        assert run.cell('plan_v2_zh').state is State.RUNNING


def test_only_the_data_set_that_failed_has_failed(run: Run) -> None:
    run.add_log(TASK + RETRIED)
    assert {run.cell(name).state for name in ('plan_v2', 'plan_v2_zh')} == {State.WAITING}
    trace = TRACEBACK.format('DataError: no plan_v2: gone')
    run.add_log(TASK + FAILED_ZH + trace + TASK)
    assert run.cell('plan_v2_zh').state is State.FAILED and 'DataError: no plan_v2' in run.error('plan_v2_zh')
    assert {run.cell(name).state for name in ('plan_v2', 'easytool-plan_v2')} == {State.WAITING}
    said = TRACEBACK.format('TaskFailedError: 1 data sets failed:\nplan_v2_zh: DataError: gone')
    run.add_log(TASK + FAILED_ZH + END + said)
    assert run.error('plan_v2_zh') == 'plan_v2_zh: DataError: gone'


def test_errors_before_the_newest_start_are_past(run: Run) -> None:
    failed = TASK + FAILED_ZH + END
    run.add_log(failed + TASK)  # Slurm appends
    assert run.error('plan_v2_zh') == ''
    run.add_log(failed, age=50)
    assert run.error('plan_v2_zh')
    run.add_log(TASK, 'plan_v2_zh', age=20)  # the resumed task has other data sets, and so another log
    assert run.error('plan_v2_zh') == ''


def test_a_sweep_that_was_started_again_waits(run: Run) -> None:
    run.add_log(TASK + FAILED_ZH, age=50)
    (run.path / 'configs' / 'b.py').touch()
    assert run.cell('plan_v2_zh').state is State.FAILED
    with exclusive(sweep_lock(run.path)):
        assert run.cell('plan_v2_zh').state is State.WAITING


def test_what_is_the_reason_where_no_data_set_is_named(run: Run) -> None:
    assert 'slow down' in last_error(run.add_log(TASK + RETRIED + TASK))
    assert last_error(run.path / 'none') == ''
    words = 'srun: error: Unable to create step for job 7: More processors requested than permitted\n'
    after = 'srun: error: n1: task 0: Exited with exit code 1\n'
    ended = f'Traceback (most recent call last):\nValueError: the cause\n{after}'
    for text, error in ((words, words.strip()), (ended, 'ValueError: the cause')):
        assert {last_error(run.add_log(text), name) for name in ('', 'd')} == {error}


def test_samples_are_counted_once_and_only_with_an_answer(run: Run) -> None:
    """Of dialogues, not their rounds; and no time is negative, where an earlier data set was larger."""
    rows = [('0', None), ('1', 'infra:timeout'), ('2', None), ('2', None), ('3', 'infra:server'), ('3', None)]
    for in_order in (rows, rows[::-1]):
        run.store(*({'record_id': record, 'prediction': '', 'infra': infra} for record, infra in in_order))
    again = {'record_id': '4', 'prediction': '', 'infra': None}
    run.store({**again, 'infra': 'infra:server', 'attempt': 1}, {**again, 'trial': 1}, {**again, 'prediction': 4})
    run.store({**again, 'infra': 'infra:server', 'trial': 1, 'attempt': 1}, {**again, 'trial': 2})
    rounds = ({'key': str(number % 4), 'round': number // 4, 'answer': 'x'} for number in range(10))
    run.store(*rounds, dataset='dialogues')
    with exclusive(run.lock(), 7), exclusive(run.lock('dialogues'), 3):
        cell, of_dialogues = run.cell(), run.cell('dialogues')
    assert (cell.state, cell.answered, cell.samples) == (State.RUNNING, 5, 7)
    assert (of_dialogues.answered, of_dialogues.rate, of_dialogues.seconds_left) == (3, None, None)
    assert Cell('m', 'd', State.RUNNING, 10, 4, 2.0).seconds_left == 0


def test_each_replica_has_its_rate(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run.configure(['m'], ['plan_v2'])
    whole = run.predictions('m', 'plan_v2')
    whole.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for number, seconds in enumerate((1.0, 0.25)):
            claims = Claims(whole, Replica(number, 2, 'x'))
            stack.enter_context(exclusive(claims.lock, 20))
            claims.begin()
            claims.divide(range(20), [1] * 20, 1, set)
            claims.store.append([row_of(f'{number} {index}', 1000.0 + index * seconds) for index in range(5)])
        cell = run.cell()
        assert (cell.state, cell.answered, cell.samples, cell.rate) == (State.RUNNING, 10, 20, 5.0)
        assert sorted(cell.rates) == [1.0, 4.0] and cell.seconds_left == 2.0
        show_status(run.path)
        assert '10 of 20, 5.0 samples/s by 2 replicas (1.0 + 4.0), 0:00:02 left' in capsys.readouterr().out
        rounds = [{'key': f'a{number}', 'round': 0} for number in range(3)]
        claims.store.append([*rounds, {**row_of('a1'), 'infra': None}])
        assert (run.cell().answered, run.cell().samples) == (13, 20)  # a0 and a2 have begun, a1 has ended


def test_a_finished_shard_is_counted_once(run: Run) -> None:
    """Its answers are stored, and in its predictions."""
    usage = {'prompt': 10, 'completion': 1, 'requests': 1}
    for number, ids in enumerate(('abc', 'de')):
        run.store(*({**row_of(name), 'usage': usage} for name in ids), dataset=f'plan_v2_{number}')
    file = run.predictions('m', 'plan_v2_0')
    file.write_text(json.dumps({str(index): {**row_of(name), 'usage': usage} for index, name in enumerate('abc')}))
    cell = run.cell()
    assert (cell.state, cell.answered) == (State.WAITING, 5) and cell.spent
    assert (cell.spent.prompt, cell.spent.completion) == (50, 5)


def test_a_task_knows_how_many_stored_answers_it_uses(run: Run) -> None:
    """Its config may not accept all of them. Of replicas, each knows what was stored before and its own answers."""
    run.store(*map(row_of, 'abc'), {'key': 'd', 'round': 0})
    assert run.cell().answered == 4
    with exclusive(run.lock(), 20) as reporter:
        assert run.cell().answered == 4
        reporter.has_answered(2, 1, [])
        reporter.waits_for('')  # this writes at once
        assert run.cell().answered == 2 + 1
        left = run.lock().read_text()
    run.lock().write_text(left)  # as after kill -9: the answers that came in later are stored
    assert run.cell().answered == 4
    run.lock().unlink()
    claims = [Claims(run.predictions('m', 'plan_v2'), Replica(number, 2, 'x')) for number in range(2)]
    with exclusive(claims[0].lock, 20) as one, exclusive(claims[1].lock, 20) as other:
        for replica, reporter, answered in zip(claims, (one, other), (8, 6), strict=True):
            replica.begin()
            reporter.has_answered(answered, 3, [])
            reporter.waits_for('')
        assert run.cell().answered == 3 + 5 + 3 + 1


def test_the_rate_of_a_replica_is_that_of_its_sweep(run: Run) -> None:
    """A pause between two sweeps slows nobody down."""
    claims = Claims(run.predictions('m', 'plan_v2'), Replica(0, 2, 'y'))
    store = AnswerStore(claims.store.folder, 'x-0-start0001.jsonl')
    store.append([row_of(f'x {index}', 1000.0 + index) for index in range(5)])
    with exclusive(claims.lock, 20):
        claims.begin()
        claims.divide(range(20), [1] * 20, 1, set)
        claims.store.append([row_of(f'y {index}', 90_000.0 + index / 2) for index in range(5)])
        assert run.cell().rate == 2.0


@pytest.mark.parametrize(
    'member', [{'attempt': -1}, {'attempt': 'x'}, {'time': 10**400}, {'trial': -1}, {'trial': '1'}]
)
def test_a_row_of_any_kind_is_counted(run: Run, member: Mapping[str, Any]) -> None:
    """A run may come from anybody."""
    run.store({**row_of('a'), **member}, {'key': 'b', 'round': 0, **member})
    assert run.cell().answered == 2


def test_answers_that_are_moved_while_they_are_counted_are_no_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of shards that another process joins."""
    run.store(row_of('a'), {'key': 'b', 'round': 0})
    folder, read = answers_folder(run.predictions('m', 'plan_v2')), AnswerStore.read

    def moves(store: AnswerStore) -> Iterator[Any]:
        yield from read(store)
        for file in store.files():
            file.rename(folder.with_name(file.name))

    monkeypatch.setattr(AnswerStore, 'read', moves)
    assert run.cell().state is State.WAITING


def test_a_job_that_waits_for_its_server_says_so(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run.store(row_of('a'))
    run.configure(['m'], ['plan_v2'])
    with exclusive(run.lock(), 20) as reporter:
        reporter.waits_for('http://h/v1 has not been reached for 32 s')
        show_status(run.path)
        shown = capsys.readouterr().out
        assert 'running  m x plan_v2: 1 of 20, WAITING: http://h/v1 has not been reached for 32 s' in shown
        reporter.waits_for('')
        assert (run.cell().waiting, run.cell().samples) == ('', 20)


def test_models_and_data_sets_are_named_as_opencompass_names_them() -> None:
    models: list[Any] = [
        {'abbr': 'own/name', 'type': 'T', 'path': 'a/b'},
        {'type': 'package.Model', 'path': 'org/folder/model'},
        {'type': 'Model', 'path': 'model'},
        [{'abbr': 'first'}, {'type': 'T', 'path': '/models/second/'}],
    ]
    assert [model_abbr(model) for model in models] == [model_abbr_from_cfg(model) for model in models]
    for dataset in ({'abbr': 'a/b', 'path': 'p'}, {'path': 'data/file'}, {'path': 'data/file', 'name': 'sub/set'}):
        assert dataset_abbr(dataset) == dataset_abbr_from_cfg(dataset)


def status_of(run: Run, capsys: pytest.CaptureFixture[str], *datasets: str) -> str:
    run.configure(['m'], datasets)
    show_status(run.path)
    return capsys.readouterr().out


def test_kept_answers_of_a_killed_run_are_shown(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run.store(row_of('a'), row_of('b'))
    with exclusive(run.lock(), samples=10):
        assert 'kept   ' not in status_of(run, capsys, 'plan_v2', 'review_v2')
        left = run.lock().read_text()
    run.lock().write_text(left)  # as after kill -9
    lines = status_of(run, capsys, 'plan_v2', 'review_v2').splitlines()
    assert lines[-2] == 'kept     m x plan_v2: 2 of 10 answered'
    assert lines[-1].split() == f'resume with: opencompass CONFIG -w {run.path.parent} -r {run.path.name}'.split()
    run.add_log(TASK + CUT)
    assert 'kept     m x plan_v2: 2 of 10 answered' in status_of(run, capsys, 'plan_v2')  # failed


@pytest.mark.parametrize(('others', 'left'), [([], '0:00:08'), (['waits'], '> 0:00:08'), (['known'], '0:00:28')])
def test_the_time_left_is_of_what_waits_too(
    run: Run, capsys: pytest.CaptureFixture[str], others: list[str], left: str
) -> None:
    """Another model has answered ``known``, so that its size is known."""
    run.store(row_of('a', 100.0), row_of('b', 101.0), {**row_of('c', 500.0), 'infra': 'infra:timeout'})
    file = run.path / 'predictions' / 'other' / 'known.json'
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({str(number): {'prediction': 'x'} for number in range(20)}))
    run.configure(['m', 'other'], ['plan_v2', *others])
    with exclusive(run.lock(), samples=10):
        show_status(run.path)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith('m ')]
    assert line.split('1.0')[-1].strip() == left
