"""work_dir/store: answers survive a kill and unusual characters, and the choice of one does not depend on its file."""

from __future__ import annotations

import json
import math
import os
import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.work_dir import store as store_module
from opencompass_tooleval.work_dir.store import (
    Answers,
    AnswerStore,
    Place,
    Row,
    UnwrittenStore,
    adopt,
    keys_of,
    write_json,
)

ODD = 'line\u2028paragraph\u2029next\x85tab\t"quoted"\\ \ud800 三\r\n\x00'


def rows(*numbers: int) -> list[Row]:
    return [{'record_id': f'r{number}', 'prediction': f'{ODD}{number}', 'infra': None} for number in numbers]


def without_time(all_rows: Iterable[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name != 'time'} for row in all_rows]


def read_new(store: AnswerStore) -> list[Row]:
    """The rows that others have added since the last call."""
    return without_time(row for _, row in store.read())


def stored(folder: Path) -> list[Row]:
    """All rows, as another process reads them."""
    return read_new(AnswerStore(folder))


def answers_of(
    store: AnswerStore, *record_ids: str, accepts: Callable[[int, Row], bool] = lambda index, row: True
) -> Answers:
    """The answers to some records, of which failed and cut ones are asked again."""

    def asks_again(row: Row) -> bool:
        return bool(row.get('infra')) or row.get('finish_reason') == 'length'

    answers = Answers(store, keys_of(record_ids), accepts, asks_again)
    answers.read()
    return answers


def write_file(folder: Path, name: str, *all_rows: Row) -> None:
    """Writes rows without a time of their own, as another process may have written them at any time."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(''.join(f'{json.dumps(row)}\n' for row in all_rows))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / 'x.answers'


@pytest.fixture
def store(folder: Path) -> AnswerStore:
    return AnswerStore(folder)


def test_round_trip(store: AnswerStore, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    reader = AnswerStore(folder)
    store.sync()
    assert read_new(reader) == [] and reader.sizes() == {} and not folder.exists()
    assert store.append([]) == []
    places = [*store.append(rows(3, 1)), *store.append(rows(0))]
    assert read_new(reader) == rows(3, 1, 0) and read_new(reader) == []
    assert read_new(store) == [], 'a store yields what others have written'
    assert [place.file for place in places] == [store.name] * 3
    assert without_time(store.rows_at([places[2], places[0]])) == rows(0, 3)
    content = store.path.read_bytes()
    assert content.isascii() and content.count(b'\n') == 3
    assert reader.sizes() == {store.name: len(content)} and [file.name for file in folder.iterdir()] == [store.name]
    with store.path.open('ab') as stream:
        stream.write(b'\n\n')
    store.append(rows(1))
    assert read_new(reader) == rows(1) and caplog.records == [], 'blank lines are no fault'


def test_no_two_processes_write_the_same_file(folder: Path) -> None:
    stores = [AnswerStore(folder) for _ in range(9)]
    for number, one in enumerate(stores):
        one.append(rows(number))
    assert len({one.path for one in stores}) == 9 == len(stored(folder))
    assert sorted(row['record_id'] for row in read_new(stores[4])) == [
        f'r{number}' for number in range(9) if number != 4
    ]


def test_few_files_are_open_at_once(folder: Path) -> None:
    """A run that was resumed often has hundreds."""
    places = [place for number in range(100) for place in AnswerStore(folder).append(rows(number))]
    before = len(os.listdir('/proc/self/fd'))
    read, most = [], 0
    for row in AnswerStore(folder).rows_at([*places, *places]):
        read.append(row['record_id'])
        most = max(most, len(os.listdir('/proc/self/fd')) - before)
    assert read == 2 * [f'r{number}' for number in range(100)] and 1 < most <= 64
    assert len(os.listdir('/proc/self/fd')) == before


def test_requests_of_dialogues_are_kept_apart(store: AnswerStore, folder: Path) -> None:
    """Of several answers to a request, an answer comes before a failure, then the earliest one."""
    asked = [
        {'key': 'a', 'round': 0, 'infra': 'infra:timeout', 'time': 1.0},
        {'key': 'a', 'round': 0, 'answer': 'late', 'time': 3.0},
        {'key': 'b', 'round': 0, 'answer': 'other', 'time': 1.0},
    ]
    store.append([*asked, *rows(0)])
    AnswerStore(folder).append([{'key': 'a', 'round': 0, 'answer': 'early', 'time': 2.0}])
    reader = AnswerStore(folder)
    assert read_new(reader) == rows(0) and sorted(reader.rounds) == ['a', 'b']
    assert [row.get('answer') for row in reader.rounds_of('a')] == ['early', 'late', None]
    assert reader.rounds_of('b') == [asked[2]] and reader.rounds_of('c') == []
    assert AnswerStore(folder).restored().rounds == reader.rounds
    assert without_time(reader.rounds_of('a')) == without_time(store.restored().rounds_of('a')), 'its own ones, too'


def test_every_cut_keeps_the_whole_lines(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A reader leaves a cut file as it is, a new process adds to a file of its own, and the cut line may go on."""
    source = AnswerStore(tmp_path / 'whole')
    source.append(rows(0, 1))
    whole = source.path.read_bytes()
    first = whole.index(b'\n') + 1
    for length in range(len(whole)):
        cut = AnswerStore(tmp_path / str(length), 'cut.jsonl')
        cut.folder.mkdir()
        cut.path.write_bytes(whole[:length])
        reader, expected = AnswerStore(cut.folder), rows(0) if length >= first else []
        assert read_new(reader) == expected, length
        writer = AnswerStore(cut.folder)
        assert read_new(writer) == expected
        writer.append(rows(2))
        assert read_new(reader) == rows(2)
        assert stored(cut.folder) == [*rows(2), *expected]
        assert cut.path.read_bytes() == whole[:length]
        cut.path.write_bytes(whole)  # its writer was not killed, but in the middle of a write
        assert read_new(reader) == rows(0, 1)[len(expected) :], length
    assert caplog.records == []


