"""Live servers as an environment: one process of an MCP server per trial, each with a copy of the fixture.

    with LiveTools(parse_server('mcp-server-git --repository {fixture}'), Path('repository')) as live:
        with live.begin('task 1') as trial:
            trial.call('git_status', {'repo_path': '/fixture'})

Everything runs on the event loop of this process's requests; call it from any other thread.
"""

from __future__ import annotations

import asyncio
import atexit
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from opencompass_tooleval.core.calls.tool_set import ToolSchema, describe_tool
from opencompass_tooleval.core.errors import first_of
from opencompass_tooleval.environments.bank import RecordedCall
from opencompass_tooleval.environments.call_log import CallLog
from opencompass_tooleval.environments.live_source import DISCONNECTED, FATAL, GONE, ServerError
from opencompass_tooleval.extras.mcp_servers.connection import ToolAnswer
from opencompass_tooleval.extras.mcp_servers.fixture import FixtureWatch
from opencompass_tooleval.extras.mcp_servers.live_process import RunningServer
from opencompass_tooleval.extras.mcp_servers.server import Server
from opencompass_tooleval.models.api.event_loop import event_loop, run, start
from opencompass_tooleval.work_dir.printing import say

T = TypeVar('T')
_SLOW = 10
"""Seconds after which a start that goes on is said."""


def only_reads(tool: Mapping[str, Any]) -> bool:
    """Tests if a server declares that a tool, given in its format, changes nothing."""
    return (tool.get('annotations') or {}).get('readOnlyHint') is True


