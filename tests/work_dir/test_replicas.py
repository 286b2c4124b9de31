"""Claims on ranges: every sample once, shares that follow speed, and nothing lost with a replica that dies."""

from __future__ import annotations

import errno
import fcntl
import inspect
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.work_dir import heartbeat, replicas
from opencompass_tooleval.work_dir.heartbeat import Heartbeat, Worker, machine
from opencompass_tooleval.work_dir.lock import exclusive
from opencompass_tooleval.work_dir.names import Replica, claims_folder
from opencompass_tooleval.work_dir.replicas import (
    Claims,
    Plan,
    cut_ranges,
    read_claim,
    read_plan,
    remove_claims,
)
from opencompass_tooleval.work_dir.store import Answers, AnswerStore, Row, write_json


@pytest.mark.parametrize(
    ('count', 'replicas', 'at_least'), [(0, 2, 16), (5, 2, 16), (100, 8, 16), (20_000, 1, 1), (20_000, 64, 16)]
)
def test_ranges_get_smaller_and_are_few(count: int, replicas: int, at_least: int) -> None:
    ends = cut_ranges([7] * count, replicas, at_least)
    lengths = [stop - start for start, stop in pairwise([0, *ends])]
    assert sum(lengths) == count and lengths == sorted(lengths, reverse=True)
    assert all(length >= min(at_least, count) for length in lengths[:-1]) and len(ends) <= 15 * replicas + 1
    assert count <= 1000 or lengths[0] <= count / (8 * replicas) + at_least


def test_a_range_is_measured_by_its_bytes() -> None:
    sizes = [100] * 10 + [1] * 1000
    ends = cut_ranges(sizes, replicas=2)
    bytes_of = [sum(sizes[start:stop]) for start, stop in pairwise([0, *ends])]
    assert ends[0] == 2 and bytes_of[0] > 1.5 * bytes_of[-1] and ends[-1] == 1010


def row_of(index: int) -> Row:
    """The answer to a sample."""
    return {'record_id': str(index), 'prediction': str(index)}


def answers_in(store: AnswerStore, samples: int) -> Answers:
    """The answers that a replica sees, as the inferencer reads them."""
    keys = [(str(index), 0) for index in range(samples)]
    answers = Answers(store, keys, lambda index, row: True, lambda row: bool(row.get('infra')))
    answers.read()
    answers.found.clear()
    return answers


def divide(claims: Claims, samples: int, at_once: int = 1) -> Answers:
    """Divides the samples without an answer, as the inferencer does; returns the answers that the replica sees."""
    answers = answers_in(claims.store, samples)
    left = [index for index in range(samples) if index not in answers or index in answers.again]
    claims.divide(left, [1] * len(left), at_once, answers.read)
    return answers


def pair(folder: Path, samples: int, divided: int = 2) -> list[Claims]:
    """Two replicas of a sweep that have begun, of which so many have divided the samples."""
    both = [Claims(folder / 'data.json', Replica(number, 2, 'x')) for number in range(2)]
    for number, claims in enumerate(both):
        assert claims.begin()
        if number < divided:
            divide(claims, samples)
    return both


def answer(claims: Claims, indices: Sequence[int]) -> None:
    claims.store.append([row_of(index) for index in indices])
    claims.arrived(indices)


def stored(folder: Path) -> list[int]:
    """Indices of the samples that have a row, as a single task sees them; each row counts."""
    return sorted(int(row['record_id']) for _, row in AnswerStore(folder / 'data.answers').read())


def plan_of(whole: Path) -> Plan:
    """The plan of the sweep that works on a data set."""
    (file,) = claims_folder(whole).glob('*/plan')
    plan = read_plan(file)
    assert plan
    return plan


def done_ranges(whole: Path) -> set[int]:
    """Numbers of the ranges that are done."""
    return {int(file.stem) for file in claims_folder(whole).glob('*/[0-9]*.done')}


def claimers(whole: Path, number: int) -> list[int]:
    """Numbers of the replicas that have claimed a range, in order."""
    (plan,) = claims_folder(whole).glob('*/plan')
    files = sorted(plan.parent.glob(f'{number}.[0-9]*'), key=lambda file: int(file.suffix[1:]))
    assert [file.suffix for file in files] == [f'.{claim}' for claim in range(len(files))]
    return [worker.number for worker in map(read_claim, files) if worker]


