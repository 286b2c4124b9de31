"""The shared servers of a stage on this machine: processes that are started again when they are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from opencompass.utils import get_logger

from opencompass_tooleval.models.shared_servers import SharedServer
from opencompass_tooleval.runners import server_program
from opencompass_tooleval.work_dir.server_file import FAILED, QUEUED, ServerState, server_file, write_server

_REACH = {False: 'every user of this machine', True: 'everybody who can connect to its node'}


def server_command(server: SharedServer, folder: Path, work_dir: Path, **more: object) -> list[str]:
    """Writes the settings of a server's program and returns its command.

    Args:
        server: The server.
        folder: The runner's folder, which no other user may enter.
        work_dir: The run.
        more: Further arguments of :class:`~opencompass_tooleval.runners.server_program.ServerProgram`.
    """
    if server.is_open:
        get_logger().warning(f'{server.name} takes no key (open=True): {_REACH["jobs" in more]} can use it')
    file = server_file(folder, server.name)
    write_server(file, ServerState(QUEUED))
    log = server_log(work_dir, server, 'engine.log')
    log.parent.mkdir(parents=True, exist_ok=True)
    settings = folder / f'{server.name}.settings.json'
    values = {'path': server.path, 'engine': server.engine, 'file': str(file), 'log': str(log), **more}
    settings.write_text(json.dumps(values), encoding='utf-8')
    return [sys.executable, '-m', server_program.__name__, str(settings)]


def server_log(work_dir: Path, server: SharedServer, kind: str) -> Path:
    """Returns a log file of a server: ``engine.log`` of its engine, ``out`` of its program."""
    return work_dir.resolve() / 'logs' / 'servers' / f'{server.name}.{kind}'


class LocalServer:
    """A server that a thread of the runner watches. The runner changes the attributes, under its lock.

    Args:
        server: The server.
        folder: The runner's folder.
        work_dir: The run.

    Attributes:
        name: Its name.
        gpus: Number of its GPUs.
        left: Number of tasks that need it and have not ended.
        gpu_ids: Its GPUs; None while it does not run.
        is_stopping: True while it is being stopped.
    """

    def __init__(self, server: SharedServer, folder: Path, work_dir: Path) -> None:
        self.name = server.name
        self.gpus = server.gpus
        self.left = 0
        self.gpu_ids: list[int] | None = None
        self.is_stopping = False
        self._file = server_file(folder, server.name)
        self._log = server_log(work_dir, server, 'out')
        self._command = server_command(server, folder, work_dir, starter=os.getpid())
        self._must_end = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None

    def start(self, gpu_ids: list[int], environment: Mapping[str, str]) -> None:
        """Starts the server on some GPUs."""
        self.gpu_ids = gpu_ids
        self._must_end.clear()
        self._thread = threading.Thread(target=self._watch, args=[environment], daemon=True)
        self._thread.start()

    def _watch(self, environment: Mapping[str, str]) -> None:
        for _ in range(server_program.MOST_STARTS):
            write_server(self._file, ServerState(QUEUED))
            with self._log.open('ab') as log:
                self._process = subprocess.Popen(
                    self._command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            if self._must_end.is_set():  # since before it was noted
                self._process.terminate()
            code = self._process.wait()
            if self._must_end.is_set() or code == server_program.GAVE_UP:
                return
            get_logger().warning(f'{self.name}: its process ended with exit status {code}, and is started again')
        why = f'its process ended {server_program.MOST_STARTS} times (log: {self._log})'
        write_server(self._file, ServerState(FAILED, why=f'{self.name}: {why}'))

    def stop(self, seconds: float | None = None) -> None:
        """Stops the server; after some seconds, None for no limit, only its guard ends the engine."""
        self._must_end.set()
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.terminate()
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive() and self._process is not None:
                self._process.kill()