def test_unreadable_middle_line(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = AnswerStore(folder.with_name('source'))
    source.append(rows(0, 2))
    before, after = source.path.read_bytes().splitlines(keepends=True)
    folder.mkdir()
    file = folder / 'a.jsonl'
    for line in (b'{"record_id": "r1", "predic', b'\xff\xfe', b'\0' * 99, b'[]', b'3', b'null', b'"x"', b'[' * 5000):
        file.write_bytes(before + line + b'\n' + after)
        caplog.clear()
        assert stored(folder) == rows(0, 2)
        ((level, said),) = [(record.levelname, record.getMessage()) for record in caplog.records]
        assert level == 'WARNING' and said.startswith(
            f'{file}: lines that cannot be read: 1 (the first at byte {len(before)}: '
        )
        assert said.endswith('); their samples are asked again') and len(said) < 500
    file.write_bytes(before + b'x\n\n' + after + b'y\n')
    caplog.clear()
    assert stored(folder) == rows(0, 2)
    (record,) = caplog.records
    assert f'lines that cannot be read: 2 (the first at byte {len(before)}: ' in record.getMessage()


def test_a_store_that_is_no_file_is_an_error(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / 'pipe.jsonl')
    with pytest.raises(DataError, match=r'pipe\.jsonl: it is not a plain file'):
        stored(folder)
    (folder / 'pipe.jsonl').unlink()
    (folder / 'folder.jsonl').mkdir()
    with pytest.raises(IsADirectoryError, match=r'folder\.jsonl'):
        stored(folder)


def test_rows_are_in_the_file_at_once_and_synced_ten_times_a_second(
    store: AnswerStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    folder.mkdir()
    monkeypatch.setattr(store_module, 'sync_folder', lambda folder: None)
    monkeypatch.setattr('os.fsync', lambda file: synced.append(len(stored(folder))))
    for now in (0.0, 0.05, 0.09, 0.15, 0.2, 0.26):
        monkeypatch.setattr('time.monotonic', lambda now=now: now)
        store.append(rows(0))
    assert synced == [1, 4, 6] and len(stored(folder)) == 6
    monkeypatch.setattr('time.monotonic', lambda: 0.27)
    store.append(rows(0))
    assert synced == [1, 4, 6]
    store.sync()
    assert synced == [1, 4, 6, 7]


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Lets this process write no file beyond a size, as on a disk that is almost full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_goes_on_after_a_failed_write(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A part of a line costs its own row, unless only the end of the line lacks."""
    zero, one, two, three = [{'time': 1763726400.5, **row} for row in rows(0, 1, 2, 3)]
    measured = AnswerStore(tmp_path / 'measured')
    measured.append([one])
    length = measured.path.stat().st_size
    for room in (*range(0, length, 20), length - 2, length - 1, length, length + 1, 2 * length - 1):
        store = AnswerStore(tmp_path / str(room))
        answers = answers_of(store, 'r0', 'r1', 'r2', 'r3')
        answers.update({0: zero})
        reader, size = AnswerStore(store.folder), store.path.stat().st_size
        with at_most(size + room), pytest.raises(OSError, match='File too large') as caught:
            answers.update({1: one, 2: two})
        assert caught.value.filename == str(store.path) and store.path.stat().st_size == size + room
        assert sorted(answers) == [0]
        before, whole_lines = read_new(reader), room // length
        assert before == rows(0, 1, 2)[: 1 + whole_lines]
        caplog.clear()
        answers.update({3: three})
        assert [answers[3], answers[0]] == [three, zero]
        is_whole = room % length == length - 1
        assert read_new(reader) == rows(*[1 + whole_lines] * is_whole, 3), room
        assert stored(store.folder) == rows(*range(1 + whole_lines + is_whole), 3)
        assert len(caplog.records) == 2 * (not is_whole and room % length > 0), 'both readers have said it'
        assert all(f'at byte {size + whole_lines * length}: ' in record.getMessage() for record in caplog.records)


def test_only_visible_bytes_are_read(store: AnswerStore, folder: Path) -> None:
    places = store.append(rows(0, 1, 2))
    AnswerStore(folder, 'other.jsonl').append(rows(3))
    size = store.path.stat().st_size
    ends = [*(place.offset for place in places[1:]), size]
    growing = AnswerStore(folder)
    read: list[Row] = []
    for most in range(size + 1):
        reader = AnswerStore(folder)
        reader.visible = growing.visible = {store.name: most}
        whole = sum(end <= most for end in ends)
        assert read_new(reader) == rows(0, 1, 2)[:whole], most
        read += read_new(growing)
        assert read == rows(0, 1, 2)[:whole], most
        reader.visible = None
        assert read_new(reader) == [*rows(0, 1, 2)[whole:], *rows(3)], most
    growing.visible = {'other.jsonl': math.inf}
    assert read_new(growing) == rows(3)


def test_what_was_there_stays_visible_and_what_comes_later_does_not(store: AnswerStore, folder: Path) -> None:
    store.append(rows(0))
    reader = AnswerStore(folder)
    reader.visible = reader.sizes()
    store.append(rows(1))
    AnswerStore(folder).append(rows(2))
    assert read_new(reader) == rows(0)
    reader.visible = None
    assert sorted(row['record_id'] for row in read_new(reader)) == ['r1', 'r2']


def candidate(prediction: str, attempt: int = 0, infra: str | None = None, **more: Any) -> Row:
    row = {'record_id': 'a', 'prediction': prediction, 'infra': infra, **more}
    return {**row, 'attempt': attempt} if attempt else row


ANSWER, LATER, FAILURE, CUT = (
    candidate('earliest', time=5.0),
    candidate('later', time=6.0),
    candidate('', infra='infra:timeout', time=1.0),
    candidate('cut', finish_reason='length', time=1.0),
)
CHOICES = {
    'an answer beats a failure': (ANSWER, [FAILURE, ANSWER]),
    'the earliest answer': (ANSWER, [LATER, FAILURE, ANSWER]),
    'the earliest failure': (FAILURE, [{**FAILURE, 'time': 2.0}, FAILURE]),
    'an answer beats a later failure': (ANSWER, [candidate('', 1, 'infra:server', time=2.0), ANSWER, LATER]),
    'an answer beats a cut one': (ANSWER, [CUT, {**CUT, 'attempt': 9}, FAILURE, ANSWER]),
    'a cut answer beats a failure': (CUT, [FAILURE, CUT, {**CUT, 'time': 2.0}]),
    'the highest attempt': (again := candidate('again', 1, time=9.0), [ANSWER, FAILURE, again, LATER]),
    'the highest attempt of those to ask again': (
        failed := candidate('', 10, 'infra:server', time=9.0),
        [CUT, failed, FAILURE, {**failed, 'attempt': 9, 'time': 1.0}],
    ),
    'the earliest of the highest attempt': (
        again,
        [candidate('', 1, 'infra:server', time=1.0), again, candidate('x', 1, time=9.5), ANSWER],
    ),
    'a known time': (
        LATER,
        [candidate('none'), candidate('NaN', time=math.nan), candidate('text', time='1'), LATER],
    ),
    'attempts that are no numbers are the first': (
        ANSWER,
        [{**LATER, 'attempt': attempt} for attempt in ('9', True, -1, 10**400)] + [ANSWER],
    ),
}


@pytest.mark.parametrize(('best', 'candidates'), CHOICES.values(), ids=list(CHOICES))
@pytest.mark.parametrize('is_read', ['at once', 'as files are added', 'in one file'])
def test_the_order_of_files_does_not_matter(tmp_path: Path, best: Row, candidates: list[Row], is_read: str) -> None:
    for number, order in enumerate(permutations(candidates)):
        folder = tmp_path / str(number)
        folder.mkdir()
        answers = answers_of(AnswerStore(folder), 'b', 'a')
        if is_read == 'in one file':
            write_file(folder, 'all.jsonl', *order)
        for place, row in enumerate(() if is_read == 'in one file' else order):
            write_file(folder, f'{place}.jsonl', row)
            if is_read == 'as files are added':
                answers.read()
        answers.read()
        assert answers[1] == best and list(answers) == [1] and len(answers) == 1 and 1 in answers, order
        is_asked_again = best['infra'] or best.get('finish_reason')
        assert answers.again == ({1: {'infra': best['infra']}} if is_asked_again else {}), order


def test_names_of_files_do_not_matter(tmp_path: Path) -> None:
    """Many rows of several records and trials, in files whose names are shuffled."""
    random = Random(7)
    times = random.sample(range(1000), 200)
    all_rows = [
        candidate(str(time), random.randrange(3), random.choice([None, 'infra:timeout']), time=float(time))
        | {'record_id': random.choice('abc'), 'trial': random.randrange(2)}
        for time in times
    ]
    found = set()
    for number in range(20):
        folder, names = tmp_path / str(number), random.sample('abcdefghi', 8)
        folder.mkdir()
        for name, start in zip(names, range(0, 200, 25), strict=True):
            write_file(folder, f'{name}.jsonl', *all_rows[start : start + 25])
        answers = answers_of(AnswerStore(folder), *'abcabc')
        assert len(answers) == 6
        found.add(json.dumps([[*answers.in_order()], sorted(answers.again.items())]))
    assert len(found) == 1


@pytest.mark.parametrize('seconds', [-100, 100], ids=['another one was earlier', 'another one was later'])
def test_a_writer_chooses_the_row_that_a_reader_chooses(folder: Path, seconds: float) -> None:
    """Two replicas may answer a record in the same attempt, if one was paused; the predictions are a view of both."""
    store = AnswerStore(folder)
    answers = answers_of(store, 'a')
    answers.update({0: candidate('mine')})
    write_file(folder, 'other.jsonl', candidate('theirs', time=answers[0]['time'] + seconds))
    answers.read()
    of_reader = [*answers_of(AnswerStore(folder), 'a').in_order()]
    assert [row['prediction'] for row in of_reader] == ['theirs' if seconds < 0 else 'mine']
    assert [*answers.in_order()] == of_reader


def test_each_trial_has_its_answer(folder: Path) -> None:
    record_ids = ['a', 'b', 'a', 'b', 'a']
    assert keys_of(record_ids) == [('a', 0), ('b', 0), ('a', 1), ('b', 1), ('a', 2)]
    assert keys_of([7, '7']) == [('7', 0), ('7', 1)]
    writer = answers_of(AnswerStore(folder), *record_ids)
    wanted = {index: {**candidate(str(index)), 'record_id': record_ids[index]} for index in (4, 1, 3, 0)}
    writer.update(dict([*wanted.items()][:3]))
    writer.update({0: wanted[0]})
    reader = answers_of(AnswerStore(folder), *record_ids)
    for answers in (writer, reader):
        assert sorted(answers) == [0, 1, 3, 4] and 2 not in answers and answers.again == {}
        assert [*answers.in_order()] == [wanted[index] for index in sorted(wanted)], (
            'what only the store has is left out'
        )
        assert answers[4]['prediction'] == '4'
    assert [row['prediction'] for row in answers_of(AnswerStore(folder), 'b', 'a', 'b').in_order()] == ['1', '0', '3']


@pytest.mark.parametrize(
    'row',
    [
        {'prediction': 'x'},
        {'record_id': 'a'},
        {'record_id': 'a', 'prediction': None},
        {'record_id': 'a', 'prediction': ['x']},
        {'record_id': 'a', 'prediction': 'x', 'infra': 3},
        {'record_id': 'a', 'prediction': 'x', 'trial': True},
        {'record_id': 'a', 'prediction': 'x', 'trial': '0'},
        {'record_id': 'a', 'prediction': 'x', 'trial': None},
        {'record_id': 'a', 'prediction': 'x', 'trial': 2},
        {'record_id': ['a'], 'prediction': 'x'},
        {'record_id': 'c', 'prediction': 'x'},
        {},
    ],
)
def test_a_row_that_is_no_answer_to_a_record_is_left_out(folder: Path, row: Row) -> None:
    write_file(folder, 'a.jsonl', {**row, 'attempt': 5}, {'record_id': 'b', 'prediction': 'y'})
    answers = answers_of(AnswerStore(folder), 'a', 'b', 'a')
    assert list(answers) == [1] == [*answers.found]


@pytest.mark.parametrize(
    'member',
    [
        *({'time': value} for value in (10**400, -1e308, True, [], {}, 'now')),
        *({'attempt': value} for value in (10**400, -1, None, [], '1')),
        *({'infra': value} for value in (0, False, '')),
    ],
    ids=lambda member: repr(member)[:20],
)
def test_members_of_any_kind_are_read(folder: Path, member: Row) -> None:
    """A run may come from anybody."""
    write_file(folder, 'a.jsonl', {**candidate('x'), **member}, {'key': 'k', 'round': 0, **member}, candidate('y', 1))
    answers = answers_of(AnswerStore(folder), 'a')
    assert answers[0]['prediction'] in 'xy' and len(answers.store.rounds_of('k')) == 1
    answers.update({0: candidate('new')})
    assert [row['prediction'] for row in answers_of(AnswerStore(folder), 'a').in_order()] == ['new']


def test_an_answer_is_asked_again_with_the_next_number(folder: Path) -> None:
    """An answer to another prompt stays, and counts again when the prompt is the first one again."""

    def run(prompt: str, *infra: str | None) -> tuple[list[int], list[str]]:
        """One run with a prompt, which asks what it lacks: attempts in the store, predictions."""
        answers = answers_of(AnswerStore(folder), 'a', accepts=lambda index, row: row['prompt'] == prompt)
        for one in infra:
            assert 0 not in answers or 0 in answers.again
            answers.update({0: candidate(f'{prompt} {len(stored(folder))}', infra=one, prompt=prompt)})
            assert (0 in answers.again) == bool(one)
        attempts = sorted(row.get('attempt', 0) for row in stored(folder))
        return attempts, [row['prediction'] for row in answers.in_order()]

    assert run('p', 'infra:timeout') == ([0], ['p 0'])
    assert run('p', None) == ([0, 1], ['p 1'])
    assert run('q', None) == ([0, 1, 2], ['q 2'])
    assert run('p') == ([0, 1, 2], ['p 1']) and run('q') == ([0, 1, 2], ['q 2'])


def test_what_is_asked_again_has_the_usage_of_its_last_try(folder: Path) -> None:
    usage = {'usage': 3, 'auxiliary_models': [{'requests': 2}], 'earlier': {'usage': 1}}
    failed = {**rows(0)[0], 'infra': 'infra:timeout'}
    AnswerStore(folder).append([{**failed, 'usage': 9}, {**failed, 'attempt': 1, **usage}, *rows(1)])
    answers = answers_of(AnswerStore(folder), 'r0', 'r1')
    assert answers.again == {0: {'infra': 'infra:timeout', **usage}}
    answers.update({0: rows(0)[0]})
    assert answers.again == {} and answers[0]['attempt'] == 2
    assert [*answers.in_order()] == rows(0, 1), 'what only the store has is left out'


def test_what_others_add_is_found(folder: Path) -> None:
    answers, other = answers_of(AnswerStore(folder), 'r0', 'r1', 'r2'), AnswerStore(folder)
    other.append(rows(1))
    assert answers.found == set()
    answers.read()
    assert answers.found == {1}
    answers.found.clear()
    answers.update({0: rows(0)[0]})
    assert answers.found == {0}
    other.append(rows(2))
    answers.read()
    assert answers.found == {0, 2} and sorted(answers) == [0, 1, 2]


def test_an_unwritten_store_writes_nothing(folder: Path) -> None:
    answers = answers_of(unwritten := UnwrittenStore(folder), 'r0', 'r1', 'r2')
    answers.update(dict(enumerate(rows(0, 1))))
    unwritten.sync()
    assert not folder.exists() and without_time(answers.in_order()) == rows(0, 1)
    AnswerStore(folder).append([*rows(2), {'key': 'a', 'round': 0, 'answer': 'x'}])
    before = {file: file.read_bytes() for file in folder.iterdir()}
    answers.read()
    answers.update({1: {**rows(1)[0], 'prediction': 'new'}})
    assert without_time([answers[0], answers[2]]) == rows(0, 2)
    assert [row['answer'] for row in unwritten.rounds_of('a')] == ['x']
    assert without_time(unwritten.rows_at(unwritten.append(rows(7, 8)))) == rows(7, 8)
    assert {file: file.read_bytes() for file in folder.iterdir()} == before and len(before) == 1


def adopted(folder: Path) -> list[tuple[str, int, str]]:
    return sorted((row['record_id'], row.get('trial', 0), row['prediction']) for row in stored(folder))


def predictions(*texts: str) -> list[Row]:
    """Rows of a predictions file: two trials of two records."""
    return [{'record_id': record, 'prediction': text} for record, text in zip('abab', texts, strict=True)]


def test_only_lacking_rows_are_adopted(store: AnswerStore, folder: Path) -> None:
    adopt(AnswerStore(folder), [])
    assert not folder.exists()
    store.append([candidate('stored'), candidate('stored too', trial=1)])
    new = predictions('1', f'2{ODD}', '3', '4')
    adopt(AnswerStore(folder), iter(new))
    wanted = [('a', 0, 'stored'), ('a', 1, 'stored too'), ('b', 0, f'2{ODD}'), ('b', 1, '4')]
    assert adopted(folder) == wanted
    before = {file: file.read_bytes() for file in folder.iterdir()}
    adopt(AnswerStore(folder), new)
    assert {file: file.read_bytes() for file in folder.iterdir()} == before and len(before) == 2
    in_order = answers_of(AnswerStore(folder), *'abab').in_order()
    assert [row['prediction'] for row in in_order] == ['stored', f'2{ODD}', 'stored too', '4']


def test_an_answer_is_lacking_where_a_failure_or_an_answer_to_another_prompt_is_stored(
    store: AnswerStore, folder: Path
) -> None:
    failed = candidate('', infra='infra:timeout', prompt_digest='p')
    store.append([failed, candidate('other', trial=1, prompt_digest='q')])
    new = [{**row, 'prompt_digest': 'p'} for row in (candidate('1'), candidate('2'))]
    adopt(AnswerStore(folder), new)
    adopt(AnswerStore(folder), new)
    assert adopted(folder) == [('a', 0, ''), ('a', 0, '1'), ('a', 1, '2'), ('a', 1, 'other')]
    answers = answers_of(AnswerStore(folder), 'a', 'a', accepts=lambda index, row: row.get('prompt_digest') != 'q')
    assert [row['prediction'] for row in answers.in_order()] == ['1', '2'] and answers.again == {}


def test_what_is_adopted_is_what_a_process_would_have_stored(folder: Path) -> None:
    """Without the question, by which the answer is found. Usage of rounds that are not stored is earlier usage."""
    row = {**candidate('x'), 'origin_prompt': 'p', 'gold': 'g', 'source': 's', 'tools': []}
    usage = {'usage': 3, 'auxiliary_models': [{'requests': 2}]}
    adopt(AnswerStore(folder), [{**row, 'prompt_digest': 'd', **usage}, row])
    assert stored(folder) == [
        {**candidate('x'), 'prompt_digest': 'd', **usage, 'earlier': usage},
        {**candidate('x'), 'origin_prompt': 'p', 'trial': 1},
    ]


@pytest.mark.parametrize('function', ['fsync', 'replace'])
def test_all_rows_are_adopted_or_none(folder: Path, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, function, dies)
        adopt(AnswerStore(folder), predictions(*'1234'))
    assert stored(folder) == [] and list(folder.glob('*.jsonl')) == []
    adopt(AnswerStore(folder), predictions(*'1234'))
    assert adopted(folder) == [('a', 0, '1'), ('a', 1, '3'), ('b', 0, '2'), ('b', 1, '4')]
    assert len(list(folder.iterdir())) == 1


def test_what_a_kill_left_of_an_adoption_is_removed(folder: Path) -> None:
    if not (child := os.fork()):
        os.replace = lambda *_: os._exit(7)
        adopt(AnswerStore(folder), predictions(*'1234'))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert stored(folder) == [] and len(list(folder.iterdir())) == 1, 'a temporary file, which no reader reads'
    adopt(AnswerStore(folder), predictions(*'1234'))
    assert len(adopted(folder)) == 4 and len(list(folder.iterdir())) == 1


def test_a_store_goes_on_after_it_has_adopted_rows(store: AnswerStore, folder: Path) -> None:
    adopt(store, predictions(*'1234'))
    places: Sequence[Place] = store.append(rows(0))
    assert without_time(store.rows_at(places)) == rows(0) and len(stored(folder)) == 5


def test_write_json_writes_all_or_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / 'x.json'
    path.write_text('old')
    with pytest.raises(TypeError):
        write_json(path, [('0', {'prediction': {1, 2}})])
    assert path.read_text() == 'old'
    one, zero = rows(1, 0)
    write_json(path, (pair for pair in (('1', one), ('0', zero))))
    assert path.read_bytes().isascii()
    assert list(json.loads(path.read_text()).items()) == [('1', one), ('0', zero)]
    assert [item.name for item in tmp_path.iterdir()] == ['x.json']
    write_json(path, ())
    assert json.loads(path.read_text()) == {}