def test_nothing_to_divide_is_done_in_every_step(tmp_path: Path) -> None:
    """The predictions are written by one of the replicas, from what was stored before."""
    both = pair(tmp_path, 0)
    written: list[int] = []
    for claims in both:
        with exclusive(claims.lock):
            claims.arrived([])
            assert claims.take(8) == [] and (written or plan_of(tmp_path / 'data.json').stops == [])
            assert claims.has_work() == (not written)
            claims.finish(lambda: (written.append(1), (tmp_path / 'data.json').write_text('{}')))
    assert written == [1] and not claims_folder(tmp_path / 'data.json').exists()


def test_one_dies_in_the_middle(tmp_path: Path) -> None:
    """The other gets all that the dead one has not answered, and nothing else."""
    samples, asked = 320, Counter[int]()
    dies, lives = (Claims(tmp_path / 'data.json', Replica(number, 2, 'x')) for number in range(2))
    with exclusive(lives.lock):
        with exclusive(dies.lock):
            for claims in (dies, lives):
                claims.begin()
                divide(claims, samples, 4)
            claimed = dies.take(8)
            answer(dies, claimed[:5])
            asked.update(claimed[:5])
            while indices := lives.take(8):
                asked.update(indices)
                answer(lives, indices)
            assert sum(asked.values()) < samples and not lives.has_work()
        assert lives.has_work()
        while indices := lives.take(8):
            asked.update(indices)
            answer(lives, indices)
    assert asked == Counter(range(samples)) and stored(tmp_path) == list(range(samples))
    assert done_ranges(tmp_path / 'data.json') == set(range(len(plan_of(tmp_path / 'data.json').stops)))


@pytest.mark.parametrize('sweep', ['x', 'y'], ids=['the same sweep', 'a later one'])
def test_a_replica_that_is_started_again_gets_what_it_left(tmp_path: Path, sweep: str) -> None:
    killed, again = (Claims(tmp_path / 'data.json', Replica(0, 2, one)) for one in ('x', sweep))
    killed.begin()
    divide(killed, 64)
    done = killed.take(9)
    answer(killed, done)
    begun = killed.take(9)
    answer(killed, begun[:1])
    assert len(done) > 1 and len(begun) > 1
    done += begun[:1]
    left = [index for index in range(64) if index not in done]
    again.begin()
    assert [*divide(again, 64)] == ([] if sweep == 'x' else done), 'all replicas of a sweep divide the same samples'
    taken: list[int] = []
    while indices := again.take(9):
        answer(again, indices)
        taken += indices
    assert sorted(taken) == left


def test_replicas_that_see_other_data_are_refused(tmp_path: Path) -> None:
    _, other = pair(tmp_path, 5, divided=1)
    with pytest.raises(DataError, match='another replica has divided 5 samples, and this one has 4 others'):
        divide(other, 4)


def test_all_replicas_of_a_sweep_divide_the_same_samples(tmp_path: Path) -> None:
    """Also those that begin when others have answered. What was stored before is not asked again."""
    before = AnswerStore(tmp_path / 'data.answers')
    before.append([row_of(3), {**row_of(4), 'infra': 'infra:timeout'}])
    early, late = (Claims(tmp_path / 'data.json', Replica(number, 2, 'x')) for number in range(2))
    assert early.begin()
    assert sorted(divide(early, 8)) == [3, 4]
    answer(early, first := early.take(9))
    before.append([row_of(5)])
    assert late.begin()
    assert sorted(divide(late, 8)) == [3, 4]
    taken: list[int] = []
    while indices := late.take(9):
        answer(late, indices)
        taken += indices
    assert sorted(first + taken) == [0, 1, 2, 4, 5, 6, 7] and first


