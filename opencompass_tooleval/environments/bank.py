"""The response bank: recorded calls and their responses in one SQLite file.

A bank with 100,000 calls opens at once and needs little memory. JSON lines with an index in memory would have to be
read completely at each start.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from opencompass_tooleval.core.calls.tool_calls import MAX_NAME_CHARS
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, clean_text, to_jsonable
from opencompass_tooleval.environments.arguments import arguments_key
from opencompass_tooleval.plugin import offered
from opencompass_tooleval.work_dir.whole_file import whole_file


def fix_of_bank(source: str = 'SOURCE', out: str = 'FILE') -> str:
    """Returns the command that makes a bank of recordings; ``''`` if the package lacks the command."""
    return offered(f'tooleval agents bank build --from {source} --out {out}')


INPUT_ERROR = 'input'
"""The error kind of a recorded call with wrong or missing arguments."""

MAX_RESPONSE = MAX_CHARS
"""Maximum number of characters of a response that are stored."""

VERSION = 1
_CACHE_KIB = 32 * 1024
_APPLICATION = 0x54424E4B  # 'TBNK'
_TABLES = """
CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    file TEXT NOT NULL,
    task TEXT NOT NULL,
    name TEXT NOT NULL,
    arguments_key BLOB NOT NULL,
    arguments TEXT NOT NULL,
    response TEXT NOT NULL,
    error TEXT NOT NULL
);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
_INDEXES = """
CREATE INDEX by_task ON calls (task, name, arguments_key);
CREATE INDEX by_name ON calls (name, arguments_key);
"""
_COLUMNS = 'file, task, name, arguments, response, error'
MAX_VALUE = 1 << 25
"""Maximum number of bytes of a value and of a row in a bank; all tools of a server are one value."""
MAX_SECONDS = 120.0
"""Maximum time of a query, in seconds; reading the largest bank completely takes a few seconds."""
_STEPS = 100_000
"""Number of SQLite's instructions between two checks of the time."""
_DAMAGED = (sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError)
"""Errors of :mod:`sqlite3` for a damaged file, and other errors if a text or number is damaged."""


def _statements(script: str) -> set[str]:
    """Returns the statements of a script with single spaces between words, as the schema of a bank contains them."""
    return {' '.join(statement.split()) for statement in script.split(';') if statement.strip()}


@dataclass(frozen=True)
class RecordedCall:
    """One recorded call.

    Attributes:
        file: Name of the source file in the bank.
        task: Id of the task that made the call; ``''`` if unknown.
        name: The API.
        arguments: A value, or text that is not JSON.
        response: The response.
        error: The error in one word; ``''`` without a known error.
    """

    file: str
    task: str
    name: str
    arguments: Any
    response: str
    error: str = ''


@dataclass(frozen=True)
class Built:
    """Counts of the calls from which a bank was made.

    Attributes:
        calls: Number of calls in the bank.
        left_out: Number of calls left out, since their arguments are too large or too deep to compare.
        cut: Number of calls with a truncated response.
    """

    calls: int
    left_out: int
    cut: int


def write_bank(calls: Iterable[RecordedCall], file: Path, tools: Sequence[Mapping[str, Any]] = ()) -> Built:
    """Writes a bank, completely or not at all.

    Args:
        calls: The calls; calls from the same source file and task must be in the order in which they were made.
        file: Path of the bank; an existing file is replaced.
        tools: Tools of MCP servers, in the format of ``tools/list``.

    Raises:
        DataError: No call can be stored.
        OSError: The file cannot be written.
    """
    if file.exists() and not file.is_file():
        raise OSError(f'cannot write {file}: a bank must be a regular file, and this is a folder, a device or a pipe')
    count = left_out = cut = 0
    digest = hashlib.blake2b(digest_size=16)
    with whole_file(file) as temporary, _writing(temporary, file) as connection:
        connection.execute('PRAGMA journal_mode = OFF')
        connection.execute('PRAGMA synchronous = OFF')
        connection.execute(f'PRAGMA application_id = {_APPLICATION}')
        connection.execute(f'PRAGMA user_version = {VERSION}')
        connection.executescript(_TABLES)
        for call in calls:
            key = arguments_key(call.arguments)
            if key is None:
                left_out += 1
                continue
            count += 1
            cut += len(call.response) > MAX_RESPONSE
            row = (
                clean_text(call.file),
                clean_text(call.task),
                clean_text(call.name[:MAX_NAME_CHARS]),
                key,
                stored_arguments(call.arguments),
                clean_text(call.response[:MAX_RESPONSE]),
                call.error,
            )
            digest.update(repr(row).encode())
            connection.execute('INSERT INTO calls VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)', row)
        if not count:
            why = f' ({left_out} are too large)' if left_out else ': T-Eval has them in review_str, not in plans'
            raise DataError(file, f'no bank is written, since the sources contain no recorded calls{why}')
        connection.executescript(_INDEXES)
        if tools:
            listed = json.dumps(to_jsonable(list(tools)), ensure_ascii=True)
            digest.update(listed.encode())
            connection.execute('INSERT INTO facts VALUES (?, ?)', ('tools', listed))
        connection.execute('INSERT INTO facts VALUES (?, ?)', ('digest', digest.hexdigest()))
        connection.commit()
    return Built(count, left_out, cut)


