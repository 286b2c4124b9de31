"""A server that nobody reaches is waited for, by all who ask it together. Imports no OpenCompass."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from opencompass_tooleval.api.failure import MAX_WAIT, Failure


class OwnServer(Protocol):
    """A server that this process itself started, or will."""

    def prepare(self, stop: threading.Event) -> None:
        """Called before every try, by many threads at once; returns when the server can be asked, or ``stop`` is set.

        Raises:
            Failure: It cannot be asked any more; it ends the task.
        """

    def is_lost(self) -> bool:
        """Called after a failed connection: whether the server has ended, so that nobody need wait for it."""


class Outage:
    """Notices that a server is gone, and lets one request at a time look whether it is back.

    Args:
        server: Its name in messages, without keys.
        limit: So many failed connections in a row mean that it is gone.
        patience: Seconds to wait for it.
        first_pause: Seconds before the first look; doubled each time, up to :data:`MAX_WAIT`.
        logger: Where each pause is logged.

    Attributes:
        server: As above.
        own_server: What runs the server, if that is this process.
        tell: Takes what is waited for, for those who look at the run; '' once that is over. Its errors are
            ignored.
    """

    def __init__(
        self,
        server: str,
        limit: int,
        patience: float,
        first_pause: float,
        logger: logging.Logger,
    ) -> None:
        self.tell: Callable[[str], None] = lambda text: None
        self.own_server: OwnServer | None = None
        self.server = server
        self._limit = limit
        self._patience = patience
        self._first_pause = first_pause
        self._logger = logger
        self._changed = threading.Condition()
        self._failures = 0
        self._first_failure = 0.0
        self._looks = 0
        self._looking: int | None = None
        self._last_words = ''

    @property
    def _is_on(self) -> bool:
        return self._failures >= self._limit

    @property
    def _is_over_patience(self) -> bool:
        return self._is_on and time.monotonic() - self._first_failure >= self._patience

    def reached(self) -> None:
        """To be called when the server answered, in whatever words."""
        with self._changed:
            if self._is_on:
                gone = time.monotonic() - self._first_failure
                self._logger.warning(f'{self.server}: reached again after {gone:.0f} s')
                self.announce('')
            self._failures = self._looks = 0
            self._looking = None
            self._changed.notify_all()

    def missed(self, words: str) -> bool:
        """To be called when no server was reached; returns whether it is taken for gone, so that the try is no try."""
        is_lost = self.own_server is not None and self.own_server.is_lost()
        with self._changed:
            if not self._failures:
                self._first_failure = time.monotonic()
            self._failures += 1
            self._last_words = words
            if self._looking == threading.get_ident():
                self._looking = None
                self._changed.notify_all()
            return self._is_on or is_lost

    def wait(self, stop: threading.Event) -> None:
        """Returns when a request may be tried; while the server is gone that is one at a time, after a pause.

        Args:
            stop: Ends the waiting.

        Raises:
            Failure: The patience is over, or a server of this process has ended; it ends the task.
        """
        if self.own_server is not None:
            self.own_server.prepare(stop)
        with self._changed:
            while self._is_on and not stop.is_set():
                if self._looking is None:
                    if self._is_over_patience:
                        raise self._end()
                    self._looking = threading.get_ident()
                    pause = self._next_pause()
                    break
                # A second at most: stop is an event of its own, and wakes nobody here.
                self._changed.wait(1.0)
            else:
                return
        if stop.wait(pause):
            with self._changed:
                self._looking = None
                self._changed.notify_all()

    def _next_pause(self) -> float:
        gone = time.monotonic() - self._first_failure
        # At most 16: float(1 << 1100) raises, and a server may be gone for as many looks.
        growing = self._first_pause * float(1 << min(self._looks, 16))
        pause = min(MAX_WAIT, growing, max(0.0, self._patience - gone))
        self._looks += 1
        text = f'{self.server} has not been reached for {gone:.0f} s, waiting up to {self._patience:.0f} s'
        self._logger.warning(f'{text}, next try in {pause:.0f} s ({self._last_words})')
        self.announce(text)
        return pause

    def announce(self, text: str) -> None:
        """Tells what is waited for; '' once that is over."""
        with suppress(OSError, ValueError):  # a full disk, or a file that is closed: what is told is for people
            self.tell(text)

    def _end(self) -> Failure:
        words = (
            f'not reached for {self._patience:.0f} s (patience): {self._last_words}. '
            'Everything answered is kept: bring the server back and run again with -r'
        )
        return Failure('infra:connection', words, again=False, ends=True)
