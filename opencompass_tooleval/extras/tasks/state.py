"""Reads the content of a folder's files: rows of databases and tables, values, lines. Executes nothing from them.

Each part of the state has a name: ``shop.db:orders`` for the rows of a table, ``config.json:server.port`` for a value,
``notes.txt:`` for the lines of a text, ``notes.txt`` for the file itself, ``notes/`` for a folder.
"""

from __future__ import annotations

import csv
import io
import shutil
import sqlite3
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.extras.mcp_servers.fixture import find_files, folder_state
from opencompass_tooleval.extras.tasks.git_data import git_items, is_repository
from opencompass_tooleval.tool_docs.yaml_text import load_yaml

_MAX_PART = 1 << 25
_MAX_CELLS = 200_000
_MAX_SHEETS = 1 << 26
"""Maximum size of all sheets, as XML."""
_MAIN = '{http://schemas.openxmlformats.org/spreadsheetml/2006/main}'
_RELATION = '{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id'


def read_sheets(path: Path) -> dict[str, list[dict[str, Any]]] | None:
    """Reads the cells of all sheets, without formats.

    Returns:
        Sheet -> its cells, each with ``cell`` and ``value`` or ``formula``. None if the file is not a workbook.

    Raises:
        ValueError: The workbook is too large, or defines entities.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            left = _MAX_SHEETS
            shared = [
                ''.join(text.text or '' for text in item.iter(f'{_MAIN}t'))
                for item in _part(archive, 'xl/sharedStrings.xml').iter(f'{_MAIN}si')
            ]
            files = {row.get('Id'): str(row.get('Target')) for row in _part(archive, 'xl/_rels/workbook.xml.rels')}
            found: dict[str, list[dict[str, Any]]] = {}
            sizes = {one.filename: one.file_size for one in archive.infolist()}
            for sheet in _part(archive, 'xl/workbook.xml').iter(f'{_MAIN}sheet'):
                file = files[sheet.get(_RELATION)].removeprefix('/xl/').lstrip('/')
                left -= sizes.get(f'xl/{file}', 0)  # a part that two sheets name counts twice
                if left < 0:
                    raise ValueError(f'the sheets of {path.name} have more than {_MAX_SHEETS >> 20} MB')
                cells = _part(archive, f'xl/{file}').iter(f'{_MAIN}c')
                found[str(sheet.get('name'))] = [item for cell in cells if (item := _sheet_cell(cell, shared))]
                if sum(map(len, found.values())) > _MAX_CELLS:
                    raise ValueError(f'the workbook {path.name} has more than {_MAX_CELLS:,} cells')
            return found
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        ElementTree.ParseError,
        LookupError,
        NotImplementedError,
        RuntimeError,
    ):
        return None


def _part(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    if name not in archive.namelist():
        return ElementTree.Element('none')
    with archive.open(name) as stream:
        content = stream.read(_MAX_PART + 1)
    # A document type could define entities that fill the memory. NUL bytes mean UTF-16, which would hide it.
    if len(content) > _MAX_PART or b'<!DOCTYPE' in content or b'\0' in content:
        raise ValueError('a part of the workbook is too large, or defines entities')
    return ElementTree.fromstring(content)


def _sheet_cell(cell: ElementTree.Element, shared: list[str]) -> dict[str, Any] | None:
    written, formula = cell.findtext(f'{_MAIN}v'), cell.findtext(f'{_MAIN}f')
    if formula is not None:  # its value is computed by the program that opens it
        return {'cell': cell.get('r'), 'formula': formula}
    if cell.get('t') == 'inlineStr':
        written = ''.join(text.text or '' for text in cell.iter(f'{_MAIN}t'))
    if not written:
        return None
    kind: str = cell.get('t', 'n')
    value: str | float = written
    with suppress(ValueError):  # a number cell may contain text
        value = shared[int(written)] if kind == 's' else float(written) if kind == 'n' else written
    return {'cell': cell.get('r'), 'value': value}


ANY = '*'
"""Stands for a default that the database computes."""

_SQLITE = b'SQLite format 3\0'
_BESIDE = ('-wal', '-shm', '-journal')
_MAX_TEXT = 1 << 22
_MAX_ROWS = 100_000
_MAX_CELL, _MAX_VALUES = 1 << 24, 1 << 27
"""Maximum size of a value, and of all values, of a database."""
_SECONDS = 30.0
_OF_GIT = ('config', 'config.worktree', 'hooks/*', 'info/attributes', 'info/exclude')


@dataclass(frozen=True)
class Items:
    """Rows, lines, or the values of a list.

    Attributes:
        items: JSON values, in order.
        is_ordered: False if the order has no meaning, as in a database.
        fills: Column -> value of the column if a new row leaves it out, :data:`ANY` if the database computes it; None
            if rows have no fixed columns.
    """

    items: list[Any]
    is_ordered: bool = True
    fills: dict[str, Any] | None = field(default=None, compare=False)


State = dict[str, Any]
"""Part -> its :class:`Items` or its value."""


def read_state(folder: Path, ignore: Sequence[str] = ()) -> State:
    """Reads the state of a folder.

    Args:
        folder: The folder.
        ignore: Patterns of parts to leave out: ``*.log``, ``shop.db:audit``; ``shop.db:orders.updated`` leaves out a
            column.

    Raises:
        ValueError: There are too many files or rows, a file is too large, or a database or repository is damaged.
        OSError: A file cannot be read.
    """
    state: State = {}
    repositories: list[str] = []
    for path in find_files(folder):
        name = path.relative_to(folder).as_posix().replace(':', '%3A')
        if name.startswith(tuple(repositories)):
            continue
        if path.is_symlink():
            state[name] = f'link to {path.readlink()}'
        elif path.is_dir() and is_repository(path):
            repositories.append(f'{name}/')
            state |= _read_git(path, name)
        elif path.is_dir():
            state[f'{name}/'] = 'folder'
        elif not _is_ignored(name, ignore):
            state |= _read_file(path, name) if path.is_file() else {name: 'no file'}
    return {name: _without_columns(name, part, ignore) for name, part in state.items() if not _is_ignored(name, ignore)}


def _read_git(git: Path, name: str) -> State:
    """Reads a repository; its settings and hooks, which git would execute, are read as files."""
    items = {f'{name}:{part}': value for part, value in git_items(git).items()}
    state: State = {part: Items(value) if isinstance(value, list) else value for part, value in items.items()}
    for file in sorted(path for part in _OF_GIT for path in git.glob(part)):
        if file.is_file() and not file.is_symlink():
            state |= _read_file(file, f'{name}/{file.relative_to(git).as_posix()}')
    return state


def _is_ignored(name: str, ignore: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in ignore)


def _without_columns(name: str, part: Any, ignore: Sequence[str]) -> Any:
    columns = {pattern.removeprefix(f'{name}.') for pattern in ignore if pattern.startswith(f'{name}.')}
    if not columns or not isinstance(part, Items):
        return part
    kept = [
        {key: value for key, value in item.items() if key not in columns} if isinstance(item, dict) else item
        for item in part.items
    ]
    fills = part.fills and {key: value for key, value in part.fills.items() if key not in columns}
    return Items(kept, part.is_ordered, fills)


def _read_file(path: Path, name: str) -> State:
    if _is_database(path):
        return {name: 'database', **{f'{name}:{table}': part for table, part in _read_database(path).items()}}
    if name.endswith(_BESIDE) and _is_database(path.with_name(path.name.rpartition('-')[0])):
        return {}
    if path.suffix.lower() in ('.xlsx', '.xlsm') and (sheets := read_sheets(path)) is not None:
        return {name: 'workbook', **{f'{name}:{sheet}': Items(rows, False) for sheet, rows in sheets.items()}}
    content = path.read_bytes() if path.stat().st_size <= _MAX_TEXT else b'\0'
    try:
        text = content.decode('utf-8-sig')
    except UnicodeDecodeError:
        text = '\0'
    if '\0' in text:
        return {name: f'bytes {folder_state(path)["."]}'}
    try:
        if (parts := _read_values(path.suffix.lower(), text)) is not None:
            return {name: 'values', **{f'{name}:{part}': value for part, value in parts.items()}}
    except (ValueError, csv.Error):
        pass  # not valid in its format: read it as plain text
    is_ordered = not path.name.endswith('.env')  # lines of NAME=VALUE
    return {name: 'text', f'{name}:': Items(text.splitlines(), is_ordered)}


def _is_database(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open('rb') as stream:
        return stream.read(len(_SQLITE)) == _SQLITE


def _read_values(suffix: str, text: str) -> State | None:
    """Returns part -> value for a CSV, TSV, YAML or JSON text; None for other file types.

    Raises:
        ValueError: The text is not valid in its format.
    """
    if suffix in ('.csv', '.tsv'):
        header, *rows = csv.reader(io.StringIO(text), dialect='excel-tab' if suffix == '.tsv' else 'excel', strict=True)
        if len(set(header)) < len(header) or any(len(row) != len(header) for row in rows if row):
            raise ValueError('a row has other columns')
        items = [dict(zip(header, row, strict=True)) for row in rows if row]
        return {'': Items(items, fills=dict.fromkeys(header, '')), 'columns': header}
    if suffix in ('.yaml', '.yml'):
        return dict(_values_of(_plain(load_yaml(text)), ''))
    if suffix not in ('.json', '.jsonl', '.ndjson'):
        return None
    with suppress(ValueError):
        if suffix == '.json':
            return dict(_values_of(_plain(load_json(text, bounded=True)), ''))
    return {'': Items([_plain(load_json(line, bounded=True)) for line in text.split('\n') if line.strip()])}


def _plain(value: Any) -> Any:
    """Converts floats without a fraction to integers, since some languages write ``20`` as ``20.0``."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return list(map(_plain, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _values_of(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, one in value.items():
            escaped = str(name).replace('.', '\\.')
            yield from _values_of(one, f'{path}.{escaped}' if path else escaped)
    else:
        yield path, Items(value) if isinstance(value, list) else value


