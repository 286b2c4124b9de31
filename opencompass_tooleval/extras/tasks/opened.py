"""Opens a file of tasks with its server: the tools, the state at the start, and the tasks for agents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.written.xml_formats import ITEM, allowed_types, child_schema, typed_value
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.extras.mcp_servers.open_live import open_live
from opencompass_tooleval.extras.tasks.differences import changes
from opencompass_tooleval.extras.tasks.effects import effects_gold
from opencompass_tooleval.extras.tasks.goal import ANY_TOOL, Goal, is_named
from opencompass_tooleval.extras.tasks.gold import Gold
from opencompass_tooleval.extras.tasks.gold_file import read_golds
from opencompass_tooleval.extras.tasks.state import State, read_state
from opencompass_tooleval.extras.tasks.task_file import TaskFile, WrittenTask, check_scripts, load_tasks
from opencompass_tooleval.extras.tasks.typed_result import DATE, LIST, NUMBER, PAIRS, SET, TEXT

if TYPE_CHECKING:  # they need the MCP SDK, which configs without own tasks do not
    from opencompass_tooleval.extras.mcp_servers.live import LiveTools, LiveTrial

_START = 'start'
_IS_CHINESE = '\u4e00', '\u9fff'
_FORMS = {
    NUMBER: ('the number', '数字'),
    TEXT: ('the answer in a few words', '答案'),
    DATE: ('the date as YYYY-MM-DD', '日期，格式为 YYYY-MM-DD'),
    LIST: ('the items in order, with semicolons between them', '各项，按顺序，用分号隔开'),
    SET: ('the items, with semicolons between them', '各项，用分号隔开'),
    PAIRS: ('each as NAME: VALUE, with semicolons between them', '各项写成 名称: 值，用分号隔开'),
}
_REQUESTS = '\n\nEnd with one line: Result: {}.', '\n\n最后单独写一行“结果：”，后面是{}。'


@dataclass
class FolderState:
    """Reads the state of a server's trials from its files, after a trial has ended.

    Attributes:
        live: The server.
        ignore: Patterns of parts of the state that are ignored.
    """

    live: LiveTools
    ignore: tuple[str, ...] = ()
    _reading: Lock = field(default_factory=Lock, init=False)
    _start: State | None = field(default=None, init=False)

    def read(self, trial: LiveTrial) -> State:
        """Ends a trial and reads its state.

        Raises:
            ServerError: The server cannot be started, or its files cannot be read.
        """
        return trial.finish(partial(read_state, ignore=self.ignore))

    @property
    def start(self) -> State:
        """The state after a trial without calls; it is read only once.

        Raises:
            ServerError: The server cannot be started, or its files cannot be read.
        """
        with self._reading:
            if self._start is None:
                with self.live.begin(_START) as trial:
                    self._start = self.read(trial)
            return self._start

    def changes(self, trial: LiveTrial) -> dict[str, str]:
        """Ends a trial and returns the differences between its state and the state at the start.

        Raises:
            ServerError: The server cannot be started, or its files cannot be read.
        """
        if not trial.has_called:  # the start is a trial without calls
            trial.close()
            return {}
        before = self.start
        return changes(before, self.read(trial))


@dataclass
class Opened:
    """A file of tasks with a running server.

    Attributes:
        file: The file.
        live: The server.
        state: Reads the state of trials; None without a fixture.
    """

    file: TaskFile
    live: LiveTools
    state: FolderState | None

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The tools that change nothing, according to the file or the server."""
        from opencompass_tooleval.extras.mcp_servers.live import only_reads

        listed = self.live.listed
        return tuple(tool['name'] for tool in listed if only_reads(tool) or is_named(tool['name'], self.file.reads))

    @cached_property
    def tasks(self) -> list[Task]:
        """The tasks for agents, with the golds beside the file.

        Raises:
            DataError: An effect or a call of a task does not fit the server, or a gold is missing or outdated.
            ServerError: The server cannot be started.
        """
        found = read_golds(self.file)
        needing = self.needing_gold
        return self.tasks_with({one.id: found.golds(one) for one in self.file.tasks if one.id in needing})

    @cached_property
    def needing_gold(self) -> set[str]:
        """The tasks whose solution decides: its state can be read, it changes something, and there are no effects."""
        return {
            task.id
            for task in self.file.tasks
            if self.state
            and not (task.effects or task.asks)
            and any(name not in self.reads for calls in task.solutions for name, _ in calls)
        }

    def solutions(self, written: WrittenTask) -> list[list[GoldCall]]:
        """Returns the calls of each solution of a task, with typed arguments.

        Raises:
            ValueError: A call does not fit the server.
        """
        return [[typed_call(*call, self.live.tools) for call in calls] for calls in written.solutions]

    def tasks_with(self, golds: Mapping[str, Sequence[Gold]]) -> list[Task]:
        """Returns the tasks for agents, with the golds of those whose solution decides.

        Raises:
            DataError: An effect or a call of a task does not fit the server.
            ServerError: The server cannot be started.
        """
        tools = self.live.tools
        return [self._task(written, tools, tuple(golds.get(written.id, ()))) for written in self.file.tasks]

    def _task(self, written: WrittenTask, tools: tuple[ToolSchema, ...], golds: tuple[Gold, ...]) -> Task:
        try:
            calls = next(iter(self.solutions(written)), None)
            goal = self._goal(written, calls, golds)
        except ValueError as error:
            if not isinstance(error, DataError):
                raise DataError(self.file.path, str(error), f'task {written.id}') from error
            raise
        is_chinese = any(_IS_CHINESE[0] <= letter <= _IS_CHINESE[1] for letter in written.request)
        ending = _REQUESTS[is_chinese].format(_FORMS[written.form][is_chinese]) if written.form else ''
        return Task(
            written.id,
            self.file.name,
            written.request + ending,
            tools,
            None if calls is None else tuple(calls),
            {tool.name: asdict(tool) for tool in tools},
            language='ZH' if is_chinese else 'EN',
            goal=goal.to_dict(),
        )

    def _goal(self, written: WrittenTask, calls: list[GoldCall] | None, golds: tuple[Gold, ...]) -> Goal:
        names = [tool['name'] for tool in self.live.listed]
        for pattern in (*(written.needs or ()), *written.forbidden):
            if not any(is_named(name, [pattern]) for name in names):
                raise ValueError(f'the server has no tool {pattern}')
        needs = written.needs
        if needs is None:  # without a call, the result would be a guess
            needs = (ANY_TOOL,) if written.form else ()
        writes = None
        if self.state is None:
            if written.effects:
                raise ValueError('it has effects, and no fixture whose state can be read')
            if calls is not None:
                writes = tuple([call.name, call.arguments] for call in calls if call.name not in self.reads)
        if self.state and not golds:
            golds = (effects_gold(written.effects, self.state.start) if written.effects else {},)
        answer = f'Result: {written.results[0]}' if written.form else 'Which one?' if written.asks else 'It is done.'
        if written.free and written.id not in self.needing_gold:
            raise ValueError('it has free, and no solution that changes something')
        return Goal(
            needs,
            written.forbidden,
            written.form,
            written.results,
            written.asks,
            golds,
            writes,
            self.reads,
            answer,
        )


