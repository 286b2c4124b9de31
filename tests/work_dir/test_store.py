"""work_dir/journal: answers survive a kill and unusual characters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opencompass_tooleval.work_dir.journal import Journal, JournalRows, Row, write_json

ODD = 'line\u2028paragraph\u2029next\x85tab\t"quoted"\\ \ud800 三\r\n\x00'


def rows(*indices: int) -> dict[int, Row]:
    return {index: {'record_id': f'r{index}', 'prediction': f'{ODD}{index}', 'infra': None} for index in indices}


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / 'tmp_x.jsonl')


def test_round_trip(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    journal.remove()
    assert journal.restore() == {}
    journal.append(rows(3, 1))
    journal.append(rows(0))
    assert journal.restore() == rows(3, 1, 0)
    assert list(journal.restore()) == [3, 1, 0]
    assert journal.path.read_bytes().isascii()
    assert journal.path.read_bytes().count(b'\n') == 3
    journal.remove()
    assert not journal.path.exists() and journal.restore() == {}
    journal.append({0: {'prediction': '', 'infra': 'infra:timeout'}})
    journal.append(rows(0))
    assert journal.restore() == rows(0), 'the last answer counts'
    with journal.path.open('ab') as stream:
        stream.write(b'\n\n')
    journal.append(rows(1))
    assert journal.restore() == rows(0, 1) and caplog.records == [], 'blank lines are no fault'


def test_an_earlier_row_does_not_stand_in_for_an_unwanted_last_one(journal: Journal) -> None:
    journal.append(rows(0, 1))
    journal.append({0: {'prediction': '', 'infra': 'infra:timeout'}})
    kept = JournalRows(journal)
    kept.restore(lambda index, row: not row['infra'])
    assert dict(kept) == rows(1)


def test_every_cut_keeps_the_whole_lines(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    journal.append(rows(0, 1))
    whole = journal.path.read_bytes()
    first = whole.index(b'\n') + 1
    for length in range(len(whole)):
        journal.path.write_bytes(whole[:length])
        caplog.clear()
        assert journal.restore() == (rows(0) if length >= first else {}), length
        assert journal.path.read_bytes() == whole[: first if length >= first else 0]
        assert len(caplog.records) == (length not in (0, first)), length
        journal.append(rows(1))
        assert journal.restore() == (rows(0, 1) if length >= first else rows(1))


def test_unreadable_middle_line(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    lines = (
        b'{"idx": 1, "predic',
        b'\xff\xfe',
        b'[]',
        b'3',
        b'null',
        b'{"prediction": "x"}',
        b'{"idx": null}',
        b'{"idx": "x"}',
    )
    for line in lines:
        journal.append(rows(0))
        with journal.path.open('ab') as stream:
            stream.write(line + b'\n')
        journal.append(rows(2))
        caplog.clear()
        assert journal.restore() == rows(0, 2)
        ((level, said),) = [(record.levelname, record.getMessage()) for record in caplog.records]
        assert level == 'WARNING' and said.startswith(f'{journal.path}: line 2 cannot be read')
        assert 'its sample is asked again' in said
        journal.remove()


def test_rows_are_in_the_file_at_once_and_synced_ten_times_a_second(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr('os.fsync', lambda file: synced.append(len([*journal.rows()])))
    for now in (0.0, 0.05, 0.09, 0.15, 0.2, 0.26):
        monkeypatch.setattr('time.monotonic', lambda now=now: now)
        journal.append(rows(0))
    assert synced == [1, 4, 6] and len([*journal.rows()]) == 6


def test_write_json_writes_all_or_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / 'x.json'
    path.write_text('old')
    with pytest.raises(TypeError):
        write_json(path, [('0', {'prediction': {1, 2}})])
    assert path.read_text() == 'old'
    write_json(path, ((str(index), row) for index, row in rows(1, 0).items()))
    assert path.read_bytes().isascii()
    assert list(json.loads(path.read_text()).items()) == [('1', rows(1)[1]), ('0', rows(0)[0])]
    assert [item.name for item in tmp_path.iterdir()] == ['x.json']