def test_answers_of_another_replica_are_seen_when_its_range_is_taken_over(tmp_path: Path) -> None:
    """Not before, and then also the requests of its dialogues, which are continued."""
    dies, lives = (Claims(tmp_path / 'data.json', Replica(number, 2, 'x')) for number in range(2))
    with exclusive(lives.lock):
        with exclusive(dies.lock):
            assert dies.begin() and lives.begin()
            divide(dies, 320, 16)
            answers = divide(lives, 320, 16)
            claimed = dies.take(320)
            answer(dies, claimed[:1])
            dies.store.append([{'key': str(index), 'round': 0, 'answer': 'x'} for index in claimed])
            while indices := lives.take(16):
                answer(lives, indices)
            assert not answers and not lives.store.rounds and len(claimed) > 1
        taken: list[int] = []
        while indices := lives.take(16):
            answer(lives, indices)
            taken += indices
    assert sorted(taken) == sorted(claimed[1:])
    assert [*answers] == claimed[:1] and [*lives.store.rounds] == [str(index) for index in claimed]
    assert stored(tmp_path) == list(range(320))


def test_what_cannot_be_written_is_kept_and_said(tmp_path: Path) -> None:
    one, other = pair(tmp_path, 2)
    for claims in (one, other):
        answer(claims, claims.take(9))

    def fail() -> None:
        assert sorted(row['record_id'] for _, row in one.store.read()) == ['1'], 'it has written the other one'
        raise OSError('the disk is full')

    assert not list(one.store.read())
    with pytest.raises(OSError, match='the disk is full'):
        one.finish(fail)
    assert [file.name for file in tmp_path.iterdir()] == ['data.answers'] and stored(tmp_path) == [0, 1]
    with pytest.raises(DataError, match='another replica could not write these predictions: its log says why'):
        other.has_work()


