"""The file of recorded calls."""

from __future__ import annotations

import resource
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.environments.arguments import arguments_key
from opencompass_tooleval.environments.bank import MAX_RESPONSE, Bank, Built, RecordedCall, write_bank

CALLS = [
    RecordedCall('f', '1', 'search', {'q': 'a'}, 'first'),
    RecordedCall('f', '1', 'search', {'q': 'a'}, 'second', 'timeout'),
    RecordedCall('f', '2', 'search', {'q': 'a'}, 'third'),
    RecordedCall('g', '', 'search', '{"q": "b"}', 'fourth', 'timeout'),
]


def key(arguments: object) -> bytes:
    found = arguments_key(arguments)
    assert found is not None
    return found


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    assert write_bank(CALLS, tmp_path / 'bank') == Built(4, 0, 0)
    return Bank(tmp_path / 'bank')


def test_what_is_put_in_comes_out(bank: Bank) -> None:
    assert bank.recorded_for('1', 'search', key({'q': 'a'})) == CALLS[:2]
    assert bank.recorded_for('', 'search', key({'q': 'b'})) == []  # of no task, not of a task without a name
    assert [call for _, call in bank.recorded_of('1', 'search')] == CALLS[:2]
    other_task = bank.recorded_for_other_task('', 'search', key({'q': 'b'}))
    assert other_task is not None and other_task.response == 'fourth'


def test_what_cannot_be_compared_is_left_out_and_counted(tmp_path: Path) -> None:
    hostile = [
        RecordedCall('f', '1', 'n' * 1_000, {'q': 'x' * 1_000_000}, 'a'),
        RecordedCall('f\udc80', '1\udc80', 'n\udc80', {'q': '\udc80'}, 'b\udc80' + 'x' * 1_000_000),
    ]
    assert write_bank(hostile, tmp_path / 'bank') == Built(1, 1, 1)
    found = Bank(tmp_path / 'bank').recorded_for('1\\udc80', 'n\\udc80', key({'q': '\udc80'}))
    assert [len(call.response) for call in found] == [MAX_RESPONSE + len('\\udc80') - 1]


def test_the_digest_stands_for_all_that_is_in_it(bank: Bank, tmp_path: Path) -> None:
    write_bank(CALLS, tmp_path / 'again')
    write_bank(CALLS[:3], tmp_path / 'less')
    assert Bank(tmp_path / 'again').digest == bank.digest != Bank(tmp_path / 'less').digest


def test_a_bank_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    def calls() -> object:
        yield CALLS[0]
        raise RuntimeError

    write_bank(CALLS, tmp_path / 'bank')
    with pytest.raises(RuntimeError):
        write_bank(calls(), tmp_path / 'bank')  # type: ignore[arg-type]
    assert Bank(tmp_path / 'bank').files() == {'f': 3, 'g': 1}
    assert [file.name for file in tmp_path.iterdir()] == ['bank']


@pytest.mark.parametrize('content', [b'', b'SQLite format 3\0' + b'x' * 5_000])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / 'bank').write_bytes(content)
    with pytest.raises(DataError, match=r'not a response bank.* tooleval agents bank build'):
        Bank(tmp_path / 'bank')


def test_a_missing_one_another_database_and_a_damaged_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match='is missing'):
        Bank(tmp_path / 'none')
    sqlite3.connect(tmp_path / 'other').execute('CREATE TABLE calls (id INTEGER)')
    with pytest.raises(DataError, match='of this version'):
        Bank(tmp_path / 'other')
    write_bank((RecordedCall('f', str(place), 'n', {}, 'x' * 100) for place in range(1_000)), tmp_path / 'bank')
    content = (tmp_path / 'bank').read_bytes()
    (tmp_path / 'bank').write_bytes(content[:4096] + b'\xff' * (len(content) - 4096))
    damaged = Bank(tmp_path / 'bank')
    with pytest.raises(DataError, match='is damaged'):
        damaged.recorded_of('1', 'n')


def look_at_all(bank: Bank) -> None:
    for look in (lambda: bank.digest, bank.tasks, bank.files, bank.names, bank.errors):
        look()
    for call in CALLS:
        for arguments in ({'q': 'a'}, {'q': 'b'}):
            bank.recorded_for(call.task, call.name, key(arguments))
            bank.recorded_for_other_task(call.task, call.name, key(arguments))
        bank.recorded_of(call.task, call.name)
        bank.examples(call.name, 3)


def test_a_bank_without_its_digest_or_with_other_values_is_damaged(tmp_path: Path) -> None:
    for change, said in (
        ('DELETE FROM facts', 'no digest'),
        ("UPDATE calls SET response = x'ff'", 'not a string'),
        ("UPDATE calls SET arguments = '{'", 'not JSON'),
    ):
        write_bank(CALLS, tmp_path / 'bank')
        with closing(sqlite3.connect(tmp_path / 'bank')) as connection, connection:
            connection.execute(change)
        with Bank(tmp_path / 'bank') as bank, pytest.raises(DataError, match=rf'is damaged \(.*{said}'):
            look_at_all(bank)


@pytest.mark.parametrize('place', ['/dev/full', '.'])
def test_a_device_or_a_folder_is_no_place_for_a_bank(tmp_path: Path, place: str) -> None:
    with pytest.raises(OSError, match=f'cannot write .*{Path(place).name}: a bank must be a regular file'):
        write_bank(CALLS, tmp_path / place)


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_192, hard))
    try:
        with pytest.raises(OSError, match=f'cannot write {tmp_path / "bank"}: '):
            write_bank(CALLS, tmp_path / 'bank')
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_a_read_only_folder_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bank(CALLS[:1], tmp_path / 'bank')
    monkeypatch.setattr('os.access', lambda *_: False)
    write_bank(CALLS, tmp_path / 'bank')
    with Bank(tmp_path / 'bank') as bank:
        assert bank.names() == {'search': 4}


VIEW = """DROP TABLE calls; CREATE VIEW calls AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
SELECT x AS id, 'f' AS file, 't' AS task, 'n' AS name, x'00' AS arguments_key, '{}' AS arguments, 'r' AS response,
'' AS error FROM n"""


@pytest.mark.parametrize(
    'script',
    [
        VIEW,
        'CREATE TRIGGER t AFTER INSERT ON calls BEGIN DELETE FROM calls; END',
        'ALTER TABLE facts ADD COLUMN more TEXT AS (hex(zeroblob(100000000)))',
    ],
)
def test_what_is_no_plain_table_of_ours_is_refused(bank: Bank, tmp_path: Path, script: str) -> None:
    file = tmp_path / 'other.bank'
    file.write_bytes(bank.file.read_bytes())
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(script)
    with pytest.raises(DataError, match='it does not have the tables of a bank'):
        Bank(file)


def test_a_query_without_an_end_ends(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('opencompass_tooleval.environments.bank.MAX_SECONDS', 0.2)
    with pytest.raises(DataError, match='interrupted'):
        bank._rows('WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n')
