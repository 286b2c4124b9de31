"""Files that are there whole or not at all, also after a kill or on a full disk. Imports no OpenCompass."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from opencompass_tooleval.work_dir.lock import probe

_LEFTOVER = re.compile(r'\..*\.([0-9a-f]{8})-[0-9a-f]{8}\.tmp', re.DOTALL)
_NAME = 40
"""Characters of a file's name that the temporary one has: together they stay below 255 bytes."""
_DAY = 24 * 3600


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a file beside ``path`` to write, which takes its place once the block has ended well.

    It is locked meanwhile, so that what a killed process has left there is told from what another one writes: the
    former is removed by the next write into the folder. A pipe or a device is written in place.

    Raises:
        OSError: It cannot be written; the error names ``path``.
    """
    with naming(path):
        # os.replace onto a link would replace the link, and leave the file that it points to as it was.
        target = Path(os.path.realpath(path))
        if _is_written_in_place(path, target):
            yield path
            return
        _remove_leftovers(target.parent)
        handle, temporary = _create(target)
        try:
            with naming(path, instead_of=temporary):
                yield temporary
                # Otherwise a file that its owner has made private (0600) would be readable for all after this write.
                if target.exists():
                    shutil.copymode(target, temporary)
                os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            os.close(handle)


def write_whole(path: Path, text: str, encoding: str = 'utf-8', errors: str = 'strict') -> None:
    """Writes a text; a reader finds the whole file or none.

    Raises:
        OSError: As :func:`whole_file`.
    """
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding=encoding, errors=errors)


@contextmanager
def naming(path: Path, instead_of: Path | None = None) -> Iterator[None]:
    """Puts a path into errors that name none, such as that of a full disk, or that name ``instead_of``."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(instead_of), instead_of):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def is_stale(path: Path, host: str, locked: Path) -> bool:
    """Whether whoever made a temporary file or folder is gone.

    Args:
        path: The file or folder.
        host: :func:`host_mark` of its maker. Not all file systems tell of the locks of other machines: what comes from
            one counts as stale after a day without a change.
        locked: What the maker locks.
    """
    with suppress(OSError):
        is_old = time.time() - path.stat().st_mtime > _DAY
        return (host == host_mark() or is_old) and probe(locked) is False
    return False


def host_mark() -> str:
    """Stands for this machine in the names of temporary files."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _is_written_in_place(path: Path, target: Path) -> bool:
    if str(path).startswith(('/dev/std', '/dev/fd/', '/proc/')):
        return True  # a redirected output may well be a regular file, which must not be replaced
    return target.exists() and not (target.is_file() and os.access(target.parent, os.W_OK))


def _remove_leftovers(folder: Path) -> None:
    for file in folder.glob('.*.tmp'):
        name = _LEFTOVER.fullmatch(file.name)
        if name and is_stale(file, name[1], file):
            with suppress(OSError):
                file.unlink()


def _create(target: Path) -> tuple[int, Path]:
    """A new file beside ``target``, and its handle, which holds a lock on it."""
    while True:
        temporary = target.with_name(f'.{target.name[:_NAME]}.{host_mark()}-{secrets.token_hex(4)}.tmp')
        with naming(target, instead_of=temporary):
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        with suppress(OSError):  # no locks on this file system: then no leftovers are removed either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if temporary.exists():
            return handle, temporary
        os.close(handle)  # it was taken for a leftover before it was locked