def test_predictions_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another replica may look while the first one removes the claims."""
    one, other = pair(tmp_path, 2)
    for claims in (one, other):
        answer(claims, claims.take(9))
    written, remove, whole = [], replicas.remove_claims, tmp_path / 'data.json'

    def write() -> None:
        written.append(sorted(answers_in(one.store, 2)))
        whole.write_text('{}')

    def remove_slowly(file: Path) -> None:
        monkeypatch.setattr(replicas, 'remove_claims', remove)
        one.leave()  # as if it had been killed here
        other.finish(write)

    monkeypatch.setattr(replicas, 'remove_claims', remove_slowly)
    one.finish(write)
    (claims_folder(whole) / 'x').mkdir(parents=True)
    divide(other, 2)
    assert written == [[1]] and sorted(file.name for file in tmp_path.iterdir()) == ['data.answers', 'data.json']


def test_a_replica_that_begins_while_another_ends_leaves_no_claims(tmp_path: Path) -> None:
    whole = tmp_path / 'd.json'
    claims = Claims(whole, Replica(1, 2, 'sweep'))
    with exclusive(claims.lock):
        assert claims.begin()
        whole.write_text('{}')  # the other one writes, and removes the claims, before this one makes its folder again
        shutil.rmtree(claims_folder(whole))
        (claims_folder(whole) / 'sweep').mkdir(parents=True)
        claims.leave()
    assert not claims_folder(whole).exists()


def test_a_single_task_gets_what_replicas_left(tmp_path: Path) -> None:
    """A dialogue that failed is begun again with its rounds."""
    claims, store = pair(tmp_path, 9)[0], AnswerStore(tmp_path / 'data.answers')
    store.append([row_of(5)])
    rounds = [{'key': '0', 'round': 0, 'answer': 'a'}, {'key': '1', 'round': 0, 'answer': 'b'}]
    claims.store.append([*rounds, {**row_of(0), 'prediction': '', 'infra': 'infra:timeout'}, row_of(1)])
    before = {file: file.read_bytes() for file in store.files()}
    remove_claims(tmp_path / 'data.json')
    answers = answers_in(AnswerStore(tmp_path / 'data.answers'), 9)
    assert sorted(answers) == [0, 1, 5] and answers.again == {0: {'infra': 'infra:timeout'}}
    assert [answers.store.rounds_of(key)[0]['answer'] for key in '01'] == ['a', 'b']
    assert {file: file.read_bytes() for file in store.files()} == before and len(before) == 2
    assert [file.name for file in tmp_path.iterdir()] == ['data.answers']


SAMPLES, AT_ONCE = 24, 2
MODULES = {'replicas.py', 'heartbeat.py', 'store.py', 'whole_file.py'}
Point = tuple[str, int]


def points(times: Counter[Point], kill_at: Point | None = None, time: int = 1) -> Any:
    """A trace that counts the lines of the modules, and may kill the process where it runs one for the n-th time."""

    def trace(frame: Any, event: str, _: Any) -> Any:
        name = Path(frame.f_code.co_filename).name
        if event == 'line' and name in MODULES:
            times[name, frame.f_lineno] += 1
            if kill_at == (name, frame.f_lineno) and times[kill_at] == time:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace if name in MODULES else None

    return trace


def is_lost(*_: object) -> NoReturn:
    raise OSError(errno.ENOLCK, 'no locks')


def is_alone(*_: object) -> None:
    """What flock does where each process has its own locks."""


LOCKS = {'no locks': is_lost, 'locks of each process only': is_alone}
EACH_LOCK = pytest.mark.parametrize(
    'locks', [pytest.param('no locks', marks=pytest.mark.long), 'locks of each process only']
)
BEAT = 0.25


def run(folder: Path, replica: Replica, *kill_at: Any, locks: str = '', delay: float = 0.0) -> int:
    """Starts a process that works as a task with a replica does, and may be killed at a line; its number."""
    if child := os.fork():
        return child
    code = 1
    try:
        if locks:
            fcntl.flock = LOCKS[locks]
            heartbeat.SECONDS_PER_BEAT = BEAT
        times = Counter[Point]()
        sys.settrace(points(times, *kill_at) if kill_at != () else None)
        work(folder / 'data.json', replica, delay)
        sys.settrace(None)
        folder.with_suffix('.lines').write_text(json.dumps([[*point, times[point]] for point in times]))
        code = 0
    except DataError as error:
        (folder.parent / f'{folder.name}.txt').write_text(str(error))
    finally:
        os._exit(code)


def work(whole: Path, replica: Replica, delay: float = 0.0) -> None:
    """Answers what is left; each question is a line of ``asked``, beside the folder."""
    asked = os.open(whole.parent.with_suffix('.asked'), os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(answers: Answers) -> None:
        answers.read()
        assert set(answers) == set(range(SAMPLES))
        write_json(whole, ((row['record_id'], row) for row in answers.in_order()))

    while not whole.exists():
        claims = Claims(whole, replica)
        with exclusive(claims.lock):
            if claims.begin():
                answers = divide(claims, SAMPLES, AT_ONCE)
                while indices := claims.take(AT_ONCE):
                    os.write(asked, b''.join(b'%d\n' % index for index in indices))
                    time.sleep(delay)
                    answers.update({index: row_of(index) for index in indices})
                    claims.arrived(indices)
                claims.finish(partial(write, answers))
            claims.leave()
        claims = Claims(whole, replica)
        while not whole.exists() and not claims.has_work():
            time.sleep(0.01)


def ended(*processes: int) -> list[int]:
    return [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]


def check(folder: Path, in_flight: int) -> None:
    """All have an answer, nothing was asked twice but what was in flight, and only the answers are left."""
    asked = Counter(folder.with_suffix('.asked').read_text().split())
    assert asked.keys() == set(map(str, range(SAMPLES)))
    assert asked.total() <= SAMPLES + in_flight and max(asked.values()) <= 2
    rows = json.loads((folder / 'data.json').read_bytes())
    assert list(rows.values()) == [row_of(index) for index in range(SAMPLES)]
    assert [*answers_in(AnswerStore(folder / 'data.answers'), SAMPLES).in_order()] == list(rows.values())
    answered = Counter(map(str, stored(folder)))
    assert answered.keys() == asked.keys() and answered <= asked
    assert not Claims(folder / 'data.json', Replica(0, 2, 'late')).begin()
    assert left_in(folder) == {'data.json', 'data.answers'}
    assert {file.suffix for file in (folder / 'data.answers').iterdir()} == {'.jsonl'}


def left_in(folder: Path) -> set[str]:
    """What is beside the predictions, but for locks of the killed."""
    return {file.name for file in folder.iterdir() if file.suffix != '.lock'}


@pytest.fixture
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill loses nothing that was written: only a power cut does."""
    monkeypatch.setattr(os, 'fsync', lambda handle: None)


