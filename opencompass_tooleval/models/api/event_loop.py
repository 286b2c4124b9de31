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
    """Starts the thread at the first use, and again in a forked process."""

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
    """Returns the running loop, which runs as long as the process."""
    return _thread.get()


def is_current(loop: asyncio.AbstractEventLoop) -> bool:
    """Tests if a loop is that of this process, not one from before a fork."""
    return _thread.is_current(loop)


def start(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Starts a coroutine on the loop, from any other thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, _thread.get())


def run(coroutine: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
    """Runs a coroutine on the loop and returns its result, from any other thread.

    Args:
        coroutine: A coroutine with an own limit of time; ``timeout`` only protects against a blocked loop.
        timeout: Maximum number of seconds; None for no limit.

    Raises:
        TimeoutError: It took longer than ``timeout``; it is cancelled.
    """
    future = start(coroutine)
    try:
        return future.result(timeout)
    except FutureTimeoutError:  # another class than TimeoutError before Python 3.11
        raise TimeoutError from None
    finally:
        future.cancel()  # no effect if it has ended


async def sleep_unless(stop: asyncio.Event, seconds: float) -> bool:
    """Sleeps; returns True at once when ``stop`` is set."""
    if stop.is_set():
        return True
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True
