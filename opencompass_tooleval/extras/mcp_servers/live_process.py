"""A running server: its process, its connection and its copy of the fixture."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.extras.mcp_servers.connection import Connection, connect, documentation
from opencompass_tooleval.extras.mcp_servers.fixture import FixtureCopy, copy_fixture
from opencompass_tooleval.extras.mcp_servers.server import Server
from opencompass_tooleval.extras.mcp_servers.stdio import after_kill

T = TypeVar('T')


class RunningServer:
    """A server that runs on its copy of the fixture; only used on the event loop.

    Attributes:
        connection: Connection for calls.
        copy: The copy of the fixture.
        tools: The server's tools, in the server's format.
    """

    connection: Connection
    copy: FixtureCopy
    tools: list[dict[str, Any]]

    def __init__(self) -> None:
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._holder: asyncio.Task[None] | None = None
        self._read: Callable[[Path], Any] | None = None
        self._found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def start(self, server: Server, fixture: Path | None) -> RunningServer:
        """Copies the fixture, starts the server and lists its tools.

        Raises:
            ServerError: The server cannot be started or reached.
            ValueError: The fixture is too large.
            OSError: The fixture cannot be copied.
        """
        # The SDK requires that the same task enters and leaves a connection.
        self._holder = asyncio.create_task(self._hold(server, fixture))
        await self._ready
        return self

    async def _hold(self, server: Server, fixture: Path | None) -> None:
        try:
            async with _own_folder() as folder:
                self.copy = await asyncio.to_thread(copy_fixture, fixture, folder)
                command = tuple(self.copy.fill(part) for part in server.command)
                env = {name: self.copy.fill(value) for name, value in server.env.items()}
                async with connect(replace(server, command=command, env=env, folder=self.copy.folder)) as connection:
                    self.connection = connection
                    self.tools = [documentation(tool) for tool in await connection.tools()]
                    self._ready.set_result(None)
                    await self._stop.wait()
                if self._read:
                    try:
                        self._found.set_result(await asyncio.to_thread(self._read, self.copy.folder))
                    except Exception as error:
                        self._found.set_exception(error)
        except Exception as error:
            if not self._ready.done():
                self._ready.set_exception(error)
            # If the server ends later, its calls report this with the error `disconnected`.
        finally:
            if not self._ready.done():
                self._ready.cancel()

    async def stop(self) -> None:
        """Stops the server, and removes the copy."""
        self._stop.set()
        if self._holder:
            await asyncio.gather(self._holder, return_exceptions=True)

    async def finish(self, read: Callable[[Path], T]) -> T:
        """Stops the server, returns the result of ``read`` on the copy, and removes the copy.

        Raises:
            ServerError: The server did not end properly.
            Exception: An error of ``read``.
        """
        self._read = read
        await self.stop()
        if not self._found.done():
            raise ServerError('the server did not end, so its files cannot be read')
        found: T = self._found.result()
        return found


@asynccontextmanager
async def _own_folder() -> AsyncIterator[Path]:
    """Creates a temporary folder, which is removed at the end, even if this process is killed."""
    folder = Path(mkdtemp(prefix='tooleval-live-'))
    with after_kill('sleep 1; rm -rf -- "$0"', str(folder)):  # the server is killed within this second
        try:
            yield folder
        finally:
            try:
                await asyncio.to_thread(_remove, folder)
            except RuntimeError:  # no new threads at the end of the program
                _remove(folder)


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:  # a server can nest folders deeper than Python can recurse
        subprocess.run(('rm', '-rf', '--', folder), check=False)
