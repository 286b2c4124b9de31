"""Writes files atomically, also in case of a kill, a power cut or a full disk. Imports no OpenCompass."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.work_dir.data_files import open_plain

_LEFTOVER = re.compile(r'\..*\.([0-9a-f]{8})-[0-9a-f]{8}\.tmp', re.DOTALL)
_NAME = 40
"""Number of characters of a file's name in its temporary name, which must stay below 255 bytes."""
_DAY = 24 * 3600
_LOCK = '.lock'
NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}
"""Errors of a file system without locks."""


@contextmanager
def whole_file(path: Path, is_new: bool = False) -> Iterator[Path]:
    """Yields a temporary file next to ``path``, which replaces ``path`` if the block ends without an error.

    If ``is_new`` is set, nothing is replaced: if several processes make the file, only one succeeds.

    When the block has ended, the file is on the disk, so its sources may be deleted.

    The temporary file is locked while it is written. An unlocked one is left from a killed process, and is removed by
    the next write into the folder. A pipe or a device is written in place.

    Raises:
        FileExistsError: ``is_new`` is set, and the file exists.
        OSError: The file cannot be written; the error names ``path``.
    """
    with naming(path):
        # os.replace would replace a link instead of the file that it points to.
        target = Path(os.path.realpath(path))
        if _is_written_in_place(path, target):
            yield path
            return
        _remove_leftovers(target.parent)
        handle, temporary = _create(target)
        try:
            with naming(path, instead_of=temporary):
                yield temporary
                # Otherwise a private file (0600) would be readable for all after this write.
                if target.exists():
                    shutil.copymode(target, temporary)
                os.fsync(handle)  # a rename may reach the disk before the content
                if is_new:
                    os.link(temporary, target)
                    temporary.unlink()
                else:
                    os.replace(temporary, target)
                sync_folder(target.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            os.close(handle)


def write_whole(path: Path, text: str, encoding: str = 'utf-8', errors: str = 'strict') -> None:
    """Writes a text to a file atomically.

    Raises:
        OSError: The file cannot be written; the error names ``path``.
    """
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding=encoding, errors=errors)


def write_json(path: Path, value: Any) -> None:
    """Writes a value as indented JSON, atomically, after conversion by ``to_jsonable``.

    Raises:
        OSError: The file cannot be written; the error names ``path``.
    """
    write_whole(path, f'{json.dumps(to_jsonable(value), ensure_ascii=False, indent=2)}\n')


