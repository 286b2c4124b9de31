"""One process at a time, on one machine or on a shared file system."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import IO

logger = logging.getLogger(__name__)


class InUseError(RuntimeError):
    """Another process works on the same files."""


def _acquire(path: Path) -> IO[str]:
    """Opens and locks the file that stands under ``path`` once the lock is held."""
    while True:
        stream = path.open('a+', encoding='utf-8')
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                return stream
        except BlockingIOError:
            stream.seek(0)
            holder = stream.read() or 'another process'
            stream.close()
            raise InUseError(f'{path} is locked by {holder}; wait for it, or stop it first') from None
        except OSError as error:
            if error.errno not in {errno.ENOLCK, errno.ENOTSUP}:
                stream.close()
                raise
            logger.warning(
                '%s: no locks on this file system (%s); run one sweep at a time', path, error
            )
            return stream
        stream.close()  # the holder before removed the file between our two looks


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Holds a lock while the block runs. It ends with the process, also with one that is killed.

    Args:
        path: A file for the lock alone, removed in the end; its folder is made.

    Raises:
        InUseError: Another process holds it; the message names host, process and since when.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _acquire(path) as stream:
        stream.truncate(0)
        stream.write(f'process {os.getpid()} on {socket.gethostname()} since {datetime.now(timezone.utc):%F %T} UTC')
        stream.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
