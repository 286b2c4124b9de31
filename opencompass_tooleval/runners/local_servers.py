"""The shared servers of a stage on this machine, which are restarted if they are killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass.runners.local import get_command_template
from opencompass.utils import get_logger

from opencompass_tooleval.models.gpus import visible_gpus
from opencompass_tooleval.models.shared_servers import SharedServer
from opencompass_tooleval.runners import server_program
from opencompass_tooleval.work_dir.lock import hold_sweep
from opencompass_tooleval.work_dir.server_file import FAILED, QUEUED, ServerState, server_file, write_server

_SECONDS_TO_END = 1.0


def prepare_server(server: SharedServer, folder: Path, work_dir: Path, **more: object) -> tuple[list[str], Path]:
    """Prepares a server, so that tasks can wait for it; returns its command and the command's log.

    Args:
        server: The server.
        folder: The runner's folder, which no other user may enter.
        work_dir: The run.
        more: Additional arguments of :class:`~opencompass_tooleval.runners.server_program.ServerProgram`.
    """
    if server.is_open:
        who = 'everybody who can connect to its node' if 'jobs' in more else 'every user of this machine'
        get_logger().warning(f'{server.name} takes no key (open=True): {who} can use it')
    file, settings = server_file(folder, server.name), folder / f'{server.name}.settings.json'
    write_server(file, ServerState(QUEUED))
    log = work_dir.resolve() / 'logs' / 'servers' / f'{server.name}.out'
    log.parent.mkdir(parents=True, exist_ok=True)
    engine_log = str(log.with_suffix('.engine.log'))
    values = {'path': server.path, 'engine': server.engine, 'file': str(file), 'log': engine_log, **more}
    settings.write_text(json.dumps(values), encoding='utf-8')
    return [sys.executable, '-m', server_program.__name__, str(settings)], log


def environment(gpu_ids: Iterable[str]) -> dict[str, str]:
    """Returns the environment of a process with the given GPUs, as OpenCompass sets it."""
    words = get_command_template(list(gpu_ids)).split()
    return {**os.environ, **dict(word.split('=', 1) for word in words if '=' in word)}


class LocalServers:
    """The servers that run during the tasks of a stage. They end with the ``with`` block.

    Args:
        work_dir: The run.

    Attributes:
        folder: Folder of the servers' files, which no other user may enter.
    """

    def __init__(self, work_dir: Path) -> None:
        hold_sweep(work_dir)
        self._work_dir = work_dir
        self._running: dict[str, _LocalServer] = {}
        parent = work_dir.resolve() / 'tmp' / 'local'
        shutil.rmtree(parent, ignore_errors=True)  # left by a killed sweep
        parent.mkdir(parents=True)
        self.folder = Path(tempfile.mkdtemp(prefix=time.strftime('%Y%m%d_%H%M%S-'), dir=parent))

    def __enter__(self) -> LocalServers:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._stop(list(self._running), _SECONDS_TO_END if kind else None)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def gpu_ids(self) -> set[str]:
        """The GPUs that the servers use."""
        return {gpu for server in self._running.values() for gpu in server.gpu_ids}

    def run(self, needed: Mapping[str, SharedServer]) -> None:
        """Stops the servers that are not needed, and starts those that are."""
        self._stop(self._running.keys() - needed.keys())
        for name in needed.keys() - self._running.keys():
            free = [gpu for gpu in visible_gpus() if gpu not in self.gpu_ids]
            command, log = prepare_server(needed[name], self.folder, self._work_dir, starter=os.getpid())
            file = server_file(self.folder, name)
            self._running[name] = _LocalServer(file, command, log, free[: needed[name].gpus])
        self.check()

    def check(self) -> None:
        """Restarts servers whose process was killed."""
        for server in self._running.values():
            server.keep_running()

    def _stop(self, names: Iterable[str], seconds: float | None = None) -> None:
        """Stops servers at the same time. After ``seconds`` their processes are killed, and guards stop the engines."""
        stopped = [server for server in map(self._running.pop, names) if server.process]
        for server in stopped:
            server.process.terminate()
        for server in stopped:
            with suppress(subprocess.TimeoutExpired):
                server.process.wait(seconds)
            server.process.kill()


@dataclass
class _LocalServer:
    """A shared server.

    Attributes:
        file: The file with the server's state.
        command: The server's command.
        log: Log of the command.
        gpu_ids: The server's GPUs.
        starts: Number of starts so far.
        process: The running process; None before the first start.
    """

    file: Path
    command: list[str]
    log: Path
    gpu_ids: list[str]
    starts: int = 0
    process: Any = None

    def keep_running(self) -> None:
        """Starts the server unless it is running or has given up."""
        if self.process and self.process.poll() in (None, server_program.GAVE_UP):
            return
        if self.starts == server_program.MOST_STARTS:
            why = f'its process ended {self.starts} times (log: {self.log})'
            write_server(self.file, ServerState(FAILED, why=why))
            return
        self.starts += 1
        write_server(self.file, ServerState(QUEUED))
        with self.log.open('ab') as output:
            self.process = subprocess.Popen(
                self.command,
                env=environment(self.gpu_ids),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
