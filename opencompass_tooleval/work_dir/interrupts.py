"""Signals that are noticed between two steps, not within one."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SLICE = 0.1


class Interrupts:
    """While its block runs, Ctrl-C, SIGTERM and SIGHUP wait for :meth:`check`.

    A job that was submitted is known by then: ``sbatch`` cut short would leave one that nobody cancels. Signals that
    the process ignores stay ignored (``nohup``). Only the main thread hears signals; in another one nothing is noticed.
    """

    def __init__(self) -> None:
        self._received: int | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._note) for number in heard}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if error is None:
            self.check()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._received = number

    def check(self) -> None:
        """Obeys a signal that has come, once.

        Raises:
            KeyboardInterrupt: It was Ctrl-C.
            SystemExit: It was another one; the status is 128 and its number, as shells have it.
        """
        number, self._received = self._received, None
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        if number is not None:
            raise SystemExit(128 + number)

    def sleep(self, seconds: float) -> None:
        """Sleeps, and obeys a signal within a tenth of a second."""
        end = time.monotonic() + seconds
        self.check()
        while (left := end - time.monotonic()) > 0:
            # In slices: one long sleep goes on after a signal whose handler only takes a note.
            time.sleep(min(_SLICE, left))
            self.check()
