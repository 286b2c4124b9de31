"""Delays signals that end a sweep until the end of a step, and reports Ctrl-C in one line."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SLICE = 0.1


class Interrupts:
    """Holds back Ctrl-C, SIGTERM and SIGHUP within its block until :meth:`check` is called.

    So a submitted job is always known: an interrupted ``sbatch`` would leave a job that nobody cancels. Signals that
    the process ignores stay ignored (``nohup``). In threads other than the main thread, which get no signals, this has
    no effect.
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
        """Raises an exception, once, if a signal has arrived.

        Raises:
            KeyboardInterrupt: The signal was Ctrl-C.
            SystemExit: It was another signal. The status is 128 + its number, as in shells.
        """
        number, self._received = self._received, None
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        if number is not None:
            raise SystemExit(128 + number)

    def sleep(self, seconds: float) -> None:
        """Sleeps, and calls :meth:`check` every tenth of a second."""
        end = time.monotonic() + seconds
        self.check()
        while (left := end - time.monotonic()) > 0:
            # In slices, since a sleep continues after a signal whose handler only records it.
            time.sleep(min(_SLICE, left))
            self.check()


@contextmanager
def interrupt_held() -> Iterator[None]:
    """Blocks Ctrl-C within the block. Processes started there do not get it unless they unblock SIGINT."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def one_line_if_interrupted(command: str) -> Iterator[None]:
    """Reports Ctrl-C within the block in one line, and ends this process without a traceback.

    The process still ends by SIGINT, so that the shell script that runs it ends too.

    Args:
        command: The command that continues the run.
    """
    try:
        yield
    except KeyboardInterrupt:
        print(f'tooleval: interrupted; answers so far are kept, go on with: {command}', file=sys.stderr, flush=True)
        sys.excepthook = _without_interrupts
        raise


def _without_interrupts(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # another one would cause a traceback while Python exits
        gc.freeze()  # garbage collection of OpenCompass's modules takes seconds at exit
    else:
        sys.__excepthook__(kind, error, trace)
