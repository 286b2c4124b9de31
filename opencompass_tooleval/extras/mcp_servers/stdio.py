"""A server's process and its pipes, with limits, since the SDK's client reads lines of any length."""

from __future__ import annotations

import asyncio
import os
import resource
import secrets
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from opencompass_tooleval.core.text.jsonable import printable
from opencompass_tooleval.core.text.redaction import redact
from opencompass_tooleval.extras.mcp_servers.server import Limits, Server


@contextmanager
def after_kill(command: str, argument: str) -> Iterator[Callable[[int], object]]:
    """Runs a shell command if this process is killed within the block, even by SIGKILL.

    A shell waits for the end of its input, which the kernel closes when this process ends. The block gets a function
    that sets ``$number`` of the command, which is empty before.

    Args:
        command: The command; ``argument`` is its ``$0``.
        argument: The argument.

    Raises:
        OSError: No shell is installed.
    """
    shell = subprocess.Popen(
        ['sh', '-c', f'number=; while read -r line; do number=$line; done; {command}', argument],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert shell.stdin is not None
    pipe = shell.stdin.fileno()
    with shell:
        try:
            yield lambda number: os.write(pipe, b'%d\n' % number)
        finally:
            shell.kill()


_PATIENCE = 2.0
"""Seconds for a server to exit after its input is closed, and again after SIGTERM."""

_MAX_STDERR = 4_000
_READ_BYTES = 1 << 16

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@dataclass
class ServerState:
    """State of a server, apart from its answers.

    Attributes:
        pid: Process id of a command, which is also that of its group.
        is_too_large: True if the server sent a too large message.
        stderr: The end of the command's standard error.
        disconnected: The error of a failed connection to a URL.
        first_output: The first line on standard output that is no message, without keys.
    """

    pid: int = 0
    is_too_large: bool = False
    stderr: str = ''
    disconnected: str = ''
    first_output: str = ''

    @property
    def last_words(self) -> str:
        """The last line on standard error, or the error of a failed connection, without keys."""
        lines = (self.stderr.strip() or self.disconnected).splitlines()
        last = lines[-1].strip() if lines else ''
        # If one line fills the buffer, its beginning is lost, and its first word may be the end of a key.
        is_cut = len(lines) == 1 and len(self.stderr) == _MAX_STDERR
        return printable(redact(last.partition(' ')[2] if is_cut else last))


_MARK = 'TOOLEVAL_SERVER'
"""Variable with a random value for a server and its child processes, to find processes that outlive it."""
_ROUNDS = 20
_SECONDS_TO_DIE = 0.02
_END_ALL = (
    '[ -z "$number" ] || kill -s KILL -- "-$number"; round=0; '
    f'while [ $((round += 1)) -le {_ROUNDS} ] && '
    'found=$(grep -lsF -- "$0" /proc/[0-9]*/environ); [ -n "$found" ]; do '
    f'for one in $found; do one=${{one#/proc/}}; kill -s KILL "${{one%/environ}}"; done; sleep {_SECONDS_TO_DIE}; done'
)
"""Shell command that ends the process group ``$number`` and all processes whose environment has ``$0``."""


@asynccontextmanager
async def bounded_stdio(server: Server, state: ServerState) -> AsyncIterator[Streams]:
    """Starts a command in a new process group and connects its pipes; stops the group on exit.

    Lines on standard output that are not messages are skipped.

    Args:
        server: A command.
        state: Updated while the server runs.

    Raises:
        OSError: The command cannot be started.
    """
    mark = secrets.token_hex(16)
    # A server that ignores the end of its input would outlive this process.
    with after_kill(_END_ALL, f'{_MARK}={mark}') as set_group:
        process = await asyncio.create_subprocess_exec(
            *server.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=get_default_environment() | dict(server.env) | {_MARK: mark},
            cwd=server.folder,
            start_new_session=True,
            limit=server.limits.message_bytes,
        )
        state.pid = process.pid
        _set_limits(process.pid, server.limits)
        incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [
            asyncio.create_task(_read(process, incoming, state)),
            asyncio.create_task(_write(process, outgoing, incoming)),
            asyncio.create_task(_read_errors(process, state)),
        ]
        try:
            set_group(process.pid)
            yield received, sent
        finally:
            with anyio.CancelScope(shield=True):
                await _stop(process, 0.0 if state.is_too_large else _PATIENCE)
                await _in_thread(partial(_end_marked, f'{_MARK}={mark}'.encode()))
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                for stream in (incoming, received, sent, outgoing):
                    stream.close()


def _set_limits(pid: int, limits: Limits) -> None:
    """Limits the memory and the file size of a process that was just started, and of its later child processes.

    A function between fork and exec cannot do this: with threads it may wait forever. RLIMIT_DATA and not RLIMIT_AS,
    since Node and Java reserve far more addresses than they use.
    """
    if not hasattr(resource, 'prlimit'):
        return
    for kind, most in ((resource.RLIMIT_DATA, limits.memory_bytes), (resource.RLIMIT_FSIZE, limits.file_bytes)):
        if most is None:
            continue
        with suppress(ProcessLookupError, PermissionError):
            _, hard = resource.prlimit(pid, kind)
            bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.prlimit(pid, kind, (bound, bound))


async def _read(
    process: asyncio.subprocess.Process,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    state: ServerState,
) -> None:
    assert process.stdout is not None
    with incoming, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:  # the line is too long
                state.is_too_large = True
                return
            if not line:
                return
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:  # such as a log line that should go to standard error
                words = line[:_MAX_STDERR].decode('utf-8', 'replace').strip()
                state.first_output = state.first_output or printable(redact(words))
                continue
            await incoming.send(SessionMessage(message))


async def _write(
    process: asyncio.subprocess.Process,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    assert process.stdin is not None
    try:
        async for message in outgoing:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(f'{text}\n'.encode())
            await process.stdin.drain()
    except OSError:
        incoming.close()  # tells tasks that wait for an answer that the connection has ended


async def _read_errors(process: asyncio.subprocess.Process, state: ServerState) -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(_READ_BYTES):
        state.stderr = (state.stderr + chunk[-_MAX_STDERR:].decode('utf-8', 'replace'))[-_MAX_STDERR:]


async def _stop(process: asyncio.subprocess.Process, patience: float) -> None:
    assert process.stdin is not None
    process.stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            _kill(process.pid, number)
        with suppress(asyncio.TimeoutError):
            # A timeout for SIGKILL too: a child outside the group may keep the pipes open forever.
            await asyncio.wait_for(process.wait(), _PATIENCE if number else patience)
            break
    process._transport.close()  # type: ignore[attr-defined]  # no public method closes pipes that a child keeps open


async def _in_thread(work: Callable[[], None]) -> None:
    try:
        await asyncio.to_thread(work)
    except RuntimeError:  # no new threads at the end of the program
        work()


def _end_marked(mark: bytes) -> None:
    """Ends processes with a mark in their environment, since a server may start daemons in new sessions."""
    for _ in range(_ROUNDS):  # a process may start another in between
        found = False
        for environment in Path('/proc').glob('[0-9]*/environ'):
            with suppress(OSError):  # another user's process, or one that has ended
                if mark in environment.read_bytes().split(b'\0'):
                    found = True
                    os.kill(int(environment.parent.name), signal.SIGKILL)
        if not found:
            return
        time.sleep(_SECONDS_TO_DIE)  # killed processes are listed until they have ended


def end_late_start(state: ServerState, seconds: float) -> None:
    """Ends a command that did not answer in time. The SDK limits each of the first requests, but not their sum."""
    state.disconnected = f'no answer within {seconds:g} seconds'
    if state.pid:
        _kill(state.pid, signal.SIGKILL)


def _kill(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
