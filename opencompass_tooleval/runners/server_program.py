"""Runs one engine for all tasks of a stage: ``python -m opencompass_tooleval.runners.server_program SETTINGS``.

SETTINGS is a file of JSON in the runner's folder, with the arguments of :class:`ServerProgram`. The program writes
address and key into the server's file, starts the engine again when it ends, and stops it on SIGTERM, when the process
``starter`` is gone, or when no job is left that ``jobs`` names. It imports no OpenCompass.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.text.redaction import excerpt
from opencompass_tooleval.models.api.engine import HOST, Engine, EngineError
from opencompass_tooleval.runners.slurm.client import Slurm, SlurmError
from opencompass_tooleval.runners.slurm.leftovers import SERVER_JOB
from opencompass_tooleval.work_dir.lock import InUseError, exclusive, is_held
from opencompass_tooleval.work_dir.server_file import (
    FAILED,
    QUEUED,
    READY,
    STARTING,
    ServerState,
    read_server,
    server_lock,
    write_server,
)

MOST_STARTS = 10
"""Maximum number of starts: an engine that a request ends would otherwise be started for ever."""

GAVE_UP = 3
"""Exit status of a program whose engine does not start, or ended too often; the server's file has the reason."""

_LOOK_EVERY = 0.5
_LOOKS_WITHOUT_JOBS = 2


class ServerProgram:
    """Runs one engine until nobody needs it.

    Args:
        path: The model.
        engine: Further arguments of :class:`~opencompass_tooleval.models.api.engine.Engine`.
        file: The server's file.
        log: Log file of the engine.
        starter: Id of the process with which it ends; 0 for none.
        jobs: Beginning of the names of Slurm's jobs that may need it; '' outside of Slurm.
        runner: Lock of the runner of these jobs: while it is held, the runner ends the server.
        seconds: Seconds between two looks at Slurm's jobs.
    """

    def __init__(
        self,
        path: str,
        engine: Mapping[str, Any],
        file: str,
        log: str,
        starter: int = 0,
        jobs: str = '',
        runner: str = '',
        seconds: float = 60.0,
    ) -> None:
        self._path = path
        self._settings = engine
        self._file = Path(file)
        self._log = Path(log)
        self._starter = starter
        self._jobs = jobs
        self._runner = Path(runner)
        self._seconds = seconds
        self._stop = threading.Event()
        self._next_look = time.monotonic() + seconds
        self._looks_without_jobs = 0
        self._slurm = Slurm(patience=0)

    def run(self) -> int:
        """Runs the engine; returns the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self._stop.set())
        threading.Thread(target=self._watch, daemon=True).start()
        with ExitStack() as stack:
            with suppress(InUseError):  # of a node that was lost, and whose lock is still known
                stack.enter_context(exclusive(server_lock(self._file)))
            try:
                host = self._slurm.node_address() if self._jobs else HOST
            except SlurmError as error:
                return self._give_up(str(error))
            return self._serve(host)

    def _serve(self, host: str) -> int:
        why = ''
        for _ in range(MOST_STARTS):
            engine = Engine(model=self._path, **self._settings)
            engine.host = host
            is_ready = False
            self._write(STARTING)
            try:
                engine.start(self._log, self._stop)
                is_ready = engine.is_started
                if is_ready:
                    self._write(READY, url=engine.url, key=engine.key)
                while not self._stop.wait(_LOOK_EVERY):
                    engine.check()
            except (EngineError, OSError) as error:
                why = str(error)
                print(why, flush=True)
            finally:
                engine.stop()
            if self._stop.is_set():
                with suppress(OSError):  # the runner has ended, and its folder is gone
                    state = read_server(self._file)
                    if state and state.key in ('', engine.key):  # of no other start, after a node was lost
                        self._write(QUEUED)
                return 0
            if not is_ready:
                return self._give_up(why)
        return self._give_up(f'started {MOST_STARTS} times: {why}')

    def _give_up(self, why: str) -> int:
        self._write(FAILED, why=f'the shared engine of {self._path}: {why}')
        return GAVE_UP

    def _write(self, stage: str, **more: str) -> None:
        write_server(self._file, ServerState(stage, log=str(self._log), **more))

    def _watch(self) -> None:
        """Stops the engine when nobody needs it any more."""
        while not self._stop.wait(_LOOK_EVERY):
            if (self._starter and os.getppid() != self._starter) or self._is_without_jobs():
                self._stop.set()

    def _is_without_jobs(self) -> bool:
        if not self._jobs or time.monotonic() < self._next_look or is_held(self._runner):
            return False
        self._next_look = time.monotonic() + self._seconds
        try:
            names = [name.removeprefix(self._jobs) for _, name in self._slurm.jobs() if name.startswith(self._jobs)]
        except SlurmError as error:
            print(excerpt(str(error)), flush=True)
            return False
        is_none = all(name.startswith(SERVER_JOB) for name in names)
        self._looks_without_jobs = self._looks_without_jobs + 1 if is_none else 0
        return self._looks_without_jobs >= _LOOKS_WITHOUT_JOBS


if __name__ == '__main__':
    sys.exit(ServerProgram(**json.loads(Path(sys.argv[1]).read_text(encoding='utf-8'))).run())
