"""The event loop of this process's requests, in one background thread."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeVar

T = TypeVar('T')


class _LoopThread:
    """Starts the thread at its first use, and again after a fork."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Makes the next use start a new loop: after a fork the thread exists only in the parent."""
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def get(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True, name='tooleval-requests').start()
            return self._loop

    def is_current(self, loop: asyncio.AbstractEventLoop) -> bool:
        return self._loop is loop


_thread = _LoopThread()
os.register_at_fork(after_in_child=_thread.forget)


def event_loop() -> asyncio.AbstractEventLoop:
    """Returns the loop, which runs until the process ends."""
    return _thread.get()


def is_current(loop: asyncio.AbstractEventLoop) -> bool:
    """Tests if a loop belongs to this process, not to the parent of a fork."""
    return _thread.is_current(loop)


def start(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Starts a coroutine on the loop. Call it from another thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, _thread.get())


def run(coroutine: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
    """Runs a coroutine on the loop and returns its result. Call it from another thread.

    Args:
        coroutine: A coroutine with its own timeout; ``timeout`` only protects against a blocked loop.
        timeout: Maximum number of seconds; None for no limit.

    Raises:
        TimeoutError: The coroutine took longer than ``timeout``, and was cancelled.
    """
    future = start(coroutine)
    try:
        return future.result(timeout)
    except FutureTimeoutError:  # not a subclass of TimeoutError before Python 3.11
        raise TimeoutError from None
    finally:
        future.cancel()  # no effect if it has ended


async def sleep_unless(stop: asyncio.Event, seconds: float) -> bool:
    """Sleeps and returns False; returns True as soon as ``stop`` is set."""
    if stop.is_set():
        return True
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True
