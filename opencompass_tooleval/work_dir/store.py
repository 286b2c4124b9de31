"""Stores each answer on disk when it arrives. All other files of a run are made from these, and none is taken apart.

The answers to ``NAME`` are in the folder ``NAME.answers``. Each process that asks adds lines to its own file, so
no file has two writers, and a killed process damages at most its last line. No line is ever removed or changed.

A row is an answer to a record (``record_id``, ``trial``, ``prediction``), or to one request of a dialogue (``key``,
``round``, ``asked``). A record is asked again with the next number of ``attempt``. Of several rows for one record that
the config accepts, :class:`Answers` takes a whole answer before one that the config cuts off or a failure, then the
highest attempt, then the earliest (two replicas may have asked). So the choice does not depend on the order of files.
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
from opencompass_tooleval.core.scoring.result import with_runs
from opencompass_tooleval.core.scoring.usage_summary import OTHERS
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import open_plain
from opencompass_tooleval.work_dir.whole_file import naming, sync_folder, whole_file

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
"""Members of a row: the model that gave the answer, if it is not the model under test; why the answer is missing, if
the dialogue continues without it; why the request failed (a dialogue's row then only records its cost)."""
TIME, TRIAL, ATTEMPT = 'time', 'trial', 'attempt'
"""Members of a record's row: the seconds since 1970; its numbers, which are missing if 0."""
EARLIER = 'earlier'
"""Member of the row of a dialogue: the usage of tries whose requests are not in the store."""
_ONLY_STORED = (TIME, TRIAL, ATTEMPT, EARLIER)
_OF_QUESTION = ('gold', 'source', 'tools')
"""Members of predictions that are not stored."""
_MOST_ATTEMPTS = 1 << 31
_MOST_OPEN = 64
"""Maximum number of files that are open at once."""


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

    def make_folder(self) -> None:
        """Makes the folder; its name is on the disk then."""
        if not self.folder.is_dir():
            self.folder.mkdir(parents=True, exist_ok=True)
            sync_folder(self.folder.parent)

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
                    if not self._is_round(place := Place(file.name, offset), row):
                        yield place, row

    def _is_round(self, place: Place, row: Row) -> bool:
        """Notes the place of an answer to a request of a dialogue; returns False for a record's row."""
        if is_round := isinstance(row.get('round'), int):
            self.rounds.setdefault(str(row.get('key')), []).append(place)
        return is_round

    def restored(self) -> AnswerStore:
        """Reads what other processes have stored; returns the store, whose ``rounds`` are complete then."""
        deque(self.read(), maxlen=0)
        return self

    def _rows(self, file: Path, begin: int, end: float) -> Iterator[tuple[int, Row]]:
        faults: list[str] = []
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
                        faults.append(f'at byte {begin}: {shorten(str(error), _MOST_OF_FAULT)}')
                    else:
                        yield begin, row
                begin += len(line)
                self._offsets[file.name] = begin
        if faults:
            what = f'lines that cannot be read: {len(faults)} (the first {faults[0]})'
            logger.warning('%s: %s; their samples are asked again', file, what)

    def rows_at(self, places: Iterable[Place]) -> Iterator[Row]:
        """Yields the rows at these places."""
        streams: dict[str, Any] = {}
        try:
            for place in places:
                if place.file not in streams:
                    if len(streams) == _MOST_OPEN:
                        streams.pop(next(iter(streams))).close()
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
            self.make_folder()
        now = round(time.time(), 3)
        lines = [json.dumps({TIME: now, **row}).encode('ascii') + b'\n' for row in rows]
        with naming(self.path), self.path.open('ab') as stream:
            if (begin := stream.tell()) != self._end:  # a failed write may have left a part of a line
                begin += stream.write(b'\n')
            stream.write(b''.join(lines))
            stream.flush()
            if time.monotonic() - self._synced >= _SECONDS_BETWEEN_SYNCS:
                os.fsync(stream.fileno())
                self._synced = time.monotonic()
            self._end = stream.tell()
        if not begin:
            sync_folder(self.folder)  # the name of the file
        places = [Place(self.name, offset) for offset in accumulate(map(len, lines[:-1]), initial=begin)][: len(lines)]
        for place, row in zip(places, rows, strict=True):
            self._is_round(place, row)
        return places

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


def is_whole(row: Mapping[str, Any]) -> bool:
    """Tests if a record's row has an answer or a failure."""
    return isinstance(row.get('prediction'), str) and isinstance(row.get(FAILED) or '', str)


def has_failed(row: Mapping[str, Any]) -> bool:
    """Tests if a record's row has a failure in place of an answer."""
    return bool(row.get(FAILED))


def keys_of(record_ids: Iterable[Any]) -> list[Key]:
    """Returns the key of each record of a dataset, which repeats the records for each trial."""
    return [key for key, _ in with_runs(map(str, record_ids), str)]


def key_of(row: Mapping[str, Any]) -> Key:
    """Returns the key of a record's row."""
    trial = row.get(TRIAL, 0)
    return _record_id(row), trial if type(trial) is int else -1  # JSON's true equals 1 as a key


def key_text(key: Key) -> str:
    """Returns a key as one text, as dialogues have it."""
    name, trial = key
    return f'{name}#{trial + 1}' if trial else name


def _attempt_of(row: Mapping[str, Any]) -> int:
    attempt = row.get(ATTEMPT)
    return attempt if type(attempt) is int and 0 < attempt < _MOST_ATTEMPTS else 0


def rank_of(place: Place, row: Mapping[str, Any], asks_again: Callable[[Any], bool] = has_failed) -> tuple[Any, ...]:
    """Returns a value that is smaller for a row that counts rather than another one (see the module's docstring)."""
    at = row.get(TIME)
    at = at if isinstance(at, float) and math.isfinite(at) else math.inf
    return asks_again(row), -_attempt_of(row), has_failed(row), at, place


def best_rows(rows: Iterable[tuple[Place, Row]]) -> dict[Key, Row]:
    """Returns the row that counts for each record, whatever a config accepts."""
    best: dict[Key, tuple[tuple[Any, ...], Row]] = {}
    for place, row in rows:
        if is_whole(row) and (rank := rank_of(place, row)) <= best.get(key := key_of(row), (rank,))[0]:
            best[key] = rank, row
    return {key: row for key, (_, row) in best.items()}


class Answers(Mapping[int, Row]):
    """The stored answer to each record, by its index: adding one writes it to the store, getting one reads it.

    Args:
        store: The store.
        keys: Key of each record.
        accepts: Tests if a row answers the record with an index, as the config asks.
        asks_again: Tests if an accepted row must be asked again, since its answer is cut or missing.

    Attributes:
        again: Index -> reason and usage of each answer to ask again.
        found: Indices of the answers that were read or added since the caller has cleared this set.
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

    def read(self) -> set[int]:
        """Reads the rows that other processes have added, and returns ``found``."""
        for place, row in self.store.read():
            index = self._index.get(key_of(row))
            if index is None or not is_whole(row):
                continue
            self._attempts[index] = max(self._attempts.get(index, 0), _attempt_of(row) + 1)
            if self._accepts(index, row):
                self._take(index, place, row)
        return self.found

    def update(self, rows: Mapping[int, Row]) -> None:
        """Adds rows, and writes them to the store."""
        now = round(time.time(), 3)
        stamped = [{TIME: now, **row, **self._numbers(index)} for index, row in rows.items()]
        for place, index, row in zip(self.store.append(stamped), rows, stamped, strict=True):
            self._attempts[index] = _attempt_of(row) + 1
            self._take(index, place, row)

    def _numbers(self, index: int) -> Row:
        numbers = {TRIAL: self._keys[index][1], ATTEMPT: self._attempts.get(index, 0)}
        return {name: number for name, number in numbers.items() if number}

    def _take(self, index: int, place: Place, row: Row) -> None:
        self.found.add(index)
        rank = rank_of(place, row, self._asks_again)
        if index in self._best and rank > self._best[index]:
            return
        self._best[index] = rank
        self.again.pop(index, None)
        if self._asks_again(row):
            self.again[index] = {name: row[name] for name in (FAILED, USAGE, OTHERS, EARLIER) if name in row}

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

    def identity(key: Key, row: Row) -> tuple[Any, ...]:
        return key, str(row.get('prompt_digest')), has_failed(row)

    stored = {identity(key_of(row), row) for _, row in store.read() if is_whole(row)}
    lacking = [(key, row) for key, row in with_runs(rows, _record_id) if identity(key, row) not in stored]
    if lacking:
        store.make_folder()
        with whole_file(store.path) as temporary, temporary.open('w', encoding='ascii') as stream:
            stream.writelines(f'{json.dumps(_adopted(row, trial))}\n' for (_, trial), row in lacking)


def _adopted(row: Row, trial: int) -> Row:
    # A row without a digest, such as an imported one, may answer another prompt than the dataset has.
    of_question = (*_OF_QUESTION, 'origin_prompt') if row.get('prompt_digest') else _OF_QUESTION
    kept = {name: value for name, value in row.items() if name not in (*of_question, *_ONLY_STORED)}
    usage = {name: row[name] for name in (USAGE, OTHERS) if name in row}
    return {**kept, **({TRIAL: trial} if trial else {}), **({EARLIER: usage} if usage else {})}


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