class LiveTrial:
    """One trial: a server in the state after the trial's calls.

    Its process starts at the first call. If there are more trials than processes, a waiting trial may lose its process;
    its next call starts another process, and repeats the trial's earlier calls.

    Attributes:
        task: Id of the task.
        failed: Why its server is no longer called: ``timeout``, ``too_large`` or ``disconnected``; ``''`` if it works.
    """

    def __init__(self, live: LiveTools, task: str) -> None:
        self.task = task
        self.failed = ''
        self.is_closed = False
        self._live = live
        self.running: RunningServer | None = None
        self.lock = asyncio.Lock()
        self._made: list[tuple[str, Mapping[str, Any]]] = []

    @property
    def has_called(self) -> bool:
        """True after the first call of an allowed tool."""
        return bool(self._made)

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Calls a tool; returns within the server's limits.

        Args:
            name: One of the allowed tools.
            arguments: JSON values; ``ALIAS`` stands for the copy's folder, here and in the answer.

        Raises:
            ServerError: The tool is not allowed, or the server cannot be started.
        """
        return run(self._call(name, arguments))

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        async with self.lock:
            if self.is_closed:
                raise ServerError(f'the trial of {self.task!r} has ended')
            if self.failed:
                return ToolAnswer(f'{GONE} ({self.failed}).', DISCONNECTED)
            await self._live.allow(name)
            running = self.running or await self._start()
            self._live.mark_used(self)
            answered = await running.connection.call(name, running.copy.inward(arguments))
            answer = replace(answered, text=running.copy.outward(answered.text))
            self._made.append((name, arguments))
            self.failed = answer.error if answer.error in FATAL else ''
        self._live.note(self.task, name, arguments, answer)
        return answer

    async def _start(self) -> RunningServer:
        self.running = await self._live.give_process(self)
        for name, arguments in self._made:
            await self.running.connection.call(name, self.running.copy.inward(arguments))
        return self.running

    def finish(self, read: Callable[[Path], T]) -> T:
        """Ends the trial: stops the server, returns the result of ``read`` on the copy's folder, and removes the copy.

        Raises:
            ServerError: The server cannot be started, or the files cannot be read.
        """
        return run(self._finish(read))

    async def _finish(self, read: Callable[[Path], T]) -> T:
        async with self.lock:
            if self.is_closed:
                raise ServerError(f'the trial of {self.task!r} has ended')
            running = self.running or await self._start()
            try:
                return await running.finish(read)
            except (OSError, ValueError) as error:
                raise ServerError(f'{self._live.name}: its files cannot be read: {error}') from error
            finally:
                self.is_closed = True
                await self._live.take_back(self)

    def close(self, wait: bool = True) -> None:
        """Stops the process and removes the copy of the fixture.

        Args:
            wait: True to return when this is done; False to do it in the background, finished by
                :meth:`LiveTools.close` at the latest.
        """
        if not self.is_closed:
            self.is_closed = True
            run(self._live.end(self)) if wait else start(self._live.end(self))

    def __enter__(self) -> LiveTrial:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class LiveTools:
    """The tools of an MCP server, with a separate process for each trial.

    Args:
        server: The server; the trial's copy replaces ``{fixture}`` in its command and variables. A server at a URL is
            shared by all trials, and cannot have a fixture.
        fixture: Folder or file to copy for each trial. The server's working directory is the copied folder, or
            the folder of the copied file.
        allow: Patterns of names, such as ``git_*``: tools that may be called in addition to those that the server
            declares read-only (``readOnlyHint``). Nothing else confines the tools: only allow calls that may happen.
        leave_out: Patterns of the names of tools that may never be called.
        ahead: Number of processes to start in advance.
        most: Maximum number of simultaneous processes, without those started in advance.
        log: Receives all calls.

    Raises:
        ServerError: A server at a URL has a fixture.
        OSError: The fixture does not exist.

    Attributes:
        most: Maximum number of simultaneous processes.
    """

    def __init__(
        self,
        server: Server,
        fixture: Path | None = None,
        *,
        allow: Sequence[str] = (),
        leave_out: Sequence[str] = (),
        ahead: int = 0,
        most: int = 64,
        log: CallLog | None = None,
    ) -> None:
        if fixture is not None and not server.command:
            raise ServerError(f'{server} is already running: a fixture needs a server that is started by a command')
        if fixture is not None and not fixture.exists():
            raise FileNotFoundError(2, 'the fixture does not exist', str(fixture))
        self.server = server
        self.fixture = fixture
        self._allow = tuple(allow)
        self._leave_out = tuple(leave_out)
        self._ahead = ahead
        self.most = max(1, most)
        self._log = log
        self._ready: deque[asyncio.Task[RunningServer]] = deque()
        self._used: dict[LiveTrial, RunningServer | None] = {}  # the trial that waited longest comes first
        self._ending: set[asyncio.Task[Any]] = set()
        self._freed = asyncio.Condition()
        self._opening = asyncio.Lock()
        self._listed: list[dict[str, Any]] | None = None
        self._watch: FixtureWatch | None = None
        self._watching = asyncio.Lock()
        self.name = str(server)

    @property
    def listed(self) -> list[dict[str, Any]]:
        """Lists the allowed tools, in the server's format.

        Raises:
            ServerError: The server cannot be started, or a pattern of ``allow`` matches none of its tools.
        """
        return [tool for tool in run(self._list()) if self._is_allowed(tool)]

    @property
    def tools(self) -> tuple[ToolSchema, ...]:
        """The allowed tools as schemas for a model.

        Raises:
            ServerError: The server cannot be started, or a pattern of ``allow`` matches none of its tools.
        """
        return tuple(
            ToolSchema(tool['name'], describe_tool(tool['name'], tool.get('description', '')), tool['inputSchema'])
            for tool in self.listed
        )

    def begin(self, task: str) -> LiveTrial:
        """Starts a trial of a task, from the current fixture; the caller closes it."""
        return LiveTrial(self, task)

    async def _list(self) -> list[dict[str, Any]]:
        async with self._opening:
            if self._listed is None:
                self._ready.appendleft(self._starting())
                most = self.server.limits.start_seconds
                words = f'{self.server} takes more than {_SLOW} s to start; it is stopped after {most:g} s'
                slow = asyncio.get_running_loop().call_later(_SLOW, partial(say, words, err=True))
                try:
                    running = await self._ready[0]
                except BaseException:
                    self._ready.popleft()
                    raise
                finally:
                    slow.cancel()
                names = [tool['name'] for tool in running.tools]
                none = [one for one in self._allow if not any(fnmatchcase(name, one) for name in names)]
                if none:
                    raise ServerError(f'{self.server} has no tool {first_of(none)} to allow; it has {first_of(names)}')
                self.name, self._listed = running.connection.name, running.tools
                if self._log:
                    self._log.begin(self.name, [tool for tool in running.tools if self._is_allowed(tool)])
            return self._listed

    def _is_allowed(self, tool: Mapping[str, Any]) -> bool:
        name = tool['name']
        if any(fnmatchcase(name, pattern) for pattern in self._leave_out):
            return False
        return only_reads(tool) or any(fnmatchcase(name, pattern) for pattern in self._allow)

    async def allow(self, name: str) -> None:
        """Checks that a tool may be called.

        Raises:
            ServerError: The tool may not be called.
        """
        names = [tool['name'] for tool in await self._list() if self._is_allowed(tool)]
        if name not in names:
            raise ServerError(f'{self.name}: the tool {name[:100]!r} is not allowed; allowed are {first_of(names)}')

    def note(self, task: str, name: str, arguments: Mapping[str, Any], answer: ToolAnswer) -> None:
        """Records a call."""
        if self._log:
            self._log.add(RecordedCall(self.name, task, name, arguments, answer.text, answer.error))

    async def give_process(self, trial: LiveTrial) -> RunningServer:
        """Returns a process for a trial; waits while the maximum number of processes is busy.

        Raises:
            ServerError: The process cannot be started.
        """
        await self._free_one()
        self._used[trial] = None
        try:
            self._used[trial] = running = await self._next()
        except BaseException:
            await self.take_back(trial)
            raise
        return running

    def mark_used(self, trial: LiveTrial) -> None:
        """Records that a trial makes a call, so that it is the last to lose its process."""
        self._used[trial] = self._used.pop(trial, None)

    async def _free_one(self) -> None:
        while len(self._used) >= self.most:
            waiting = next((trial for trial in self._used if trial.running and not trial.lock.locked()), None)
            if waiting is not None:
                await self.take_back(waiting)
            else:
                async with self._freed:
                    await self._freed.wait()

    async def _next(self) -> RunningServer:
        task = self._ready.popleft() if self._ready else self._starting()
        while len(self._ready) < self._ahead:
            self._ready.append(self._starting())
        return await task

    def _starting(self) -> asyncio.Task[RunningServer]:
        return asyncio.create_task(self._start())

    async def _start(self) -> RunningServer:
        async with self._watching:
            if self._watch is None:  # before the first process
                self._watch = await asyncio.to_thread(FixtureWatch, self.fixture)
                atexit.register(self.close)
        return await RunningServer().start(self.server, self.fixture)

    async def end(self, trial: LiveTrial) -> None:
        """Releases the process of an ended trial, after its last call."""
        ending = asyncio.current_task()
        assert ending is not None
        self._ending.add(ending)
        async with trial.lock:
            await self.take_back(trial)
        self._ending.discard(ending)

    async def take_back(self, trial: LiveTrial) -> None:
        """Stops the process of a trial."""
        self._used.pop(trial, None)
        running, trial.running = trial.running, None
        if running is not None:
            await running.stop()
        async with self._freed:
            self._freed.notify_all()

    def check_fixture(self) -> None:
        """Checks that no process changed the fixture, since each has a copy.

        Raises:
            FixtureChangedError: The fixture changed since the first process started.
        """
        if self._watch is not None:
            self._watch.check()

    def close(self) -> None:
        """Stops all processes, and checks the fixture.

        Raises:
            FixtureChangedError: The fixture changed since the first process started.
        """
        atexit.unregister(self.close)
        if event_loop().is_running():
            run(self._close())
        try:
            self.check_fixture()
        finally:
            self._watch = None

    async def _renew(self) -> None:
        ready = list(self._ready)
        self._ready.clear()
        started = await asyncio.gather(*ready, return_exceptions=True)
        ended = [one.stop() for one in started if isinstance(one, RunningServer)]
        await asyncio.gather(*ended, *self._ending)

    async def _close(self) -> None:
        await self._renew()
        await asyncio.gather(*(self.take_back(trial) for trial in list(self._used)))

    def __enter__(self) -> LiveTools:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
