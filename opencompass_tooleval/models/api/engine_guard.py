"""Runs a command, and stops it and all processes that it started when it is no longer needed.

Usage: ``python engine_guard.py``, in a new session, with a pipe as its input. The first line of the input is JSON: the
command (``words``), changes of its environment (``env``), the seconds between SIGTERM and SIGKILL (``grace``), and
additional words for all ranks except 0 (``worker_options``). So the key never appears in a command line. The command is
stopped when the pipe is closed (the kernel closes it when the starting process is killed), when the starting process
has ended, and on SIGTERM, SIGINT or SIGHUP. Processes that it leaves behind, also in other sessions, are stopped too.
The exit status is that of the command, as in shells, or 0 if the pipe was closed.

For an engine on several nodes, ``srun`` runs this program on each node; ``{rank}`` is its rank.

The program imports nothing of the package, so it starts fast.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

import psutil

NOT_STARTED = 127
_LOOK_EVERY = 0.5
_PAUSE = 0.05
_SECONDS_TO_DIE = 10.0
# <sys/prctl.h>
_SET_PARENT_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> None:
    """Sets an attribute of this process, on Linux."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _descendants() -> list[int]:
    """Returns the ids of all running processes that this one started, directly or not."""
    running = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended meanwhile
            if process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                running.append(process.pid)
    return running


class Guard:
    """Runs one command.

    Args:
        words: The command.
        env: Changes of the environment; None removes a variable.
        grace: Seconds between SIGTERM and SIGKILL.
        worker_options: Additional words if the rank is not 0.
    """

    def __init__(
        self, words: list[str], env: dict[str, str | None], grace: float, worker_options: Sequence[str] = ()
    ) -> None:
        rank = os.environ.get('SLURM_PROCID', '0')
        words = [*words, *(worker_options if rank != '0' else ())]
        self._words = [word.replace('{rank}', rank) for word in words]
        self._env = {name: text for name, text in os.environ.items() if name not in env}
        self._env |= {name: text.replace('{rank}', rank) for name, text in env.items() if text is not None}
        self._grace = grace
        self._is_dismissed = False
        self._starter = os.getppid()
        self._must_end = False
        self._child = 0
        self._status: int | None = None

    def run(self) -> int:
        """Runs the command, and returns its exit status after all of its processes have ended."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._note)
        # A handler, since the command would inherit an ignored signal. The signal also wakes select().
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        _prctl(_SET_CHILD_SUBREAPER, 1)
        wakeup, written = os.pipe()
        os.set_blocking(written, False)
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        try:
            child = subprocess.Popen(
                self._words, env=self._env, stdin=subprocess.DEVNULL, preexec_fn=self._end_with_guard
            )
        except OSError as error:
            print(f'{self._words[0]}: {error.strerror}', flush=True)
            return NOT_STARTED
        self._child = child.pid
        while self._status is None and self._is_wanted(wakeup):
            self._bury()
        self._end_all(self._grace if self._status is None else 0.0)
        child.returncode = status = self._status if self._status is not None else -signal.SIGKILL
        if self._is_dismissed:
            return 0  # another status would make srun kill the other ranks before their grace is over
        return status if status >= 0 else 128 - status

    @staticmethod
    def _end_with_guard() -> None:
        _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._must_end = True

    def _is_wanted(self, wakeup: int) -> bool:
        """Waits briefly; returns True if the command should still run."""
        readable, _, _ = select.select([0, wakeup], [], [], _LOOK_EVERY)
        if wakeup in readable:
            os.read(wakeup, 4096)
        self._is_dismissed = 0 in readable and not os.read(0, 1)
        # Forks of the starting process may keep the pipe open.
        return not (self._must_end or self._is_dismissed or os.getppid() != self._starter)

    def _bury(self) -> None:
        """Reaps ended processes: the command, and its orphans, which become children of this process."""
        with suppress(ChildProcessError):
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if not process:
                    return
                if process == self._child:
                    self._status = os.waitstatus_to_exitcode(status)

    def _end_all(self, grace: float) -> None:
        for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, _SECONDS_TO_DIE)):
            end = time.monotonic() + seconds
            self._signal(number)
            while self._is_anything_left():
                if time.monotonic() >= end:
                    break
                time.sleep(_PAUSE)
                if number == signal.SIGKILL:
                    self._signal(number)  # started meanwhile

    def _is_anything_left(self) -> bool:
        self._bury()
        return bool(_descendants()) or self._status is None

    def _signal(self, number: int) -> None:
        if self._status is None:
            with suppress(OSError):
                os.kill(self._child, number)
        for process in _descendants():
            if process != self._child:
                with suppress(OSError):
                    os.kill(process, number)


def _first_line() -> bytes:
    """Returns the first line of the input."""
    line = b''
    while not line.endswith(b'\n') and (piece := os.read(0, 1 << 16)):
        line += piece
    return line


if __name__ == '__main__':
    sys.exit(Guard(**json.loads(_first_line() or sys.exit(NOT_STARTED))).run())
