"""Locks that only one process can hold, on one machine or on a shared file system."""

from __future__ import annotations

import atexit
import errno
import fcntl
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import IO

from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import open_plain, read_plain
from opencompass_tooleval.work_dir.names import locks_in, sweep_lock
from opencompass_tooleval.work_dir.whole_file import NO_LOCKS

logger = logging.getLogger(__name__)


_SECONDS_BETWEEN_REPORTS = 1.0
_MAX_LOCK = 1 << 20

_at_exit = ExitStack()
atexit.register(_at_exit.close)
_held: set[Path] = set()
one_thread = threading.RLock()
"""Held by a thread that starts a task, since OpenCompass's runners start tasks from several threads."""


class InUseError(OSError):
    """Raised if another process works on the same files."""


@dataclass(frozen=True)
class Holder:
    """The content of a lock file: its holder and the holder's progress.

    Attributes:
        process: Process id on ``host``.
        host: The machine.
        since: Time when the process took the lock.
        samples: Number of samples; 0 if unknown.
        waiting: The resource that the process waits for, such as a server; '' if it does not wait.
        answered: Number of samples with an answer.
        earlier: Number of samples that an earlier run answered.
        prompt: Number of prompt tokens in this run that servers reported.
        completion: Number of answer tokens in this run.
        cached: Number of prompt tokens from servers' caches.
        cache_write: Number of prompt tokens that servers wrote to their caches.
    """

    process: int
    host: str
    since: str
    samples: int = 0
    waiting: str = ''
    answered: int = 0
    earlier: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cache_write: int = 0


class Reporter:
    """Writes the progress of a lock's holder into the lock file. Thread-safe.

    Args:
        stream: The lock file, open.
        holder: The first content of the file.
    """

    def __init__(self, stream: IO[str], holder: Holder) -> None:
        self._stream = stream
        self._holder = holder
        self._lock = threading.Lock()
        self._written = 0.0
        self._write()

    def waits_for(self, text: str) -> None:
        """Records the resource that the holder waits for; '' if it does not wait."""
        with self._lock:
            self._holder = replace(self._holder, waiting=text)
            self._write()

    def has_answered(self, answered: int, earlier: int, usages: Iterable[Usage | None]) -> None:
        """Records the number of answered samples, and adds the usage of new answers. Writes at most once a second."""
        with self._lock:
            counts = dict.fromkeys(('prompt', 'completion', 'cached', 'cache_write'), 0)
            for usage in filter(None, usages):
                counts = {name: count + (getattr(usage, name) or 0) for name, count in counts.items()}
            spent = {name: getattr(self._holder, name) + count for name, count in counts.items()}
            self._holder = replace(self._holder, answered=answered, earlier=earlier, **spent)
            if time.monotonic() - self._written >= _SECONDS_BETWEEN_REPORTS:
                self._write()

    def _write(self) -> None:
        self._written = time.monotonic()
        if self._stream.closed:
            return
        content, number = json.dumps(asdict(self._holder)).encode(), self._stream.fileno()
        # One write over the previous content: readers would see a truncated file as one without a holder.
        os.pwrite(number, content.ljust(os.fstat(number).st_size), 0)


def _acquire(path: Path) -> IO[str]:
    """Opens and locks ``path``, and checks afterwards that it is still the same file."""
    while True:
        # Not 'w', which would empty the file while another process holds the lock; not 'a', which ignores offsets.
        stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), 'r+', encoding='utf-8')
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                return stream
        except BlockingIOError:
            stream.close()
            if probe(path) is False:  # it was held briefly by a process that probes it, such as tooleval status
                continue
            holder = holder_of(path)
            who = f'process {holder.process} on {holder.host} since {holder.since}' if holder else 'another process'
            raise InUseError(f'{path} is locked by {who}; wait for it, or stop it first') from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                stream.close()
                raise
            logger.warning('%s: no locks on this file system (%s); run one sweep at a time', path, error)
            return stream
        stream.close()  # the previous holder removed the file between the two calls


def holder_of(path: Path) -> Holder | None:
    """Reads the holder from a lock file; returns None if there is none. The holder may have ended (:func:`is_held`)."""
    for _ in range(3):  # a reader may find the beginning of one content and the end of another
        with suppress(OSError, ValueError, TypeError):
            holder = Holder(**load_json(read_plain(path, _MAX_LOCK)))
            texts = (holder.host, holder.since, holder.waiting)
            counts = [value for name, value in asdict(holder).items() if name not in ('host', 'since', 'waiting')]
            # isinstance would take true for process 1.
            whole = all(type(count) is int for count in counts) and all(isinstance(text, str) for text in texts)
            return holder if whole else None
    return None


def probe(path: Path) -> bool | None:
    """Tests if a process holds the lock now; None if the file system has no locks."""
    try:
        with open_plain(path, None) as stream:
            # Shared: if two processes probed with LOCK_EX at once, one would take the other for a holder.
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (FileNotFoundError, ValueError):  # ValueError: not a plain file, so it is not a lock
        return False
    except OSError as error:
        return True if error.errno in {errno.EWOULDBLOCK, errno.EACCES} else None
    return False


def is_held(path: Path) -> bool:
    """Tests if a process is known to hold the lock now."""
    return probe(path) is True


@contextmanager
def exclusive(path: Path, samples: int = 0) -> Iterator[Reporter]:
    """Holds a lock while the block runs. The lock also ends with the process, even a killed one.

    Args:
        path: A file used only as the lock, and removed at the end. Its folder is created.
        samples: Number of the holder's samples, for progress displays.

    Yields:
        A reporter for the holder's progress.

    Raises:
        InUseError: Another process holds the lock; the message names host, process and time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _acquire(path) as stream:
        holder = Holder(os.getpid(), socket.gethostname(), f'{datetime.now(timezone.utc):%F %T} UTC', samples)
        try:
            yield Reporter(stream, holder)
        finally:
            path.unlink(missing_ok=True)


def remove_stale_locks(work_dir: Path) -> None:
    """Removes and logs the lock files that killed processes of this machine left in a work directory.

    Lock files of other machines stay, since not every file system reports locks across machines.
    """
    removed = []
    folders = sorted(work_dir.glob('predictions/*'))
    for path in (sweep_lock(work_dir), *(lock for folder in folders for lock in locks_in(folder))):
        holder = holder_of(path)
        if path.is_file() and (holder is None or holder.host == socket.gethostname()):
            with suppress(OSError), exclusive(path):  # taken first: no process can take it before the removal
                removed.append(str(path))
    if removed:
        logger.warning('removed the lock files of a run that was killed: %s', ', '.join(removed))


def hold_sweep(work_dir: Path) -> None:
    """Takes the lock of a sweep until this process ends, and removes the locks of a killed sweep.

    Raises:
        SystemExit: Another sweep runs in the directory. (Other exceptions would print OpenCompass's traceback.)
    """
    lock = sweep_lock(work_dir)
    with one_thread:
        if lock not in _held:
            remove_stale_locks(work_dir)
        try:
            hold(lock)
        except InUseError as error:
            raise SystemExit(f'tooleval: {error}') from None


def hold(path: Path) -> None:
    """Takes a lock until this process ends. Later calls do nothing.

    Raises:
        InUseError: Another process holds the lock; the message names host, process and time.
    """
    with one_thread:
        if path not in _held:
            _at_exit.enter_context(exclusive(path))
            _held.add(path)
