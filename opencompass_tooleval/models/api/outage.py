"""Waits for a server that cannot be reached; all requests share one wait. Imports no OpenCompass."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import Any, Protocol

from opencompass_tooleval.models.api.event_loop import sleep_unless
from opencompass_tooleval.models.api.failure import MAX_WAIT, Failure
from opencompass_tooleval.work_dir.run_context import run_context

_LOOK_EVERY = 0.25
"""Seconds between the checks of waiting requests whether the server is back."""


class ManagedServer(Protocol):
    """A server that this process starts."""

    async def prepare(self, stop: asyncio.Event) -> None:
        """Returns when the server is ready, or ``stop`` is set. Many requests call it at once, before every try.

        Raises:
            Failure: The server cannot be used any more; the failure ends the task.
        """

    async def is_lost(self) -> bool:
        """Tests, after a failed connection, if the server has ended, so that waiting is useless."""


class Outage:
    """Detects that a server is unreachable, then lets one request at a time try to reach it.

    All methods run on the event loop of requests, so they need no lock.

    Args:
        server: Its name in messages, without keys.
        limit: Number of failed connections in a row after which the server counts as unreachable.
        patience: Maximum number of seconds to wait for it.
        first_pause: Seconds before the first try. Each pause is twice the last one, up to :data:`MAX_WAIT`.
        logger: Logger of each pause.

    Attributes:
        server: Its name in messages.
        managed_server: The server's manager, if this process started it.
    """

    def __init__(
        self,
        server: str,
        limit: int,
        patience: float,
        first_pause: float,
        logger: logging.Logger,
    ) -> None:
        self.managed_server: ManagedServer | None = None
        self.server = server
        self._limit = limit
        self._patience = patience
        self._first_pause = first_pause
        self._logger = logger
        self._failures = 0
        self._first_failure = 0.0
        self._looks = 0
        self._looking: asyncio.Task[Any] | None = None
        self._last_words = ''

    @property
    def _is_on(self) -> bool:
        return self._failures >= self._limit

    @property
    def _is_over_patience(self) -> bool:
        return self._is_on and time.monotonic() - self._first_failure >= self._patience

    def reached(self) -> None:
        """Records that the server replied, with any content."""
        if self._is_on:
            gone = time.monotonic() - self._first_failure
            self._logger.warning(f'{self.server}: reached again after {gone:.0f} s')
            self.announce('')
        self._failures = self._looks = 0
        self._looking = None

    async def missed(self, words: str) -> bool:
        """Records a failed connection; returns True if the server counts as unreachable, so that no try is used up."""
        is_lost = self.managed_server is not None and await self.managed_server.is_lost()
        if not self._failures:
            self._first_failure = time.monotonic()
        self._failures += 1
        self._last_words = words
        if self._looking is asyncio.current_task():
            self._looking = None
        return self._is_on or is_lost

    async def wait(self, stop: asyncio.Event) -> None:
        """Returns when a request may be tried. In an outage, one request at a time may, after a pause.

        Args:
            stop: Ends the wait.

        Raises:
            Failure: The patience is over, or a server started by this process has ended; the failure ends the task.
        """
        if self.managed_server is not None:
            await self.managed_server.prepare(stop)
        while self._is_on and not stop.is_set():
            if self._looking is None or self._looking.done():
                if self._is_over_patience:
                    raise self._end()
                self._looking = asyncio.current_task()
                if await sleep_unless(stop, self._next_pause()):
                    self._looking = None
                return
            await asyncio.sleep(_LOOK_EVERY)

    def _next_pause(self) -> float:
        gone = time.monotonic() - self._first_failure
        # At most 16: float(1 << 1100) raises OverflowError.
        growing = self._first_pause * float(1 << min(self._looks, 16))
        pause = min(MAX_WAIT, growing, max(0.0, self._patience - gone))
        self._looks += 1
        text = f'{self.server} has not been reached for {gone:.0f} s, waiting up to {self._patience:.0f} s'
        self._logger.warning(f'{text}, next try in {pause:.0f} s ({self._last_words})')
        self.announce(text)
        return pause

    def announce(self, text: str) -> None:
        """Reports the wait to the task for status displays; '' when the wait is over."""
        with suppress(OSError, ValueError):  # a full disk or a closed file: the report is only displayed
            run_context().report_wait(text)

    def _end(self) -> Failure:
        words = (
            f'not reached for {self._patience:.0f} s (patience): {self._last_words}. '
            'Everything answered is kept: bring the server back and run again with -r'
        )
        return Failure('infra:connection', words, again=False, ends=True)
