"""Writes each answer to disk when it arrives, so that a resumed run does not repeat requests."""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import shorten
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import open_plain
from opencompass_tooleval.work_dir.whole_file import naming, whole_file

logger = logging.getLogger(__name__)

Row = dict[str, Any]

_MOST_OF_FAULT = 200
_BLOCK = 1 << 16
_MAX_LINE = 1 << 27
"""Maximum number of bytes in a line. This package writes no longer ones; their parts are not valid rows."""
_SECONDS_BETWEEN_SYNCS = 0.1
"""On a shared disk a sync takes 10 ms or more, and delays the next answers."""

MODEL, REASON, FAILED = 'model', 'reason', 'infra'
"""Members of a dialogue's row: the model that gave the answer, if it is not the model under test; why the answer is
missing, if the dialogue continues without it; why a request failed, in a row that only records its cost."""


class Journal:
    """One ASCII JSON line per answer: ``{"idx": 3, "time": 1763726400.5, "record_id": ..., "prediction": ...}``.

    OpenCompass's own files become unreadable if a line is cut or contains U+2028, and cannot contain a lone surrogate.

    Args:
        path: The file, created by the first :meth:`append`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._synced = -math.inf

    def restore(self) -> dict[int, Row]:
        """Returns the rows by index, after removing an incomplete last line from the file."""
        self.repair()
        return {row['idx']: _without_stamp(row) for _, row in self.lines()}

    def repair(self) -> None:
        """Removes an incomplete last line from the file.

        Otherwise the next row would be appended to this line, and both would be lost.
        """
        if not self.path.exists():
            return
        open_plain(self.path, None).close()
        with self.path.open('rb+') as stream:
            end = size = stream.seek(0, os.SEEK_END)
            while end and (position := max(0, end - _BLOCK)) >= 0:
                stream.seek(position)
                found = stream.read(end - position).rfind(b'\n')
                if found >= 0:
                    end = position + found + 1
                    break
                end = position
            if end < size:
                logger.warning('%s: dropping a half-written last line', self.path)
                stream.truncate(end)

    def rows(self) -> Iterator[Row]:
        """Yields the complete rows, including ``idx``. Does not change the file, which may be in use."""
        return (row for _, row in self.lines())

    def lines(self) -> Iterator[tuple[int, Row]]:
        """Yields the byte offset and the row of each complete line."""
        position = 0
        with suppress(FileNotFoundError), open_plain(self.path, None) as stream:
            for number, line in enumerate(iter(partial(stream.readline, _MAX_LINE), b''), start=1):
                if line.strip() and line.endswith(b'\n'):
                    try:
                        row = _checked(load_json(line, bounded=True))
                    except ValueError as error:
                        why = shorten(str(error), _MOST_OF_FAULT)
                        logger.warning(
                            '%s: line %d cannot be read (%s); its sample is asked again', self.path, number, why
                        )
                    else:
                        yield position, row
                position += len(line)

    def row_at(self, position: int) -> Row:
        """Returns the row at a byte offset, without index and time."""
        return next(self.rows_at([position]))

    def rows_at(self, positions: Iterable[int]) -> Iterator[Row]:
        """Yields several rows as :meth:`row_at` does. Their size was checked when their offsets were read."""
        with open_plain(self.path, None) as stream:
            for position in positions:
                stream.seek(position)
                yield _without_stamp(_checked(load_json(stream.readline())))

    def append(self, rows: Mapping[int, Row]) -> dict[int, int]:
        """Writes ``rows``. They survive a kill of this process; a crash of the machine may lose the last ones.

        Returns:
            Index -> byte offset of the row in the file.
        """
        now = round(time.time(), 3)
        lines = {
            index: json.dumps({'idx': index, 'time': now, **row}).encode('ascii') + b'\n' for index, row in rows.items()
        }
        with naming(self.path), self.path.open('ab') as stream:
            end = stream.tell()
            stream.write(b''.join(lines.values()))
            stream.flush()
            if time.monotonic() - self._synced >= _SECONDS_BETWEEN_SYNCS:
                os.fsync(stream.fileno())
                self._synced = time.monotonic()
        ends = accumulate(map(len, lines.values()), initial=end)
        return dict(zip(lines, ends, strict=False))

    def sync(self) -> None:
        """Writes all rows to the disk (fsync)."""
        with suppress(FileNotFoundError), self.path.open('rb') as stream:
            os.fsync(stream.fileno())

    def remove(self) -> None:
        """Deletes the file."""
        self.path.unlink(missing_ok=True)


def _checked(row: Any) -> Row:
    """Returns the row if it has a valid ``idx``. A crashed host may leave any bytes in the file."""
    index = row.get('idx') if isinstance(row, dict) else None
    # JSON's true is an int in Python, and equals 1 as a key.
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise ValueError("its 'idx' is not a position of a sample")
    return dict(row)


class JournalRows(Mapping[int, Row]):
    """Rows by index, stored in a journal: adding a row writes it to the file, getting a row reads it from the file.

    Args:
        journal: The journal. Its existing rows are included after :meth:`restore`.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._positions: dict[int, int] = {}

    def restore(self, is_wanted: Callable[[int, Row], bool]) -> None:
        """Includes the rows of an earlier run: the last row of each index, if ``is_wanted`` accepts it."""
        self._journal.repair()
        for position, row in self._journal.lines():
            index = row['idx']
            self._positions.pop(index, None)
            if is_wanted(index, row):
                self._positions[index] = position

    def update(self, rows: Mapping[int, Row]) -> None:
        """Adds rows and writes them to the file."""
        self._positions.update(self._journal.append(rows))

    def in_order(self) -> Iterator[Row]:
        """Yields the rows in the order of their indices."""
        return self._journal.rows_at(self._positions[index] for index in sorted(self._positions))

    def __getitem__(self, index: int) -> Row:
        return self._journal.row_at(self._positions[index])

    def __contains__(self, index: object) -> bool:
        return index in self._positions  # Mapping's method would read the row

    def __iter__(self) -> Iterator[int]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)


class JoinedRows(Mapping[int, Row]):
    """Rows of several journals by index; rows of later journals replace those of earlier ones."""

    def __init__(self, journals: Iterable[JournalRows]) -> None:
        self._journals = {index: rows for rows in journals for index in rows}

    def __getitem__(self, index: int) -> Row:
        return self._journals[index][index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._journals)

    def __len__(self) -> int:
        return len(self._journals)


def _without_stamp(row: Row) -> Row:
    """Returns the row as it was added, without index and time."""
    return {name: value for name, value in row.items() if name not in ('idx', 'time')}


def write_json(path: Path, rows: Iterable[tuple[str, Row]]) -> None:
    """Writes rows as a JSON object in ASCII, atomically, with one line per member of a row."""
    with whole_file(path) as temporary, temporary.open('w', encoding='ascii') as stream:
        separator = '{'
        for name, row in rows:
            # json's own indentation takes ten times as long.
            members = ',\n        '.join(f'{json.dumps(key)}: {json.dumps(value)}' for key, value in row.items())
            stream.write(f'{separator}\n    {json.dumps(name)}: {{\n        {members}\n    }}')
            separator = ','
        stream.write('\n}' if separator == ',' else '{}')
