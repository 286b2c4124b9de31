"""Starts a model's server on a free port of this machine, waits until it is ready, and stops it. No OpenCompass."""

from __future__ import annotations

import atexit
import glob
import json
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from opencompass_tooleval.core.text.redaction import excerpt, remember_keys
from opencompass_tooleval.models.api import engine_guard
from opencompass_tooleval.models.api.engine_nodes import first_end, is_by_slurm, lacking_nodes, node_address, srun_words
from opencompass_tooleval.models.api.event_loop import run
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.http_client import HttpClient

HOST = '127.0.0.1'
PORTS = range(20_000, 32_000)
"""Below the ports that Linux uses for outgoing connections: an engine binds its port minutes after it was chosen."""

_CHOICES = 200
_STARTS = 5
_LOOK_EVERY = 0.25
_SECONDS_PER_LOOK = 5.0
_MAX_WHY = 100
_SECONDS_TO_NOTICE = 1.0
_LAST_LINES = 20
_LAST_BYTES = 1 << 16
_SECONDS_FOR_SRUN = 30.0
_TAKEN = ('address already in use', 'eaddrinuse', 'address in use', 'errno 98')


class EngineError(RuntimeError):
    """The engine did not start, or has ended. The message contains the last lines of its log."""


def visible_gpus() -> int:
    """Returns the number of GPUs visible to programs that this process starts, at least 1."""
    visible = os.environ.get('CUDA_VISIBLE_DEVICES')
    seen = glob.glob('/dev/nvidia[0-9]*') if visible is None else [word for word in visible.split(',') if word.strip()]
    return max(1, len(seen))


def claim_port() -> tuple[int, socket.socket]:
    """Returns a free port, and a socket that keeps other tasks on this machine from choosing it while it is open.

    vLLM shares its port with any other vLLM of the same user (``SO_REUSEPORT``), so two engines on one port would
    answer each other's requests.

    Raises:
        EngineError: No port is free.
    """
    for _ in range(_CHOICES):
        # Not ``random``: tasks that are forked one after the other may draw the same numbers.
        port = PORTS[secrets.randbelow(len(PORTS))]
        claim = socket.socket(socket.AF_UNIX)
        try:
            if sys.platform == 'linux':  # an abstract socket name, which the kernel frees when the process ends
                claim.bind(f'\0opencompass-tooleval-engine-{port}')
            with socket.socket() as looking:
                looking.bind(('', port))
            return port, claim
        except OSError:
            claim.close()
    raise EngineError(f'no free port among {_CHOICES} from {PORTS.start} to {PORTS.stop - 1}')


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=_SECONDS_PER_LOOK):
            return True
    except OSError:
        return False


