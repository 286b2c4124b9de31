"""Tells which replicas of a dataset run, without locks: each one raises a count in a file, and the others read it.

A replica counts as ended if its count stays the same while the reader raises its own :data:`MOST_BEATS` times. So a
reader that was paused, or whose disk stalls, calls nobody ended: its own count stays the same too.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.work_dir.data_files import read_plain
from opencompass_tooleval.work_dir.lock import probe

SECONDS_PER_BEAT = 5.0
MOST_BEATS = 12
_MOST_BYTES = 1 << 10
_BOOT = Path('/proc/sys/kernel/random/boot_id')


@dataclass(frozen=True)
class Worker:
    """A replica's work on a dataset: one attempt of one process.

    Attributes:
        number: Number of the replica.
        start: Random text that identifies the process. A requeued task has the same number and another start.
        attempt: Number of the attempt in this process.
        machine: Text that identifies the machine until it is booted again.
    """

    number: int
    start: str
    attempt: int
    machine: str


class Heartbeat:
    """The count of one replica, which a thread raises, and what it has seen of the others' counts.

    Args:
        folder: The claims of a sweep on a dataset. When it is removed, the thread ends.
        number: Number of the replica.

    Raises:
        FileNotFoundError: The folder is missing.
    """

    def __init__(self, folder: Path, number: int) -> None:
        self._number = number
        self._start = secrets.token_hex(8)
        self._attempt = 0
        self._beats = 0
        self._has_locks = False
        self._mutex = threading.Lock()
        self._seen: dict[str, tuple[str, int, int]] = {}
        self._file = self._file_of(folder, self._start)
        os.close(os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o666))
        self._write(0)
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    @staticmethod
    def _file_of(folder: Path, start: str) -> Path:
        return folder / f'{start}.beat'

    @property
    def beats(self) -> int:
        """Number of times that this replica has raised its count."""
        return self._beats

    @property
    def runs(self) -> bool:
        """True until the claims are removed."""
        return self._thread.is_alive() and self._file.exists()

    @property
    def worker(self) -> Worker:
        """Returns this replica's present attempt, which its claims name."""
        return Worker(self._number, self._start, self._attempt, machine())

    def begin(self, lock: Path) -> None:
        """Begins an attempt.

        Args:
            lock: A lock that this process holds. If its file system reports it as held, the locks of other replicas on
                this machine tell at once that they have ended.
        """
        self.end()
        self._has_locks = probe(lock) is True

    def end(self) -> None:
        """Ends an attempt: the others may claim what it has claimed and not done."""
        self._attempt += 1
        with suppress(OSError):
            self._write(self._beats)

    def has_ended(self, worker: Worker, lock: Path) -> bool:
        """Tests if a replica has ended its attempt, also an earlier one of this process.

        Args:
            worker: The replica.
            lock: The lock that it holds while it works.
        """
        is_own_number = worker.number == self._number  # whose lock this process holds
        if self._has_locks and worker.machine == machine() and (is_own_number or probe(lock) is False):
            return True
        content, changed, looked = self._seen.get(worker.start, ('', self._beats, -1))
        if looked != self._beats:  # reading more often would tell nothing
            before, content = content, self._read(worker.start)
            changed = self._beats if content != before else changed
            self._seen[worker.start] = content, changed, self._beats
        attempt = content.partition(' ')[2].strip()
        return (attempt.isdecimal() and int(attempt) > worker.attempt) or self._beats - changed >= MOST_BEATS

    def _read(self, start: str) -> str:
        # Opened each time: NFS looks for changes when a file is opened, and caches what stat says.
        with suppress(OSError, DataError):
            return read_plain(self._file_of(self._file.parent, start), _MOST_BYTES).decode('ascii', 'replace')
        return ''

    def _beat(self) -> None:
        with suppress(FileNotFoundError):  # the claims were removed
            while True:
                time.sleep(SECONDS_PER_BEAT)
                try:
                    self._write(self._beats + 1)
                except FileNotFoundError:
                    raise
                except OSError:
                    continue  # this replica's count stays the same, so that it calls nobody ended
                self._beats += 1

    def _write(self, beats: int) -> None:
        with self._mutex:
            handle = os.open(self._file, os.O_WRONLY)
            try:
                os.pwrite(handle, f'{beats:012d} {self._attempt:06d}'.encode(), 0)
            finally:
                os.close(handle)


_heartbeats: dict[tuple[int, Path, int], Heartbeat] = {}


def heartbeat_of(folder: Path, number: int) -> Heartbeat:
    """Returns the heartbeat of a replica in this process; starts it if there is none.

    Raises:
        FileNotFoundError: The folder is missing.
    """
    key = os.getpid(), folder, number
    if key not in _heartbeats or not _heartbeats[key].runs:
        _heartbeats[key] = Heartbeat(folder, number)
    return _heartbeats[key]


def machine() -> str:
    """Returns a text that identifies this machine until it is booted again."""
    try:
        return _BOOT.read_text(encoding='ascii').strip()
    except (OSError, ValueError):
        return socket.gethostname()
