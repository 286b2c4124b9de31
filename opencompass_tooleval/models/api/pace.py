"""Limits the number of requests per second, together for all tasks of a run that ask one server with one key."""

from __future__ import annotations

import fcntl
import os
import struct
from hashlib import sha256

from opencompass_tooleval.work_dir.run_context import run_context

_FOLDER = '.rates'
"""Folder of a run with a file per server."""
_STATE = struct.Struct('<ddd')
"""Content of a file: when the next request may start, the seconds between two requests, and when these were set."""
_SECONDS_IN_FORCE = 60.0
"""A lower rate of another task counts for so long after the last request of that task."""
_MOST_SECONDS = 86_400.0
"""A moment further ahead is damage, or of another clock."""


class Pace:
    """Limits the number of requests per second, also of those that start together after a pause.

    Tasks of one run on this machine that ask the same server share the limit; the lowest one counts. On Slurm, and
    where files cannot be locked, each task has its own.

    Args:
        per_second: Maximum number of requests started per second.
        server: Address and key. Only a digest of it is stored.
    """

    def __init__(self, per_second: float, server: str) -> None:
        self._gap = 1 / per_second
        self._name = sha256(server.encode()).hexdigest()[:16]
        self._state = (0.0, 0.0, 0.0)
        self._handle: int | None = None
        self._is_open = False

    def next_pause(self, now: float) -> float:
        """Returns the seconds until the next request may start, and counts this request.

        Args:
            now: The time in seconds since the epoch, which all tasks share.
        """
        if not self._is_open:
            self._is_open, self._handle = True, self._opened()
        try:
            return self._pause(now) if self._handle is None else self._shared_pause(now, self._handle)
        except OSError:  # no locks, or a full disk
            self._handle = None
            return self._pause(now)

    def _opened(self) -> int | None:
        task = run_context().locked_task
        if task is None or 'SLURM_JOB_ID' in os.environ:
            return None
        try:
            folder = task.work_dir / _FOLDER
            folder.mkdir(exist_ok=True)
            return os.open(folder / self._name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:
            return None

    def _shared_pause(self, now: float, handle: int) -> float:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            content = os.pread(handle, _STATE.size, 0)
            self._state = _STATE.unpack(content) if len(content) == _STATE.size else (0.0, 0.0, 0.0)
            pause = self._pause(now)
            os.pwrite(handle, _STATE.pack(*self._state), 0)
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
        return pause

    def _pause(self, now: float) -> float:
        following, gap, since = self._state
        following = following if following < now + _MOST_SECONDS else 0.0
        if not (self._gap < gap < _MOST_SECONDS and 0 <= now - since < _SECONDS_IN_FORCE):
            gap, since = self._gap, now
        following = max(following + gap, now - 1 + gap if following else now)
        self._state = following, gap, since
        return max(0.0, following - now)
