"""Writes files atomically, even across a kill, a power cut or on a full disk. Imports no OpenCompass."""

from __future__ import annotations

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

from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.work_dir.data_files import open_plain

_LEFTOVER = re.compile(r'\..*\.([0-9a-f]{8})-[0-9a-f]{8}\.tmp', re.DOTALL)
_NAME = 40
"""Characters of a file's name that its temporary name takes over, so that this stays below 255 bytes."""
_DAY = 24 * 3600
_LOCK = '.lock'


@contextmanager
def whole_file(path: Path, is_new: bool = False) -> Iterator[Path]:
    """Yields a temporary file beside ``path``, which replaces ``path`` when the block ends without an error.

    With ``is_new`` it replaces nothing: of several processes that make the file, one does.

    The file is on the disk when the block has ended: what it was made from may then be deleted.

    The temporary file is locked while it is written. An unlocked one was left by a killed process; the next write into
    the folder removes it. A pipe or a device is written in place.

    Raises:
        FileExistsError: ``is_new`` is set, and the file is there.
        OSError: The file cannot be written; the error names ``path``.
    """
    with naming(path):
        # os.replace onto a link would replace the link, and not change the file that it points to.
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
                os.fsync(handle)  # a rename may reach the disk before what was written
                if is_new:
                    os.link(temporary, target)
                    temporary.unlink()
                else:
                    os.replace(temporary, target)
                _sync_folder(target.parent)
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
    """Writes a value as indented JSON, atomically; ``to_jsonable`` converts it.

    Raises:
        OSError: The file cannot be written; the error names ``path``.
    """
    write_whole(path, f'{json.dumps(to_jsonable(value), ensure_ascii=False, indent=2)}\n')


@contextmanager
def locked_content(path: Path, most: int) -> Iterator[list[bytes]]:
    """Holds the lock of a file while the block changes its content; waits for the lock.

    The lock is that of a hidden file beside it, which exists as long as the file does. The content is replaced
    atomically, and is on the disk when the block has ended.

    Args:
        path: The file; it and its folder are created.
        most: Maximum number of bytes.

    Yields:
        The content, the only item of a list; ``b''`` at the end removes the file. An error leaves it as it was.

    Raises:
        OSError: The file cannot be locked or written; the error names ``path``.
        ValueError: It is no plain file, or too large.
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
        with suppress(FileNotFoundError):  # the last holder removes it at any time
            open_plain(mutex).close()
            stream = mutex.open('r+b')
            fcntl.flock(stream, fcntl.LOCK_EX)  # ends with the stream
            if os.path.samestat(os.fstat(stream.fileno()), mutex.stat()):
                return stream
            stream.close()


@contextmanager
def naming(path: Path, instead_of: Path | None = None) -> Iterator[None]:
    """Adds a path to errors that name no file, such as that of a full disk, or that name ``instead_of``."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(instead_of), instead_of):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def left_behind(path: Path, host: str, locked: Path) -> Iterator[bool]:
    """Holds the lock of a temporary file or folder whose process has ended while the block removes it.

    Args:
        path: The file or folder.
        host: :func:`host_mark` of that process. Not every file system reports the locks of other machines: a file of
            another machine counts as left after a day without a change.
        locked: The file that the process locks.

    Yields:
        False if the process may use it still. A process that has made it and waits for the lock finds it removed.
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
    """Makes a temporary folder, readable by its owner only, and removes those that killed processes left.

    Args:
        name: Its purpose, such as ``task``.
    """
    remove_left_folders()
    while True:
        folder = TemporaryDirectory(prefix=f'tooleval-{name}-{host_mark()}-')
        locked = Path(folder.name, _LOCK)
        handle = os.open(locked, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with suppress(OSError):  # no locks on this file system; nothing that is left is then removed
            fcntl.flock(handle, fcntl.LOCK_EX)
        if locked.exists():
            weakref.finalize(folder, os.close, handle)
            return folder
        os.close(handle)  # another process removed the folder before it was locked
        folder.cleanup()


def remove_left_folders() -> None:
    """Removes the folders of :func:`private_folder` that killed processes of this user left on this machine."""
    for folder in Path(tempfile.gettempdir()).glob(f'tooleval-*-{host_mark()}-*'):
        with suppress(OSError):
            stat, locked = folder.lstat(), folder / _LOCK
            if not S_ISDIR(stat.st_mode) or stat.st_uid != os.getuid():
                continue
            if not locked.exists() and _is_old(folder):  # one that was just made has no lock yet
                locked.touch()
            with left_behind(folder, host_mark(), locked) as is_left:
                if is_left:
                    shutil.rmtree(folder, ignore_errors=True)


def host_mark() -> str:
    """Returns the mark of this machine in the names of temporary files."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _sync_folder(folder: Path) -> None:
    """Has the names in a folder written to the disk, where its file system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _is_written_in_place(path: Path, target: Path) -> bool:
    if str(path).startswith(('/dev/std', '/dev/fd/', '/proc/')):
        return True  # a redirected output may well be a regular file, which must not be replaced
    return target.exists() and not (target.is_file() and os.access(target.parent, os.W_OK))


def _remove_leftovers(folder: Path) -> None:
    for file in folder.glob('.*.tmp'):
        name = _LEFTOVER.fullmatch(file.name)
        if name:
            with left_behind(file, name[1], file) as is_left, suppress(OSError):
                if is_left:
                    file.unlink()


def _create(target: Path) -> tuple[int, Path]:
    """Creates and locks a file beside ``target``; returns its handle and its path."""
    while True:
        temporary = target.with_name(f'.{target.name[:_NAME]}.{host_mark()}-{secrets.token_hex(4)}.tmp')
        with naming(target, instead_of=temporary):
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        with suppress(OSError):  # no locks on this file system; leftovers are then not removed either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if temporary.exists():
            return handle, temporary
        os.close(handle)  # another process removed it as a leftover before it was locked
