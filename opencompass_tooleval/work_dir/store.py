"""Stores each answer on disk when it arrives. All other files of a run are made from these, and none is taken apart.

The answers to ``NAME`` are in the folder ``NAME.answers``. Each process that asks adds lines to a file of its own, so
no file has two writers, and a killed process damages at most its last line. No line is ever removed or changed.

A row is an answer to a record (``record_id``, ``trial``, ``prediction``), or to one request of a dialogue (``key``,
``round``, ``asked``). Of several rows for one record that the config accepts, :class:`Answers` takes the one with the
highest ``attempt``: a row whose answer was cut or has failed, or fits another prompt or setting, is asked again with
the next number. Of several with the same number, as after the takeover of a replica that still ran, it takes the
earliest. So the choice does not depend on the order of files.
"""

from __future__ import annotations

import json
import logging
import math
import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from opencompass_tooleval.core.calls.answer import USAGE
from opencompass_tooleval.core.errors import shorten
from opencompass_tooleval.core.scoring.runs import with_runs
from opencompass_tooleval.core.scoring.usage_summary import OTHERS
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import open_plain
from opencompass_tooleval.work_dir.whole_file import naming, whole_file

logger = logging.getLogger(__name__)

Row = dict[str, Any]
Key = tuple[str, int]
"""Record id and number of the trial."""

_MOST_OF_FAULT = 200
_MAX_LINE = 1 << 27
"""Maximum number of bytes in a line. This package writes no longer ones; their parts are not valid rows."""
_SECONDS_BETWEEN_SYNCS = 0.1
"""On a shared disk a sync takes 10 ms or more, and delays the next answers."""

MODEL, REASON, FAILED = 'model', 'reason', 'infra'
"""Members of a dialogue's row: the model that gave the answer, if it is not the model under test; why the answer is
missing, if the dialogue continues without it; why a request failed, in a row that only records its cost."""
TRIAL, ATTEMPT = 'trial', 'attempt'
"""Members of a record's row; missing if 0."""
_ONLY_STORED = ('time', TRIAL, ATTEMPT)


class Place(NamedTuple):
    """The place of a row: the name of a file in the store, and the byte offset."""

    file: str
    offset: int