@contextmanager
def locked_content(path: Path, most: int) -> Iterator[list[bytes]]:
    """Holds the lock of a file (after waiting for it) while the block changes the content.

    The lock is a hidden file next to the file, and exists as long as the file does. The content is replaced atomically,
    and is on the disk when the block has ended.

    Args:
        path: The file. It is created with its folder if missing.
        most: Maximum number of bytes.

    Yields:
        A list with the content as its only item. Set it to ``b''`` to remove the file. An error leaves the file as is.

    Raises:
        OSError: The file cannot be locked or written; the error names ``path``.
        DataError: The file system has no locks.
        ValueError: The file is not a plain file, or too large.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    mutex = path.with_name(f'.{path.name.removeprefix(".")}.mutex')
    with naming(path), _locked(mutex):
        try:
            content = [b'']
            with suppress(FileNotFoundError), open_plain(path, most) as stream:
                content = [stream.read(most)]
            yield content
            if content[0]:
                with whole_file(path) as temporary:
                    temporary.write_bytes(content[0])
            else:
                path.unlink(missing_ok=True)
        finally:
            if not path.exists():
                mutex.unlink(missing_ok=True)


def _locked(mutex: Path) -> BinaryIO:
    while True:
        mutex.touch()
        with suppress(FileNotFoundError):  # the last holder may remove it at any time
            open_plain(mutex).close()
            stream = mutex.open('r+b')
            try:
                fcntl.flock(stream, fcntl.LOCK_EX)  # ends with the stream
            except OSError as error:
                stream.close()
                if error.errno not in NO_LOCKS:
                    raise
                fix = 'name a folder on another file system with -w, or leave out the budget'
                raise DataError(mutex, 'this file system has no locks, which a budget needs', fix=fix) from error
            if os.path.samestat(os.fstat(stream.fileno()), mutex.stat()):
                return stream
            stream.close()


@contextmanager
def naming(path: Path, instead_of: Path | None = None) -> Iterator[None]:
    """Adds a path to errors that name no file (such as a full disk), or that name ``instead_of``."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(instead_of), instead_of):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def left_behind(path: Path, host: str, locked: Path) -> Iterator[bool]:
    """Holds the lock of a temporary file or folder of an ended process while the block removes it.

    Args:
        path: The file or folder.
        host: :func:`host_mark` of the process. Since not every file system reports locks across machines, a file of
            another machine counts as left behind after a day without a change.
        locked: The file that the process locks.

    Yields:
        False if the process may still use it. (A process that waits for the lock notices that the file is removed.)
    """
    with ExitStack() as held:
        is_left = False
        with suppress(OSError):
            if host == host_mark() or _is_old(path):
                handle = os.open(locked, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                held.callback(os.close, handle)
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_left = True
        yield is_left


def _is_old(path: Path) -> bool:
    return time.time() - path.lstat().st_mtime > _DAY


def private_folder(name: str) -> TemporaryDirectory[str]:
    """Makes a temporary folder, readable only by its owner, and removes those that killed processes left behind.

    Args:
        name: Purpose of the folder, such as ``task``.
    """
    remove_left_folders()
    while True:
        folder = TemporaryDirectory(prefix=f'tooleval-{name}-{host_mark()}-')
        locked = Path(folder.name, _LOCK)
        handle = os.open(locked, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with suppress(OSError):  # without locks on this file system, leftovers are never removed
            fcntl.flock(handle, fcntl.LOCK_EX)
        if locked.exists():
            weakref.finalize(folder, os.close, handle)
            return folder
        os.close(handle)  # another process removed the folder before it was locked
        folder.cleanup()


def remove_left_folders() -> None:
    """Removes the folders of :func:`private_folder` that killed processes of this user left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f'tooleval-*-{host_mark()}-*'):
        with suppress(OSError):
            stat, locked = folder.lstat(), folder / _LOCK
            if not S_ISDIR(stat.st_mode) or stat.st_uid != os.getuid():
                continue
            if not locked.exists() and _is_old(folder):  # a new folder has no lock yet
                locked.touch()
            with left_behind(folder, host_mark(), locked) as is_left:
                if is_left:
                    shutil.rmtree(folder, ignore_errors=True)


def host_mark() -> str:
    """Returns 8 hex digits that identify this machine in the names of temporary files."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def sync_folder(folder: Path) -> None:
    """Writes the names in a folder to the disk, if its file system supports this."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _is_written_in_place(path: Path, target: Path) -> bool:
    if str(path).startswith(('/dev/std', '/dev/fd/', '/proc/')):
        return True  # a redirected output may be a regular file, which must not be replaced
    return target.exists() and not (target.is_file() and os.access(target.parent, os.W_OK))


def _remove_leftovers(folder: Path) -> None:
    for file in folder.glob('.*.tmp'):
        name = _LEFTOVER.fullmatch(file.name)
        if name:
            with left_behind(file, name[1], file) as is_left, suppress(OSError):
                if is_left:
                    file.unlink()


def _create(target: Path) -> tuple[int, Path]:
    """Creates and locks a file next to ``target``; returns its handle and path."""
    while True:
        temporary = target.with_name(f'.{target.name[:_NAME]}.{host_mark()}-{secrets.token_hex(4)}.tmp')
        with naming(target, instead_of=temporary):
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        with suppress(OSError):  # without locks on this file system, leftovers are never removed
            fcntl.flock(handle, fcntl.LOCK_EX)
        if temporary.exists():
            return handle, temporary
        os.close(handle)  # another process removed it as a leftover before it was locked