@pytest.fixture(scope='module')
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Point, int]]:
    """All lines of the modules that a replica runs, with earlier answers, and how often."""
    folder = tmp_path_factory.mktemp('lines') / 'run'
    begun(folder)
    assert ended(run(folder, Replica(0, 2, 'b'), None)) == [0]
    check(folder, 0)
    counted = json.loads(folder.with_suffix('.lines').read_text())
    assert len(counted) > 150 and {name for name, _, _ in counted} == MODULES
    return [((name, line), times) for name, line, times in counted]


def begun(folder: Path) -> None:
    """An earlier sweep has answered two samples, and was killed."""
    folder.mkdir()
    claims = Claims(folder / 'data.json', Replica(1, 2, 'a'))
    claims.begin()
    answers = divide(claims, SAMPLES, AT_ONCE)
    indices = claims.take(AT_ONCE)
    answers.update({index: row_of(index) for index in indices})
    folder.with_suffix('.asked').write_text(''.join(f'{index}\n' for index in indices))


@pytest.mark.usefixtures('_no_sync')
@pytest.mark.parametrize('is_last', [pytest.param(False, marks=pytest.mark.long), True], ids=['first', 'last'])
@pytest.mark.parametrize('each', [120, pytest.param(1, marks=pytest.mark.long)], ids=['some', 'every'])
@pytest.mark.parametrize('other', ['the next sweep', 'another replica', 'itself'])
def test_a_kill_at_every_line(
    tmp_path: Path, lines: list[tuple[Point, int]], other: str, each: int, is_last: bool
) -> None:
    killed, points_of_kills = 0, lines[::each]
    for number, (point, times) in enumerate(points_of_kills):
        folder, kill_at = tmp_path / f'run{number}', (point, times if is_last else 1)
        begun(folder)
        if other == 'another replica':
            both = run(folder, Replica(0, 2, 'b'), *kill_at, delay=0.001), run(folder, Replica(1, 2, 'b'), delay=0.001)
            dies, lives = ended(*both)
            assert lives == 0, point
            killed += dies == -signal.SIGKILL
        else:
            killed += ended(run(folder, Replica(0, 2, 'b'), *kill_at)) == [-signal.SIGKILL]
            assert ended(run(folder, Replica(0, 2, 'b' if other == 'itself' else 'c'))) == [0], point
        check(folder, AT_ONCE)
    # Another replica may do a line in its place; and how often some lines run depends on the clock.
    share = 1 / 4 if other == 'another replica' else 3 / 4 if is_last else 1
    assert (other == 'another replica' and each > 1) or killed >= share * len(points_of_kills)


def test_processes_that_claim_at_once(tmp_path: Path) -> None:
    for number in range(3):
        folder = tmp_path / f'run{number}'
        begun(folder)
        assert ended(*[run(folder, Replica(one, 6, 'b')) for one in range(6)]) == [0] * 6
        check(folder, 0)


@pytest.mark.long
@EACH_LOCK
def test_without_locks_the_ranges_of_a_dead_replica_are_taken_over(tmp_path: Path, locks: str) -> None:
    folder = tmp_path / 'run'
    begun(folder)
    source, first = inspect.getsourcelines(AnswerStore.sync)
    sync = next(line for line, text in enumerate(source, first) if 'fsync(' in text)  # before its first range is done
    kills: list[Any] = [(), (), (('store.py', sync), 1)]
    runs = [run(folder, Replica(n, 3, 'b'), *kill, locks=locks, delay=0.1) for n, kill in enumerate(kills)]
    assert ended(*runs) == [0, 0, -signal.SIGKILL]
    check(folder, AT_ONCE)


@EACH_LOCK
def test_without_locks_a_slow_replica_keeps_its_ranges(tmp_path: Path, locks: str) -> None:
    begun(folder := tmp_path / 'run')
    slow = begins(folder, locks, delay=0.5)
    assert ended(slow, run(folder, Replica(1, 2, 'b'), locks=locks)) == [0, 0]
    check(folder, 0)