@contextmanager
def open_tasks(path: str | Path | TaskFile, **settings: Any) -> Iterator[Opened]:
    """Opens a file of tasks, and stops its servers at the end.

    Args:
        path: The file, or its loaded content.
        **settings: Further settings of the server.

    Raises:
        DataError: The file is missing or damaged.
        UntrustedError: This user has not trusted the file.
        ServerError: The server cannot be started, or its files cannot be read; the message names the file of tasks.
        ValueError: A variable of the server is not set, or the MCP SDK is not installed.
    """
    file = path if isinstance(path, TaskFile) else load_tasks(path)
    file.trustee.check()
    check_scripts(file)
    try:
        with open_live(**{**file.settings, **settings}) as live:
            yield Opened(file, live, state_of(file, live))
    except ServerError as error:
        raise ServerError(f'{file.path}: {error}') from error


def state_of(file: TaskFile, live: LiveTools) -> FolderState | None:
    """Returns the reader of the server's state; None without a fixture."""
    return FolderState(live, file.ignore) if file.fixture else None


def typed_call(name: str, arguments: Any, tools: tuple[ToolSchema, ...]) -> GoldCall:
    """Converts arguments whose scalars are texts to the types of the tool's schema; JSON text is only parsed.

    Raises:
        ValueError: The server has no such tool, or the JSON is invalid.
    """
    schema = next((tool.parameters for tool in tools if tool.name == name), None)
    if schema is None:
        raise ValueError(f'the server has no tool {name[:80]}')
    if isinstance(arguments, str):
        return GoldCall(name, json.loads(arguments))
    return GoldCall(name, _typed(arguments, schema, schema))


def _typed(value: Any, schema: Any, whole: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: _typed(one, child_schema(schema, whole, key), whole) for key, one in value.items()}
    if isinstance(value, list):
        return [_typed(one, child_schema(schema, whole, ITEM), whole) for one in value]
    return typed_value(value, allowed_types(schema, whole))
