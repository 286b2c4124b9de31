"""Finds an engine that the runner starts for many tasks, also after the engine restarts. Imports no OpenCompass."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from opencompass_tooleval.core.text.redaction import remember_keys
from opencompass_tooleval.models.api.engine import Engine
from opencompass_tooleval.models.api.event_loop import sleep_unless
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.outage import Outage
from opencompass_tooleval.work_dir.server_file import (
    FAILED,
    QUEUED,
    READY,
    STARTING,
    ServerState,
    read_server,
    wanted_mark,
)

_LOOK_EVERY = 0.5
_DOUBTFUL = ('infra:connection', 'infra:server', 'infra:timeout')


class SharedEngine:
    """The :class:`~.outage.ManagedServer` of a task whose engine another process starts.

    The engine's address and key are in a file, which is read before the first request, and after each failure that the
    end of an engine may cause. Requests wait until the engine is healthy, even if its address changes. A connection
    that fails because the engine has ended does not count as a try.

    Args:
        file: The file with the engine's state.
        engine: Settings of the engine.
        patience: Seconds to wait for an engine that is ready but does not answer. For an engine that is starting, they
            are added to its ``startup``.
        outage: Records the waits.
        use: Called with URL and key before the first request, and after each restart.

    Attributes:
        used: The state with the address to which requests are sent now.
    """

    def __init__(
        self, file: Path, engine: Engine, patience: float, outage: Outage, use: Callable[[str, str], None]
    ) -> None:
        self.used = ServerState('')
        self._file = file
        self._engine = engine
        self._outage = outage
        self._use = use
        # An engine that waits for its turn has no limit: a queue may take days.
        self._limits = {QUEUED: math.inf, STARTING: engine.startup + patience, READY: patience}
        self._is_doubtful = True
        self._looking = asyncio.Lock()
        self._failure = ''

    async def prepare(self, stop: asyncio.Event) -> None:
        """Returns when the engine is healthy, or ``stop`` is set.

        Raises:
            Failure: The engine does not start, or was unreachable for too long; the failure ends the task.
        """
        async with self._looking:  # other requests wait
            if self._is_doubtful and not self._failure:
                self._failure = await self._wait(stop)
                self._outage.announce('')
        if self._failure:
            words = f'{self._failure}\nEverything answered is kept: run again with -r'
            raise Failure('infra:connection', words, again=False, ends=True)

    async def _wait(self, stop: asyncio.Event) -> str:
        """Waits until the engine is healthy; returns why it cannot be used, or ''."""
        seen, since = ServerState(''), 0.0
        while not stop.is_set():
            state = await asyncio.to_thread(read_server, self._file)
            if state is None:
                return f'its runner has ended, or {self._file} cannot be read'
            if state.stage == FAILED:
                return state.why
            with suppress(OSError):  # the runner has ended
                wanted_mark(self._file).touch()
            if not (why := await self._unhealthy(state)):
                self._is_doubtful, self.used = False, state
                self._use(state.url, state.key)
                self._outage.reached()
                return ''
            if state != seen:
                seen, since = state, time.monotonic()
                self._outage.announce(f'waiting for {self._outage.server}: {why}')
            if time.monotonic() - since > self._limits.get(state.stage, 0.0):
                return f'{state.stage} since {state.since}, unreachable: {why} (log: {state.log})'
            await sleep_unless(stop, _LOOK_EVERY)
        return ''

    async def _unhealthy(self, state: ServerState) -> str:
        if state.stage != READY:
            return f'{state.stage} since {state.since}'
        remember_keys([state.key])
        return await self._engine.unhealthy(state.url, state.key)

    async def is_lost(self) -> bool:
        """Tests if the engine has ended, or has restarted, since its address was read."""
        return read_server(self._file) != self.used or bool(await self._unhealthy(self.used))

    def checked(self, failure: Failure, used: ServerState) -> Failure:
        """Returns the failure of a try, or a lost connection if the engine's address has changed since it was sent.

        After an engine has ended, another server may use its port and refuse the key.

        Args:
            failure: The failure.
            used: :attr:`used` when the request was sent.
        """
        if failure.ends and read_server(self._file) != used:
            failure = Failure('infra:connection', failure.words, no_connection=True, sent=failure.sent)
        self._is_doubtful = self._is_doubtful or failure.reason in _DOUBTFUL
        return failure