@pytest.mark.long
@EACH_LOCK
def test_without_locks_a_writer_that_ended_is_replaced(tmp_path: Path, locks: str) -> None:
    """One that had claimed the end of the same sweep, when all was answered."""
    folder = tmp_path / 'run'
    folder.mkdir()
    claims = Claims(folder / 'data.json', Replica(1, 2, 'b'))
    claims.begin()
    divide(claims, SAMPLES, SAMPLES)
    while indices := claims.take(SAMPLES):
        answer(claims, indices)
    claims.leave()
    folder.with_suffix('.asked').write_text(''.join(f'{index}\n' for index in range(SAMPLES)))
    (claims_folder(folder / 'data.json') / 'b' / 'end.0').write_text(
        json.dumps(asdict(Worker(0, 'ended', 1, machine())))
    )
    (folder / '.data_0.lock').touch()  # as a killed process leaves it
    assert ended(run(folder, Replica(1, 2, 'b'), locks=locks)) == [0]
    check(folder, 0)


def begins(folder: Path, locks: str, delay: float) -> int:
    """Starts a replica, and returns its process once it has asked its first question."""
    one = run(folder, Replica(0, 2, 'b'), locks=locks, delay=delay)
    while len(folder.with_suffix('.asked').read_text().split()) <= AT_ONCE:
        time.sleep(0.01)
    return one


def stopped(folder: Path, seconds: float) -> None:
    """Stops a replica after its first question for so long, while another one works; then both end."""
    begun(folder)
    one = begins(folder, 'no locks', delay=0.1)
    os.kill(one, signal.SIGSTOP)
    other = run(folder, Replica(1, 2, 'b'), locks='no locks')
    time.sleep(seconds)
    assert (folder / 'data.json').exists() == (seconds > BEAT * heartbeat.MOST_BEATS)
    os.kill(one, signal.SIGCONT)
    assert ended(one, other) == [0, 0]


def test_a_replica_that_was_paused_for_a_while_keeps_its_ranges(tmp_path: Path) -> None:
    stopped(tmp_path / 'run', BEAT * heartbeat.MOST_BEATS / 3)
    check(tmp_path / 'run', 0)


@pytest.mark.long
def test_a_replica_that_wakes_up_late_costs_what_it_had_in_hand(tmp_path: Path) -> None:
    folder = tmp_path / 'run'
    stopped(folder, BEAT * heartbeat.MOST_BEATS * 3)
    asked = Counter(folder.with_suffix('.asked').read_text().split())
    assert asked.keys() == set(map(str, range(SAMPLES))) and max(asked.values()) <= 2
    assert asked.total() <= SAMPLES + 2 * AT_ONCE
    assert left_in(folder) == {'data.json', 'data.answers'}
    rows = json.loads((folder / 'data.json').read_bytes())
    assert list(rows.values()) == [row_of(index) for index in range(SAMPLES)]
    assert Counter(map(str, stored(folder))) == asked