class Engine:
    """Runs a model server, started by a command.

    The command runs under :mod:`~.engine_guard`, which stops it and all its child processes when this process ends.

    Args:
        command: The command as a list of words. ``{model}``, ``{host}``, ``{port}``, ``{gpus}`` (number of visible
            GPUs) and ``{python}`` (the interpreter of this process) are filled in; other braces stay. With several
            nodes also ``{nodes}``, ``{rank}``, ``{address}`` and ``{master_port}`` (of rank 0) and ``{total_gpus}``.
        model: Replaces ``{model}``.
        health: Path of the URL that returns status 200 when the engine is ready.
        startup: Maximum number of seconds until the engine is ready.
        env: Additional environment variables, filled in like the command; None removes a variable.
        key_variable: Environment variable that passes the random key; None if the engine reads no key.
        grace: Seconds between SIGTERM and SIGKILL.
        nodes: Number of nodes. If it is above 1, ``srun`` starts the command on each node of this Slurm job, which must
            have the same number of nodes. Rank 0, on this node, has the port. The engine ends when one rank ends.
        worker_options: Additional words of the command on all nodes except the first, such as ``--headless``.

    Attributes:
        host: Address that replaces ``{host}``: loopback, unless it is changed before the start.
        key: The random key.
        port: The port; 0 before the start.
        log: File to which the output is appended.

    Raises:
        ValueError: The command is not a list of words, or contains no ``{port}`` (or, on several nodes, no ``{rank}``).
    """

    def __init__(
        self,
        command: Sequence[str],
        model: str,
        health: str = '/health',
        startup: float = 1800.0,
        env: Mapping[str, str | None] | None = None,
        key_variable: str | None = None,
        grace: float = 30.0,
        nodes: int = 1,
        worker_options: Sequence[str] = (),
    ) -> None:
        if isinstance(command, str) or not command:
            raise ValueError(f"engine: command is a list of words, such as ['vllm', 'serve', ...], not {command!r}")
        self._words = [str(word) for word in command]
        self._env = dict(env or {})
        for name in ['port', *['rank'] * (nodes != 1)]:
            if not any(f'{{{name}}}' in str(text) for text in (*self._words, *self._env.values())):
                raise ValueError(f'engine: {{{name}}} is missing in the command and in env')
        if nodes < 1 or isinstance(worker_options, str):
            raise ValueError(
                f'engine: nodes={nodes} below 1, or worker_options={worker_options!r}, which is not a list'
            )
        self._nodes = nodes
        self._worker_options = [str(word) for word in worker_options]
        self._model = model
        self._health = health
        self.startup = startup
        self._key_variable = key_variable
        self._grace = grace
        self.host = HOST
        self.key = secrets.token_urlsafe(32)
        remember_keys([self.key])
        self.port = 0
        self.log: Path | None = None
        self._log_start = 0
        self._guard: subprocess.Popen[bytes] | None = None
        self._claims: list[socket.socket] = []
        self._rank_zero = {'rank': '0', 'address': HOST, 'master_port': '0'}
        self._owner = 0
        self._taking_down = threading.Lock()
        self._client = HttpClient(settings={'trust_env': False})

    @property
    def url(self) -> str:
        """The base URL for OpenAI clients."""
        return f'http://{self.host}:{self.port}/v1'

    @property
    def is_started(self) -> bool:
        """True after a start and before a stop; the engine may have ended by itself."""
        return self._guard is not None

    def start(self, log: Path | None, stop: threading.Event) -> None:
        """Starts the engine and returns when it is ready. If its port was taken, starts it again on another port.

        Args:
            log: File for its output; None for a temporary one.
            stop: Ends the wait and stops the engine.

        Raises:
            EngineError: The engine ended or was not ready in time, or this Slurm job has another number of nodes.
        """
        if fault := lacking_nodes(self._nodes):
            raise EngineError(fault)
        if log is None:
            handle, name = tempfile.mkstemp(prefix='tooleval-engine-', suffix='.log')
            os.close(handle)
            log = Path(name)
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        for last in [False] * (_STARTS - 1) + [True]:
            try:
                self._launch(log)
                if self._becomes_healthy(stop, may_try_again=not last):
                    return
            except BaseException:
                self.stop()
                raise
            self.stop()
            if stop.is_set():
                return

    def _launch(self, log: Path) -> None:
        self.port, claim = claim_port()
        self._claims = [claim]
        guard = [sys.executable, engine_guard.__file__]
        if self._nodes > 1:
            master_port, claim = claim_port()
            self._claims.append(claim)
            self._rank_zero = {'rank': '{rank}', 'address': node_address(), 'master_port': str(master_port)}
            guard = [*srun_words(self._nodes), *guard]
        words = [self._filled(word) for word in self._words]
        settings = {'words': words, 'env': self._environment(), 'grace': self._grace}
        if self._nodes > 1:
            settings['worker_options'] = [self._filled(word) for word in self._worker_options]
        with log.open('ab') as stream:
            stream.write(f'tooleval, {time.strftime("%F %T")}: {shlex.join(words)}\n'.encode('utf-8', 'replace'))
            stream.flush()
            self._log_start = stream.tell()
            self._guard = subprocess.Popen(
                guard,
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
                bufsize=0,
            )
        self._owner = os.getpid()
        atexit.register(self.stop)
        assert self._guard.stdin is not None
        with suppress(BrokenPipeError):  # the exit status and the log show the error
            self._guard.stdin.write(json.dumps(settings).encode() + b'\n')

    def _filled(self, text: str) -> str:
        # Not str.format: a word may be JSON.
        values = {
            'host': self.host,
            'port': self.port,
            'gpus': visible_gpus(),
            'python': sys.executable,
            'nodes': self._nodes,
            'total_gpus': visible_gpus() * self._nodes,
            **self._rank_zero,
            'model': self._model,
        }
        for name, value in values.items():
            text = text.replace(f'{{{name}}}', str(value))
        return text

    def _environment(self) -> dict[str, str | None]:
        """Returns the environment variables to set, or to remove (None)."""
        environment = {name: None if value is None else self._filled(str(value)) for name, value in self._env.items()}
        if self._key_variable:
            environment[self._key_variable] = self.key
        return environment

    def _becomes_healthy(self, stop: threading.Event, may_try_again: bool) -> bool:
        """Waits until the engine is ready; returns False if it should be started again, or if ``stop`` is set."""
        deadline = time.monotonic() + self.startup
        while not stop.is_set():
            why = self._unhealthy()
            if self._has_ended():
                if may_try_again and self._lost_its_port():
                    return False
                raise EngineError(self._with_last_lines(f'{self._ending()} before it was ready'))
            if not why:
                return True
            if time.monotonic() >= deadline:
                where = f'GET {self._health} on port {self.port}: {why}'
                raise EngineError(self._with_last_lines(f'not healthy within {self.startup:g} s (startup; {where})'))
            stop.wait(_LOOK_EVERY)
        return False

    def _unhealthy(self) -> str:
        return run(self.unhealthy(self.url, self.key))

    async def unhealthy(self, url: str, key: str) -> str:
        """Returns why an engine of this kind is not ready; '' if it is ready.

        Args:
            url: The engine's :attr:`url`.
            key: The engine's key.
        """
        health = f'{url.removesuffix("/v1")}{self._health}'
        try:
            headers = {'Authorization': f'Bearer {key}'}
            status = (await self._client.request('GET', health, headers, _SECONDS_PER_LOOK)).status
        except Failure as failure:
            return failure.words[:_MAX_WHY]
        return '' if status == 200 else f'status {status}'

    def _lost_its_port(self) -> bool:
        """Tests if an engine ended because its port was taken."""
        return _answers(self.host, self.port) or any(word in self._log_end().lower() for word in _TAKEN)

    def _has_ended(self) -> bool:
        return self._guard is not None and self._guard.poll() is not None

    def is_lost(self) -> bool:
        """Tests if the engine ended by itself, waiting 1 s for it to do so."""
        guard = self._guard
        if guard is None:
            return False
        with suppress(subprocess.TimeoutExpired):
            guard.wait(_SECONDS_TO_NOTICE)
        return self._has_ended()

    def check(self) -> None:
        """Checks that the engine still runs.

        Raises:
            EngineError: The engine has ended by itself.
        """
        if self._has_ended():
            raise EngineError(self._with_last_lines(self._ending()))

    def _ending(self) -> str:
        if self._nodes > 1 and (first := first_end(self._log_end())):
            return f'ended with {first}'
        code = self._guard.returncode if self._guard else None
        number = (code or 0) - 128 if (code or 0) > 128 else -(code or 0)
        named = number in signal.valid_signals()
        return f'ended by {signal.Signals(number).name}' if named else f'ended with exit status {code}'

    def _log_end(self) -> str:
        if self.log is None:
            return ''
        with suppress(OSError), self.log.open('rb') as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(self._log_start, size - _LAST_BYTES))
            return stream.read(_LAST_BYTES).decode('utf-8', 'replace')
        return ''

    def _with_last_lines(self, what: str) -> str:
        """Appends the last error line of the log to a message, and then the last lines of the log."""
        lines = [line for line in map(excerpt, self._log_end().splitlines()[-_LAST_LINES:]) if line]
        last = lines[-1] if lines else 'it printed nothing'
        errors = [line for line in lines if 'rror' in line and not is_by_slurm(line)]
        telling = errors[-1] if errors else last
        return '\n'.join([f'{what}: {telling} (log: {self.log})', *(f'  | {line}' for line in lines)])

    def stop(self) -> None:
        """Stops the engine and its child processes, and waits until they have ended. It may be started again."""
        with self._taking_down:  # a second caller waits too
            self._take_down()

    def _take_down(self) -> None:
        guard, self._guard = self._guard, None
        claims, self._claims = self._claims, []
        if guard is None or os.getpid() != self._owner:  # a fork of the process that started it
            return
        atexit.unregister(self.stop)
        with suppress(OSError):
            if guard.stdin:
                guard.stdin.close()
        try:
            if self._nodes > 1:
                self._end_srun(guard)
            elif guard.wait() < 0:  # the guard was killed, so it could not stop the engine
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(guard.pid, signal.SIGKILL)
        finally:
            for claim in claims:
                claim.close()

    def _end_srun(self, srun: subprocess.Popen[bytes]) -> None:
        """Waits for ``srun``, whose input is closed: it never ends if it cannot reach one of the nodes."""
        for end in (srun.terminate, srun.kill):
            with suppress(subprocess.TimeoutExpired):
                srun.wait(self._grace + _SECONDS_FOR_SRUN)
                return
            end()
        srun.wait()