def _read_database(path: Path) -> State:
    """Reads schema and rows of a copy, since reading a database in WAL mode writes files next to it.

    Raises:
        ValueError: The database is damaged or too large.
    """
    end = time.monotonic() + _SECONDS
    with TemporaryDirectory(prefix='tooleval-state-') as folder:
        copy = Path(folder, 'database')
        for ending in ('', *_BESIDE):
            if (file := path.with_name(f'{path.name}{ending}')).is_file() and not file.is_symlink():
                shutil.copyfile(file, f'{copy}{ending}')
        try:
            with closing(sqlite3.connect(copy)) as database:
                database.text_factory = lambda content: content.decode('utf-8', 'replace')
                if set_limit := getattr(database, 'setlimit', None):  # from Python 3.11 on
                    set_limit(0, _MAX_CELL)  # SQLITE_LIMIT_LENGTH
                database.set_progress_handler(lambda: time.monotonic() > end, 100_000)
                database.execute('PRAGMA trusted_schema=OFF')
                return _tables_of(database)
        except sqlite3.Error as error:
            raise ValueError(f'the database {path.name} cannot be read: {error}') from error


def _tables_of(database: sqlite3.Connection) -> State:
    state: State = {}
    left = _MAX_VALUES
    listed = database.execute("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    for kind, name, sql in listed.fetchall():
        state[f'{kind} {name}'] = ' '.join(str(sql).split())
        if kind != 'table' or str(sql).lstrip().upper().startswith('CREATE VIRTUAL'):
            continue
        quoted = '"{}"'.format(name.replace('"', '""'))
        columns = database.execute(f'PRAGMA table_info({quoted})').fetchall()
        keys = [column for _, column, _, _, _, place in columns if place]
        fills = {
            column: ANY if keys == [column] and of.upper() == 'INTEGER' else _default(default)
            for _, column, of, _, default, _ in columns
        }
        cursor = database.execute(f'SELECT * FROM {quoted} LIMIT {_MAX_ROWS + 1}')
        names = [
            column for column, *_ in cursor.description
        ]  # including generated columns, which table_info leaves out
        rows = []
        for row in cursor:  # a computed column may be far larger than the file
            rows.append(row)
            left -= sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
            if len(rows) > _MAX_ROWS or left < 0:
                raise ValueError(f'its table {name} has more than {_MAX_ROWS:,} rows, or {_MAX_VALUES >> 20} MB')
        items = [dict(zip(names, map(_cell, row), strict=True)) for row in rows]
        state[name] = Items(items, False, {column: fills.get(column, ANY) for column in names})
    return state


def _default(sql: str | None) -> Any:
    """Returns the value of a literal default; :data:`ANY` for a computed one, such as the current time."""
    if sql is None or sql.upper() == 'NULL':
        return None
    if sql[:1] == sql[-1:] == "'":
        return sql[1:-1].replace("''", "'")
    try:
        return float(sql)
    except ValueError:
        return ANY


def _cell(value: Any) -> Any:
    return f'bytes {value.hex()}' if isinstance(value, bytes) else to_jsonable(value)