@pytest.mark.parametrize('when', ['before', 'after'])
def test_a_replica_that_was_paused_as_it_began_leaves_the_sweep_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Before or after it recorded what was stored. Meanwhile another replica has divided the samples, and answers."""
    whole = tmp_path / 'data.json'
    AnswerStore(tmp_path / 'data.answers').append([row_of(3)])
    earlier, late, other = (Claims(whole, Replica(*of)) for of in ((0, 1, 'a'), (0, 2, 'x'), (1, 2, 'x')))
    assert earlier.begin()
    divide(earlier, 4)
    make, taken = Claims._make, list[int]()

    def pause(claims: Claims, name: str, text: str = '') -> bool:
        monkeypatch.setattr(Claims, '_make', make)
        made = when == 'after' and make(claims, name, text)
        late.leave()  # as if its count stayed the same for a minute
        assert other.begin()
        divide(other, 4, 4)
        taken.extend(other.take(2))
        other.store.append([row_of(index) for index in taken])
        return made or make(claims, name, text)

    monkeypatch.setattr(Claims, '_make', pause)
    assert late.begin() and len(plan_of(whole).stops) == 3
    assert taken and stored(tmp_path) == sorted([*taken, 3]) and late.store.visible == other.store.visible
    assert [*divide(late, 4)] == [3]


def test_a_sweep_ends_an_earlier_one_that_still_runs(tmp_path: Path) -> None:
    """A replica of the earlier one ends what it has in hand, and claims nothing more."""
    earlier, claims = (Claims(tmp_path / 'data.json', Replica(0, 2, sweep)) for sweep in 'xy')
    assert earlier.begin()
    divide(earlier, 64)
    first = earlier.take(1)
    assert claims.begin()
    assert not divide(claims, 64)
    while indices := earlier.take(64):
        answer(earlier, indices)
        first += indices
    assert 0 < len(first) < 8


def test_a_replica_of_an_earlier_sweep_that_begins_late_leaves_the_next_one_alone(tmp_path: Path) -> None:
    """As a task does that waited for its node while the run was resumed."""
    earlier, claims, late = (
        Claims(tmp_path / 'data.json', Replica(*of)) for of in ((0, 2, 'x'), (0, 2, 'y'), (1, 2, 'x'))
    )
    for one in (earlier, claims):
        assert one.begin()
        divide(one, 8)
    assert late.begin()
    divide(late, 8)
    taken: list[int] = []
    while indices := claims.take(8):
        answer(claims, indices)
        taken += indices
    assert sorted(taken) == list(range(8)) and claims.has_work()
    claims.finish(lambda: (tmp_path / 'data.json').write_text('{}'))
    assert sorted(file.name for file in tmp_path.iterdir()) == ['data.answers', 'data.json']


def test_a_kill_as_a_sweep_begins_leaves_no_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise replicas of the earlier one, if they still run, go on with what this one asks too."""
    earlier, killed, other = (
        Claims(tmp_path / 'data.json', Replica(*of)) for of in ((0, 2, 'x'), (0, 2, 'y'), (1, 2, 'y'))
    )
    assert earlier.begin()
    divide(earlier, 64)
    make = Claims._make

    def dies(claims: Claims, name: str, text: str = '') -> bool:
        make(claims, name, text)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Claims, '_make', dies)
        killed.begin()
    killed.leave()
    assert other.begin()
    divide(other, 64)
    assert earlier.take(64) == []


def test_a_replica_gives_up_what_another_one_has_taken_over(tmp_path: Path, beats: Heartbeat) -> None:
    late, other = pair(tmp_path, 64)
    assert len(late.take(1)) == 1
    late.leave()
    begun = time.monotonic()
    while other.take(64) and time.monotonic() - begun < 60:
        for indices in list(other._open.values()):
            answer(other, sorted(indices))
    assert done_ranges(tmp_path / 'data.json') >= set(range(len(plan_of(tmp_path / 'data.json').stops)))
    assert late._heartbeat
    wait_for_beats(late._heartbeat)
    assert late.take(64) == []


@pytest.mark.parametrize(
    'content',
    [
        b'',
        b'3',
        b'{}',
        b'[]',
        bytes(40),
        b'{"number": true, "start": "a", "attempt": 1, "machine": "m"}',
        b'{"number": 1, "start": "../a", "attempt": 1, "machine": "m"}',
        b'\xff',
        b'[' * 5000,
    ],
)
def test_a_damaged_claim_is_of_nobody(tmp_path: Path, content: bytes) -> None:
    (tmp_path / '7.0').write_bytes(content)
    assert read_claim(tmp_path / '7.0') is None


@pytest.fixture
def beats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Heartbeat]:
    """A heartbeat whose thread beats every 10 ms."""
    monkeypatch.setattr(heartbeat, 'SECONDS_PER_BEAT', 0.01)
    folder = tmp_path / 'claims'
    folder.mkdir()
    yield Heartbeat(folder, 0)
    shutil.rmtree(folder)


def wait_for_beats(one: Heartbeat) -> None:
    count = one._file.read_bytes()
    while one._file.read_bytes()[:12] == count[:12]:
        time.sleep(0.001)


