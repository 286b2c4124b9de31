"""Reads untrusted files: benchmark data, documentation, instructions, files of runs."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import logging
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from shlex import quote
from stat import S_ISDIR, S_ISREG
from typing import Any, BinaryIO

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_members import TooMuchError, members
from opencompass_tooleval.core.text.json_object import check_items, load_json, load_object
from opencompass_tooleval.core.text.jsonable import beyond_bounds
from opencompass_tooleval.plugin import offered

logger = logging.getLogger(__name__)


MAX_BYTES = 1 << 28
"""Maximum size of a file; documentation is smaller."""

MAX_LINE = 1 << 26
"""Maximum number of bytes in one line; answers are shorter."""
MAX_RUN_BYTES = 1 << 31
"""Maximum size of a file in a run: predictions may have the conversations of many trials."""

_PIECE = 1 << 20
_GZIP = b'\x1f\x8b'
_MARK = b'\xef\xbb\xbf'
_PAGE = 'it is a page of HTML, not the data: log in, or download the raw file'
_BEGINNINGS = {
    b'\0': 'it is not text: it begins with NUL bytes, perhaps after a power cut',
    b'version https://git-lfs.github.com/': 'it is a pointer of Git LFS, not the data: run git lfs pull',
    b'<!doctype html': _PAGE,
    b'<html': _PAGE,
}
"""Beginning of a file, in lower case -> why it cannot be read."""
_LONGEST = 64


def open_plain(path: Path, most: int | None = MAX_BYTES) -> BinaryIO:
    """Opens an untrusted file. All readers of such files use this function.

    Args:
        path: The file, or a link to one.
        most: Maximum size in bytes; None for no limit, if the caller reads only a limited part.

    Raises:
        DataError: The file is larger, or not a plain file but, for example, a device or a pipe, which may be endless.
        OSError: The file is missing or cannot be opened.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # opening a pipe without a writer would wait
    stat = os.fstat(handle)
    if S_ISREG(stat.st_mode) and (most is None or stat.st_size <= most):
        return os.fdopen(handle, 'rb')
    os.close(handle)
    if S_ISDIR(stat.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise DataError(path, f'the file has more than {most} bytes' if S_ISREG(stat.st_mode) else 'it is not a plain file')


def read_plain(path: Path, most: int = MAX_BYTES) -> bytes:
    """Reads an untrusted file, without its byte order mark.

    Raises:
        DataError: The file is not plain, larger than ``most`` bytes, a Git LFS pointer or an HTML page, or begins with
            NULs (for example, after a power cut).
        OSError: The file is missing or cannot be read.
    """
    with open_plain(path, most) as stream:
        begins = _beginning(path, stream)
        content = begins + stream.read(most)
    if len(content) > most:  # it has grown meanwhile
        raise DataError(path, f'the file has more than {most} bytes')
    return content


def check_links(run: Path) -> None:
    """Checks that no link in a run points out of it. The run may be somebody else's, and its files may be replaced.

    Raises:
        DataError: A link does; the message names it.
    """
    root = os.path.realpath(run)
    for folder, folders, files in os.walk(root):
        for path in (Path(folder, name) for name in (*folders, *files)):
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
                raise DataError(path, 'this link leaves the run', fix=f'rm {quote(str(path))}')


def _beginning(path: Path, stream: gzip.GzipFile | BinaryIO) -> bytes:
    """Reads the first bytes of a file, without its byte order mark.

    Raises:
        DataError: The bytes show that the file is not the data.
    """
    begins = stream.read(_LONGEST).removeprefix(_MARK)
    shown = begins.lstrip().lower()
    if why := next((why for start, why in _BEGINNINGS.items() if shown.startswith(start)), None):
        raise DataError(path, why)
    return begins


@contextmanager
def _opened(path: Path) -> Iterator[gzip.GzipFile | BinaryIO]:
    """Opens a file, decompressed if it is gzipped.

    Raises:
        DataError: The file is missing, not plain, a Git LFS pointer or an HTML page, damaged, or not UTF-8 text.
    """
    if not path.is_file():
        raise DataError(path, 'the file is missing')
    try:
        with open_plain(path) as file:
            is_zipped = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            with gzip.open(file) if is_zipped else nullcontext(file) as content:
                _beginning(path, content)
                content.seek(0)
                yield content
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(path, f'the file cannot be read ({error})') from error
    except UnicodeDecodeError as error:
        raise DataError(path, f'the file is not UTF-8 text ({error})') from error


def read_text(path: Path) -> str:
    """Reads the text of a file, which may be gzipped.

    Raises:
        DataError: The file is missing, not UTF-8, damaged, or larger than ``MAX_BYTES``.
    """
    with _opened(path) as file:
        content = file.read(MAX_BYTES + 1)  # bounded, against compression bombs
        if len(content) > MAX_BYTES:
            raise DataError(path, f'the file has more than {MAX_BYTES} bytes')
        return content.decode('utf-8-sig')


def read_json(path: Path, parse: Callable[[str], Any] = load_json) -> Any:
    """Returns the value in a JSON file, or the list of values in a JSON Lines file.

    Args:
        path: The file, which may be gzipped.
        parse: Parses JSON; raises only ValueError.

    Raises:
        DataError: The file is neither JSON nor JSON Lines, or is nested too deeply.
    """
    text = read_text(path)
    try:
        check_items(text)
        try:
            value = parse(text)
        except json.JSONDecodeError:
            value = [parse(line) for line in text.split('\n') if line.strip()]
    except ValueError as error:
        raise DataError(path, f'the file is neither JSON nor JSON lines ({error})') from error
    if excess := beyond_bounds(value):
        raise DataError(path, f'the file is nested too deeply or holds too large a number ({excess})')
    return value


def read_members(path: Path, what: str = 'a JSON object') -> Iterator[tuple[str, Any]]:
    """Yields name and value of each member of a JSON object in a file (may be gzipped), keeping one in memory.

    Args:
        path: The file.
        what: Description of the expected file, for the message.

    Raises:
        DataError: The file is missing, damaged, not a JSON object or larger than ``MAX_BYTES``; or a member is too long
            or nested too deeply (:class:`~opencompass_tooleval.core.text.json_members.TooMuchError` is the cause).
    """
    left = MAX_BYTES

    def read(most: int) -> str:
        nonlocal left
        piece = text.read(most)
        left -= len(piece)
        if left < 0:
            raise DataError(path, f'the file has more than {MAX_BYTES} bytes')
        return piece

    with _opened(path) as file, io.TextIOWrapper(file, encoding='utf-8-sig') as text:
        try:
            yield from members(read)
        except (DataError, UnicodeDecodeError):
            raise
        except TooMuchError as error:
            raise DataError(path, str(error), error.name) from error
        except ValueError as error:
            raise DataError(path, f'the file is not {what} ({error})') from error


def sha256_of(file: Path) -> str:
    """Returns the SHA-256 of a file's bytes as 64 hex digits."""
    digest = hashlib.sha256()
    with open_plain(file, None) as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def shown_files(name: str, file: Path, instructions: Path | None) -> dict[str, str]:
    """Returns the provenance of the tools shown to a model: ``tools``, and names and SHA-256 of the files.

    Args:
        name: Key for the documentation file: ``data`` or ``document``.
        file: The documentation file.
        instructions: The file of instructions that replaces the documentation; None if there is none.
    """
    shown = {'tools': 'documentation', name: file.name, f'{name}_sha256': sha256_of(file)}
    if instructions is None:
        return shown
    more = {'instructions': instructions.name, 'instructions_sha256': sha256_of(instructions)}
    return {**shown, 'tools': 'instructions', **more}


def command_to_generate(source: str, documentation: Path, out: Path) -> str:
    """Returns the command that makes instructions from documentation by rule, without a model. It can be run as it is.

    Args:
        source: Kind of documentation.
        documentation: Path of the documentation.
        out: Path of the instructions. If the file exists, tools are missing in it: the command moves it aside, since
            finished files are not overwritten.
    """
    aside = f'mv {quote(str(out))}{{,.old}} && ' if out.exists() else ''
    files = f'--input {quote(str(documentation))} --model template --out {quote(str(out))}'
    return offered(f'{aside}tooleval easytool generate --source {source} {files}')


def check_counts(file: Path, published: str, counts: Mapping[str, int], row: object) -> None:
    """Logs a warning if the counts of a file differ from those of the published file.

    Args:
        file: The file that was read.
        published: Name of the published file.
        counts: Name of a count -> its value in this file.
        row: A row in the table of published counts, with attributes of these names.
    """
    other = [
        f'{count} {what}, not {published_count}'
        for what, count in counts.items()
        if count != (published_count := getattr(row, what))
    ]
    if other:
        logger.warning('%s is not the published %s: %s', file, published, '; '.join(other))


def read_list(file: Path, fix: str) -> list[Any]:
    """Returns the entries of a list in a JSON file.

    Args:
        file: A UTF-8 file.
        fix: The command that fetches the data, for the message.

    Raises:
        DataError: The file is missing, damaged, empty or not a list.
    """
    try:
        entries = load_json(read_plain(file), bounded=True)
    except DataError:
        raise
    except OSError as error:
        raise DataError(file, f'the file cannot be read ({error.strerror})', fix=fix) from error
    except ValueError as error:
        raise DataError(file, f'the file is cut short or no JSON ({error})', fix=fix) from error
    if not isinstance(entries, list) or not entries:
        raise DataError(file, 'the file is not a list of records', fix=fix)
    return entries


def json_lines(file: Path) -> Iterator[tuple[str, Any]]:
    """Yields the place (``line 3``) and the value of each line of a JSON Lines file.

    Raises:
        DataError: A line is not JSON, too long, or repeats a key.
    """
    with open_plain(file, None) as stream:
        for number, line in enumerate(iter(partial(stream.readline, MAX_LINE + 1), b''), start=1):
            where = f'line {number}'
            if len(line) > MAX_LINE:
                raise DataError(file, f'{where}: it is longer than {MAX_LINE} bytes')
            if not line.strip():
                continue
            try:
                row, repeated = load_object(line.decode('utf-8'))
            except ValueError as error:
                raise DataError(file, f'{where}: it cannot be read as JSON ({error})') from error
            if repeated:
                raise DataError(file, f'{where}: {repeated[0]!r} is there more than once')
            yield where, row