def stored_arguments(arguments: Any) -> str:
    """Formats arguments for the bank: keys in their order, numbers and texts unchanged."""
    return json.dumps(to_jsonable(arguments), ensure_ascii=False)


@contextmanager
def _writing(temporary: Path, file: Path) -> Iterator[sqlite3.Connection]:
    """Opens a connection to an empty ``temporary``; errors name ``file``."""
    temporary.write_bytes(b'')  # in a read-only folder this is the file itself, perhaps an old bank
    try:
        with closing(sqlite3.connect(temporary)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise OSError(f'cannot write {file}: {error}') from error


class Bank:
    """A bank for look-ups; threads may share it.

    Args:
        file: A file from :func:`write_bank`.

    Raises:
        DataError: The file is missing, damaged or not a bank.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        if not file.is_file():
            raise DataError(file, 'the response bank is missing', fix=fix_of_bank())
        self._lock = threading.Lock()
        self._end = time.monotonic() + MAX_SECONDS
        try:
            uri = f'{file.absolute().as_uri()}?mode=ro&immutable=1'
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
            self._bound()
            self._connection.execute(f'PRAGMA cache_size = -{_CACHE_KIB}')
            application = self._connection.execute('PRAGMA application_id').fetchone()[0]
            version = self._connection.execute('PRAGMA user_version').fetchone()[0]
        except _DAMAGED as error:
            raise DataError(file, f'the file is not a response bank ({error})', fix=fix_of_bank()) from error
        if (application, version) != (_APPLICATION, VERSION):
            self.close()
            raise DataError(file, 'the file is not a response bank of this version', fix=fix_of_bank())
        self._check_schema()

    def _bound(self) -> None:
        """Limits each value and each query with SQLite's own means, since a bank may come from anybody."""
        if sys.version_info >= (3, 11):
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        self._connection.execute('PRAGMA trusted_schema = OFF')
        self._connection.set_progress_handler(lambda: time.monotonic() > self._end, _STEPS)

    def _check_schema(self) -> None:
        """Checks that the tables are exactly those of :func:`write_bank`, without views, triggers or virtual tables.

        Raises:
            DataError: The tables differ.
        """
        try:
            rows = self._rows("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
            found = {' '.join(str(sql).split()) for (sql,) in rows}
            tables, indexes = (_statements(script) for script in (_TABLES, _INDEXES))
            if not tables <= found or not found <= tables | indexes:
                raise self._damage('it does not have the tables of a bank')
        except DataError:
            self.close()
            raise

    def __enter__(self) -> Bank:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def _rows(self, query: str, *parameters: object) -> list[Any]:
        try:
            with self._lock:
                self._end = time.monotonic() + MAX_SECONDS
                return self._connection.execute(query, parameters).fetchall()
        except _DAMAGED as error:
            raise self._damage(str(error)) from error

    def _damage(self, what: str) -> DataError:
        return DataError(self.file, f'the response bank is damaged ({what})', fix=fix_of_bank())

    def _calls(self, rows: Sequence[Sequence[Any]]) -> list[RecordedCall]:
        """Returns the calls in rows of ``_COLUMNS``."""
        calls = []
        for row in rows:
            if not all(isinstance(value, str) for value in row):
                raise self._damage('a call has a value that is not a string')
            file, task, name, arguments, response, error = row
            try:
                calls.append(RecordedCall(file, task, name, load_json(arguments), response, error))
            except ValueError as fault:
                raise self._damage(f'arguments that are not JSON: {fault}') from fault
        return calls

    @property
    def digest(self) -> str:
        """32 hex digits that identify the bank's content."""
        rows = self._rows("SELECT value FROM facts WHERE name = 'digest'")
        if not rows:
            raise self._damage('it has no digest')
        return str(rows[0][0])

    def calls(self) -> list[RecordedCall]:
        """Returns all calls, in the order in which they were added."""
        return self._calls(self._rows(f'SELECT {_COLUMNS} FROM calls ORDER BY id'))

    def tools(self) -> list[dict[str, Any]]:
        """Returns the tools of the recorded MCP servers, in the format of ``tools/list``; may be empty."""
        rows = self._rows("SELECT value FROM facts WHERE name = 'tools'")
        try:
            listed = load_json(str(rows[0][0])) if rows else []
        except ValueError as fault:
            raise self._damage(f'tools that are not JSON: {fault}') from fault
        if not isinstance(listed, list) or not all(isinstance(tool, dict) for tool in listed):
            raise self._damage('its tools are not a list of objects')
        return listed

    def only_task(self) -> str:
        """Returns the task of all calls; ``''`` if the calls have several tasks or none."""
        rows = self._rows('SELECT DISTINCT task FROM calls LIMIT 2')
        return str(rows[0][0]) if len(rows) == 1 else ''

    def recorded_for(self, task: str, name: str, key: bytes) -> list[RecordedCall]:
        """Returns a task's calls of an API with these arguments, in the order in which they were added.

        Args:
            task: Id of the task; ``''`` has no calls.
            name: The API.
            key: :func:`~opencompass_tooleval.environments.arguments.arguments_key` of the arguments.
        """
        where = "task = ? AND name = ? AND arguments_key = ? AND task != ''"
        return self._calls(self._rows(f'SELECT {_COLUMNS} FROM calls WHERE {where} ORDER BY id', task, name, key))

    def recorded_of(self, task: str, name: str) -> list[tuple[bytes, RecordedCall]]:
        """Returns a task's calls of an API with the keys of their arguments, in the order in which they were added."""
        where = "task = ? AND name = ? AND task != ''"
        rows = self._rows(f'SELECT arguments_key, {_COLUMNS} FROM calls WHERE {where} ORDER BY id', task, name)
        return list(zip((key for key, *_ in rows), self._calls([rest for _, *rest in rows]), strict=True))

    def recorded_for_other_task(self, task: str, name: str, key: bytes, written: str = '') -> RecordedCall | None:
        """Returns the first successful call of other tasks with these arguments; without one, the first failed call.

        Args:
            task: The task that calls.
            name: The API.
            key: :func:`~opencompass_tooleval.environments.arguments.arguments_key` of the arguments.
            written: The arguments from :func:`stored_arguments`: a call with exactly this text has priority over
                others.
        """
        where = "name = ? AND arguments_key = ? AND (task != ? OR task = '')"
        order = "ORDER BY arguments != ? AND ? != '', error != '', id LIMIT 1"
        rows = self._rows(f'SELECT {_COLUMNS} FROM calls WHERE {where} {order}', name, key, task, written, written)
        return next(iter(self._calls(rows)), None)

    def examples(self, name: str, most: int, cache_order: bool = False) -> list[RecordedCall]:
        """Returns the first recorded calls of an API.

        Args:
            name: The API.
            most: Maximum number of calls.
            cache_order: True to list calls without a task, such as a cache's, first, in the order in which they were
                added; False to list successful calls first.
        """
        order = "task != ''" if cache_order else "error != ''"
        query = f'SELECT {_COLUMNS} FROM calls WHERE name = ? ORDER BY {order}, id LIMIT ?'
        return self._calls(self._rows(query, name, most))

    def knows(self, name: str) -> bool:
        """Tests if the bank has a call of an API."""
        return bool(self._rows('SELECT 1 FROM calls WHERE name = ? LIMIT 1', name))

    def _counts(self, query: str) -> dict[str, int]:
        counts = dict(self._rows(query))
        if not all(isinstance(text, str) for text in counts):
            raise self._damage('a call has a value that is not a string')
        return counts

    def names(self) -> dict[str, int]:
        """Returns API -> number of its recorded calls, most frequent first."""
        return self._counts('SELECT name, COUNT(*) AS n FROM calls GROUP BY name ORDER BY n DESC, name')

    def files(self) -> dict[str, int]:
        """Returns source file -> number of its calls, in the order in which the files were added."""
        return self._counts('SELECT file, COUNT(*) FROM calls GROUP BY file ORDER BY MIN(id)')

    def errors(self) -> Counter[str]:
        """Counts calls by kind of error; ``''`` for successful ones."""
        return Counter(self._counts('SELECT error, COUNT(*) AS n FROM calls GROUP BY error ORDER BY n DESC, error'))

    def tasks(self) -> int:
        """Returns the number of tasks with calls."""
        return int(self._rows("SELECT COUNT(DISTINCT task) FROM calls WHERE task != ''")[0][0])
