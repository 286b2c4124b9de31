"""Runs one engine for all tasks of a stage: ``python -m opencompass_tooleval.runners.server_program SETTINGS``.

SETTINGS is a JSON file in the runner's folder, with the attributes of :class:`ServerProgram`. The program starts the
engine at the first request, restarts it if it ends, and writes address and key to the server's file. It stops the
engine on SIGTERM, when the process ``starter`` has ended, or when there are no more jobs whose mark begins with
``jobs``. It imports no OpenCompass.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencompass_tooleval.models.api.engine import HOST, Engine, EngineError
from opencompass_tooleval.models.api.engine_nodes import node_address
from opencompass_tooleval.runners.slurm.client import Slurm, SlurmError
from opencompass_tooleval.work_dir import server_file
from opencompass_tooleval.work_dir.lock import is_held
from opencompass_tooleval.work_dir.server_file import ServerState, read_server, wanted_mark, write_server

MOST_STARTS = 10
"""Maximum number of starts: otherwise an engine that crashes on a request would be restarted forever."""

GAVE_UP = 3
"""Exit status of a program whose engine does not start, or ended too often; the server's file has the reason."""

_LOOK_EVERY = 0.5
_LOOKS_WITHOUT_JOBS = 2


@dataclass
class ServerProgram:
    """Runs one engine until it is no longer needed.

    Attributes:
        path: The model.
        engine: Arguments of :class:`~opencompass_tooleval.models.api.engine.Engine`.
        file: The server's file.
        log: Log file of the engine.
        starter: Id of the process whose end also ends the program; 0 for none.
        jobs: Beginning of the marks of the Slurm jobs that may need the engine; '' outside of Slurm.
        runner: Lock file of the runner of these jobs. While it is held, the runner ends the program.
        seconds: Seconds between two checks for these jobs.
    """

    path: str
    engine: Mapping[str, Any]
    file: str
    log: str
    starter: int = 0
    jobs: str = ''
    runner: str = ''
    seconds: float = 60.0
    _stop: threading.Event = field(default_factory=threading.Event, init=False)

    def run(self) -> int:
        """Runs the engine, and returns the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self._stop.set())
        threading.Thread(target=self._watch, daemon=True).start()
        why = ''
        try:
            while not wanted_mark(Path(self.file)).exists():
                if self._stop.wait(_LOOK_EVERY):
                    return 0
            host = node_address() if self.jobs else HOST
            for _ in range(MOST_STARTS):
                why = self._run_once(host)
                if self._stop.is_set():
                    return 0
        except (EngineError, OSError) as error:
            why = str(error)
        self._write(server_file.FAILED, why=f'the shared engine of {self.path}: {why}')
        return GAVE_UP

    def _run_once(self, host: str) -> str:
        """Runs the engine until it ends; returns why it ended.

        Raises:
            EngineError: The engine did not get ready.
        """
        engine = Engine(model=self.path, **self.engine)
        engine.host = host
        self._write(server_file.STARTING)
        try:
            engine.start(Path(self.log), self._stop)
            if engine.is_started:
                self._write(server_file.READY, url=engine.url, key=engine.key)
            while not self._stop.wait(_LOOK_EVERY):
                try:
                    engine.check()
                except EngineError as error:
                    print(error, flush=True)
                    return f'started {MOST_STARTS} times: {error}'
        finally:
            engine.stop()
        state = read_server(Path(self.file))
        if state and state.key in ('', engine.key):  # no later start elsewhere has written it
            self._write(server_file.QUEUED)
        return ''

    def _write(self, stage: str, **more: str) -> None:
        write_server(Path(self.file), ServerState(stage, log=self.log, **more))

    def _watch(self) -> None:
        """Stops the engine when it is no longer needed."""
        next_look, looks = time.monotonic() + self.seconds, 0
        while not self._stop.wait(_LOOK_EVERY):
            if self.starter and os.getppid() != self.starter:
                self._stop.set()
            if self.jobs and time.monotonic() > next_look and not is_held(Path(self.runner)):
                next_look = time.monotonic() + self.seconds
                looks = 0 if self._has_jobs() else looks + 1
                if looks == _LOOKS_WITHOUT_JOBS:
                    self._stop.set()

    def _has_jobs(self) -> bool:
        try:
            return any(self.jobs in command for _, command in Slurm(0).jobs())
        except SlurmError as error:
            print(error, flush=True)
            return True


if __name__ == '__main__':
    sys.exit(ServerProgram(**json.loads(Path(sys.argv[1]).read_text(encoding='utf-8'))).run())