class AnswerStore:
    """One ASCII JSON line per answer: ``{"time": 1763726400.5, "record_id": ..., "prediction": ...}``.

    OpenCompass's own files become unreadable if a line is cut or contains U+2028, and cannot contain a lone surrogate.

    Args:
        folder: The folder, created by the first :meth:`append`.
        name: Name of the file that this process writes; by default a new one.

    Attributes:
        visible: Name of each other file to read -> number of bytes to read; None to read all files to their end.
        rounds: Key of a dialogue -> places of the answers to its requests, from :meth:`read`.
    """

    def __init__(self, folder: Path, name: str = '') -> None:
        self.folder = folder
        self.name = name or f'{time.strftime("%Y%m%d_%H%M%S")}-{secrets.token_hex(4)}.jsonl'
        self.visible: dict[str, float] | None = None
        self.rounds: dict[str, list[Place]] = {}
        self._offsets: dict[str, int] = {}
        self._end = 0
        self._synced = -math.inf

    @property
    def path(self) -> Path:
        """The file that this process writes."""
        return self.folder / self.name

    def sizes(self) -> dict[str, float]:
        """Returns the number of bytes of each file."""
        return {file.name: file.stat().st_size for file in self.files()}

    def files(self) -> list[Path]:
        """Returns all files, in the order of their names."""
        return sorted(self.folder.glob('*.jsonl'))

    def read(self) -> Iterator[tuple[Place, Row]]:
        """Yields the rows that other processes have added since the last call, without those of requests in dialogues.

        A line that cannot be read is left out, with a warning.

        Raises:
            DataError: A file is not a plain file.
            OSError: A file cannot be read; the error names it.
        """
        for file in self.files():
            most = math.inf if self.visible is None else self.visible.get(file.name, 0)
            if file.name != self.name and most > (begin := self._offsets.get(file.name, 0)):
                for offset, row in self._rows(file, begin, most):
                    if isinstance(row.get('round'), int):
                        self.rounds.setdefault(str(row.get('key')), []).append(Place(file.name, offset))
                    else:
                        yield Place(file.name, offset), row

    def restored(self) -> AnswerStore:
        """Reads what other processes have stored; returns the store, whose ``rounds`` are complete then."""
        deque(self.read(), maxlen=0)
        return self

    def _rows(self, file: Path, begin: int, end: float) -> Iterator[tuple[int, Row]]:
        with naming(file), open_plain(file, None) as stream:
            stream.seek(begin)
            for line in iter(partial(stream.readline, _MAX_LINE), b''):
                if begin + len(line) > end or not (line.endswith(b'\n') or len(line) == _MAX_LINE):
                    break  # the line is being written, or its writer was killed
                if line.strip():
                    try:
                        row = load_json(line, bounded=True)
                        if not isinstance(row, dict):
                            raise ValueError('it is not an object')
                    except ValueError as error:
                        what = f'the line at byte {begin} cannot be read ({shorten(str(error), _MOST_OF_FAULT)})'
                        logger.warning('%s: %s; its sample is asked again', file, what)
                    else:
                        yield begin, row
                begin += len(line)
                self._offsets[file.name] = begin

    def rows_at(self, places: Iterable[Place]) -> Iterator[Row]:
        """Yields the rows at these places."""
        streams: dict[str, Any] = {}
        try:
            for place in places:
                if place.file not in streams:
                    streams[place.file] = open_plain(self.folder / place.file, None)
                streams[place.file].seek(place.offset)
                yield dict(load_json(streams[place.file].readline()))
        finally:
            for stream in streams.values():
                stream.close()

    def rounds_of(self, key: str) -> list[Row]:
        """Returns the stored answers to the requests of a dialogue. Of several to one request, the first counts."""
        places = self.rounds.get(key, ())
        pairs = sorted(zip(places, self.rows_at(places), strict=True), key=lambda pair: rank_of(*pair))
        return [row for _, row in pairs]

    def append(self, rows: Sequence[Row]) -> list[Place]:
        """Writes rows. They survive a kill of this process; a crash of the machine may lose the last ones.

        Returns:
            The place of each row.

        Raises:
            OSError: The file cannot be written; the error names it.
        """
        if not self._end:
            self.folder.mkdir(parents=True, exist_ok=True)
        now = round(time.time(), 3)
        lines = [json.dumps({'time': now, **row}).encode('ascii') + b'\n' for row in rows]
        with naming(self.path), self.path.open('ab') as stream:
            if (begin := stream.tell()) != self._end:  # a failed write may have left a part of a line
                begin += stream.write(b'\n')
            stream.write(b''.join(lines))
            stream.flush()
            if time.monotonic() - self._synced >= _SECONDS_BETWEEN_SYNCS:
                os.fsync(stream.fileno())
                self._synced = time.monotonic()
            self._end = stream.tell()
        return [Place(self.name, offset) for offset in accumulate(map(len, lines[:-1]), initial=begin)][: len(lines)]

    def sync(self) -> None:
        """Writes all rows to the disk (fsync)."""
        with suppress(FileNotFoundError), self.path.open('rb') as stream:
            os.fsync(stream.fileno())


class UnwrittenStore(AnswerStore):
    """A store that keeps new rows in memory, for all but the first of the processes that share a model."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._new: list[Row] = []

    def append(self, rows: Sequence[Row]) -> list[Place]:
        """Keeps rows in memory."""
        self._new += rows
        return [Place('', number) for number in range(len(self._new) - len(rows), len(self._new))]

    def rows_at(self, places: Iterable[Place]) -> Iterator[Row]:
        """Yields the rows at these places."""
        for place in places:
            yield from super().rows_at([place]) if place.file else [self._new[place.offset]]


def keys_of(record_ids: Iterable[Any]) -> list[Key]:
    """Returns the key of each record of a dataset, which repeats the records for each trial."""
    return [key for key, _ in with_runs(map(str, record_ids), str)]


def key_of(row: Mapping[str, Any]) -> Key:
    """Returns the key of a record's row."""
    trial = row.get(TRIAL, 0)
    return _record_id(row), trial if type(trial) is int else -1  # JSON's true equals 1 as a key


