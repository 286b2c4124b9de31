"""One process at a time, on one machine or on a shared file system."""

from __future__ import annotations

import atexit
import errno
import fcntl
import json
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import IO

from opencompass_tooleval.core.json_object import load_json

logger = logging.getLogger(__name__)


_at_exit = ExitStack()
atexit.register(_at_exit.close)
_held: set[Path] = set()
_one_thread = threading.Lock()


def sweep_lock(work_dir: Path) -> Path:
    """The lock of a working directory: whoever starts tasks there holds it."""
    return work_dir / '.sweep.lock'


def lock_path(predictions: Path) -> Path:
    """The lock beside a predictions file."""
    return predictions.with_name(f'.{predictions.stem}.lock')


class InUseError(OSError):
    """Another process works on the same files."""


@dataclass(frozen=True)
class Holder:
    """What a lock file says.

    Attributes:
        process: Its id on ``host``.
        host: The machine.
        since: When it took the lock.
        samples: How many samples it has to do; 0 if it does not say.
        waiting: What it waits for, such as a server; '' if for nothing.
    """

    process: int
    host: str
    since: str
    samples: int = 0
    waiting: str = ''


def _acquire(path: Path) -> IO[str]:
    """Opens and locks the file that stands under ``path`` once the lock is held."""
    while True:
        # Not 'w', which would empty the file of the process that holds the lock.
        stream = path.open('a+', encoding='utf-8')
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                return stream
        except BlockingIOError:
            stream.close()
            if probe(path) is False:  # a process that looked at the lock just then, such as tooleval status, held it
                continue
            holder = holder_of(path)
            who = f'process {holder.process} on {holder.host} since {holder.since}' if holder else 'another process'
            raise InUseError(f'{path} is locked by {who}; wait for it, or stop it first') from None
        except OSError as error:
            if error.errno not in {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}:
                stream.close()
                raise
            logger.warning('%s: no locks on this file system (%s); run one sweep at a time', path, error)
            return stream
        stream.close()  # the holder before removed the file between our two looks


def holder_of(path: Path) -> Holder | None:
    """Who says that it holds the lock; None if nobody does. A killed process still says so: see :func:`is_held`."""
    try:
        holder = Holder(**load_json(path.read_text(encoding='utf-8')))
    except (OSError, ValueError, TypeError):
        return None
    counts, texts = (holder.process, holder.samples), (holder.host, holder.since, holder.waiting)
    # isinstance would take true for process 1.
    whole = all(type(count) is int for count in counts) and all(isinstance(text, str) for text in texts)
    return holder if whole else None


def probe(path: Path) -> bool | None:
    """Whether a process holds the lock now; None if the file system does not tell."""
    try:
        with path.open('r', encoding='utf-8') as stream:
            # Shared: of two that look at the same moment with LOCK_EX, one would take the other for a holder.
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError as error:
        return True if error.errno in {errno.EWOULDBLOCK, errno.EACCES} else None
    return False


def is_held(path: Path) -> bool:
    """Whether a process is known to hold the lock now."""
    return probe(path) is True


@contextmanager
def exclusive(path: Path, samples: int = 0) -> Iterator[Callable[[str], None]]:
    """Holds a lock while the block runs. It ends with the process, also with one that is killed.

    Args:
        path: A file for the lock alone, removed in the end; its folder is made.
        samples: What the holder has to do, for those who look.

    Yields:
        A function that takes what the holder waits for, for those who look; '' if for nothing.

    Raises:
        InUseError: Another process holds it; the message names host, process and since when.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _acquire(path) as stream:
        holder = Holder(os.getpid(), socket.gethostname(), f'{datetime.now(timezone.utc):%F %T} UTC', samples)

        def write(waiting: str) -> None:
            stream.truncate(0)
            stream.write(json.dumps(asdict(replace(holder, waiting=waiting))))
            stream.flush()

        write('')
        try:
            yield write
        finally:
            path.unlink(missing_ok=True)


def hold_sweep(work_dir: Path) -> None:
    """Takes the lock of a sweep for the rest of this process's life.

    Raises:
        SystemExit: Another sweep is at work there. An error would be a traceback of OpenCompass around one line.
    """
    try:
        hold(sweep_lock(work_dir))
    except InUseError as error:
        raise SystemExit(f'tooleval: {error}') from None


def hold(path: Path) -> None:
    """Takes a lock for the rest of this process's life; once is enough.

    Raises:
        InUseError: As :func:`exclusive`.
    """
    with _one_thread:
        if path not in _held:
            _at_exit.enter_context(exclusive(path))
            _held.add(path)