def looks(one: Heartbeat, worker: Worker) -> list[bool]:
    """What a replica sees in more of its own beats than are needed."""
    found = [one.has_ended(worker, Path('no lock'))]
    for _ in range(3 * heartbeat.MOST_BEATS):
        wait_for_beats(one)
        found.append(one.has_ended(worker, Path('no lock')))
    return found


def test_a_count_that_stays_the_same_ends_a_replica(beats: Heartbeat) -> None:
    (beats._file.parent / 'other.beat').write_text('000000000003 000001')
    found = looks(beats, Worker(1, 'other', 1, 'elsewhere'))
    assert found.index(True) >= heartbeat.MOST_BEATS and found[-1]
    assert looks(beats, Worker(1, 'missing', 1, 'elsewhere')).index(True) >= heartbeat.MOST_BEATS


def test_an_attempt_that_was_ended_is_seen_at_once(beats: Heartbeat) -> None:
    other = Heartbeat(beats._file.parent, 1)
    other.begin(Path('no lock'))
    worker = other.worker
    assert not beats.has_ended(worker, Path('no lock'))
    other.end()
    wait_for_beats(beats)
    wait_for_beats(beats)
    assert beats.has_ended(worker, Path('no lock'))
    other.begin(Path('no lock'))
    assert not any(looks(beats, other.worker)), 'another attempt, of a thread that beats'


@pytest.mark.parametrize('stalls', [True, False], ids=['a disk that stalls', 'a disk with errors'])
def test_a_replica_whose_disk_fails_calls_nobody_ended(
    beats: Heartbeat, monkeypatch: pytest.MonkeyPatch, stalls: bool
) -> None:
    (beats._file.parent / 'other.beat').write_text('000000000003 000001')
    tried, write = threading.Semaphore(0), os.pwrite

    def fail(*_: object) -> int:
        tried.release()
        if stalls:
            time.sleep(0.5)
        raise OSError(errno.EIO, 'Input/output error')

    worker = Worker(1, 'other', 1, 'elsewhere')
    monkeypatch.setattr(os, 'pwrite', fail)
    assert not beats.has_ended(worker, Path('no lock'))
    for _ in range(1 if stalls else 3 * heartbeat.MOST_BEATS):
        assert tried.acquire(timeout=60)
        assert not beats.has_ended(worker, Path('no lock'))
    monkeypatch.setattr(os, 'pwrite', write)
    assert looks(beats, worker)[-1]


DAMAGE = {'empty': b'', 'NULs': bytes(99), 'cut': b'{"stops": [1', 'lost': None}


SAYS = {
    'stored': r'data\.claims/a/stored: it ',
    'plan': r'data\.claims/a/plan: the plan of this sweep cannot be read',
    '*': r'data\.claims/a/stored: it ',
}


@pytest.mark.parametrize('which', ['stored', 'plan', '*.0', '*.done', '*'])
@pytest.mark.parametrize(
    'sweep', ['a', pytest.param('b', marks=pytest.mark.long)], ids=['the same sweep', 'the next one']
)
def test_a_power_cut_loses_no_answer(tmp_path: Path, which: str, sweep: str) -> None:
    for damage, content in DAMAGE.items():
        if (damage, which, sweep) == ('lost', '*.0', 'a'):
            continue  # a claim is on the disk before its samples are asked
        folder = tmp_path / damage
        begun(folder)
        for file in (claims_folder(folder / 'data.json') / 'a').glob(which):
            file.unlink() if content is None else file.write_bytes(content)
        (code,) = ended(run(folder, Replica(0, 2, sweep)))
        if code:
            assert (sweep, which in SAYS) == ('a', True)
            said = (tmp_path / f'{damage}.txt').read_text()
            if (damage, which) == ('lost', 'stored'):  # it was on the disk before its samples were divided
                assert f'another replica has divided {SAMPLES} samples, and this one has {SAMPLES - AT_ONCE}' in said
            else:
                assert re.search(rf'{SAYS[which]}.*\. Fix it with: opencompass \.\.\. -r', said), said
            assert ended(run(folder, Replica(0, 2, 'b'))) == [0]
        check(folder, 0)