def rank_of(place: Place, row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns a value that is smaller for a row that counts rather than another one (see the module's docstring)."""
    attempt, at = row.get(ATTEMPT, 0), row.get('time')
    is_number = isinstance(at, (int, float)) and math.isfinite(at)
    return -attempt if type(attempt) is int else 0, bool(row.get('infra')), at if is_number else math.inf, place


class Answers(Mapping[int, Row]):
    """The stored answer to each record, by its index: adding one writes it to the store, getting one reads it.

    Args:
        store: The store.
        keys: Key of each record.
        accepts: Tests if a row answers the record with an index, as the config asks.
        asks_again: Tests if an accepted row must be asked again, since its answer is cut or missing.

    Attributes:
        again: Index -> reason and usage of each answer to ask again.
        found: Indices of the rows that the last calls of :meth:`read` have accepted.
    """

    def __init__(
        self,
        store: AnswerStore,
        keys: Sequence[Key],
        accepts: Callable[[int, Row], bool],
        asks_again: Callable[[Row], bool],
    ) -> None:
        self.store = store
        self.again: dict[int, Row] = {}
        self.found: set[int] = set()
        self._keys = keys
        self._index = {key: index for index, key in enumerate(keys)}
        self._accepts = accepts
        self._asks_again = asks_again
        self._best: dict[int, tuple[Any, ...]] = {}
        self._attempts: dict[int, int] = {}

    def read(self) -> None:
        """Reads the rows that other processes have added."""
        for place, row in self.store.read():
            index = self._index.get(key_of(row))
            whole = isinstance(row.get('prediction'), str) and isinstance(row.get('infra') or '', str)
            if index is None or not whole:
                continue
            rank = rank_of(place, row)
            self._attempts[index] = max(self._attempts.get(index, 0), 1 - rank[0])
            if self._accepts(index, row):
                self.found.add(index)
                self._take(index, rank, row)

    def update(self, rows: Mapping[int, Row]) -> None:
        """Adds rows, and writes them to the store."""
        stamped = {
            index: {**row, **({TRIAL: trial} if (trial := self._keys[index][1]) else {}), **self._attempt(index)}
            for index, row in rows.items()
        }
        for place, (index, row) in zip(self.store.append([*stamped.values()]), stamped.items(), strict=True):
            self._take(index, rank_of(place, row), row)

    def _attempt(self, index: int) -> Row:
        return {ATTEMPT: self._attempts[index]} if index in self._attempts else {}

    def _take(self, index: int, rank: tuple[Any, ...], row: Row) -> None:
        if index in self._best and rank > self._best[index]:
            return
        self._best[index] = rank
        self.again.pop(index, None)
        if self._asks_again(row):
            self.again[index] = {name: row[name] for name in (FAILED, USAGE, OTHERS) if name in row}

    def in_order(self) -> Iterator[Row]:
        """Yields the rows in the order of their indices, without what only the store has."""
        for row in self.store.rows_at(self._best[index][-1] for index in sorted(self._best)):
            yield {name: value for name, value in row.items() if name not in _ONLY_STORED}

    def __getitem__(self, index: int) -> Row:
        return next(self.store.rows_at([self._best[index][-1]]))

    def __contains__(self, index: object) -> bool:
        return index in self._best  # Mapping's method would read the row

    def __iter__(self) -> Iterator[int]:
        return iter(self._best)

    def __len__(self) -> int:
        return len(self._best)


def adopt(store: AnswerStore, rows: Iterable[Row]) -> None:
    """Adds the rows of predictions that the store lacks, such as imported ones: all of them, or none after a kill."""
    stored = {key_of(row) for _, row in store.read()}
    lacking = [(trial, row) for (name, trial), row in with_runs(rows, _record_id) if (name, trial) not in stored]
    if lacking:
        store.folder.mkdir(parents=True, exist_ok=True)
        with whole_file(store.path) as temporary, temporary.open('w', encoding='ascii') as stream:
            stream.writelines(f'{json.dumps({**row, TRIAL: trial})}\n' for trial, row in lacking)


def _record_id(row: Mapping[str, Any]) -> str:
    return str(row.get('record_id'))


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
