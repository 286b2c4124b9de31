"""The folder of a task set: what answers the calls, and the tasks with their goals."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx

from opencompass_tooleval.agents.tasks.goal import Goal
from opencompass_tooleval.agents.tasks.task import Task, parse_task
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.extras.mcp_servers.fixture import folder_state
from opencompass_tooleval.plugin import LOOPS
from opencompass_tooleval.work_dir.data_files import read_json, read_text
from opencompass_tooleval.work_dir.trust import Trustee, uses

SET_FILE = 'set.json'
TASKS_FILE = 'tasks.jsonl'
FIX = 'see docs/how-to/your-own-tools.md for its files'

_FORMAT = 'tooleval_tasks'
"""Key of ``set.json``, whose value is 1."""
_NAME = re.compile(r'[A-Za-z][A-Za-z0-9_]{0,39}')
_MAX_COMMAND = 4_000
"""Maximum characters of a server's command: a person has to read it before trusting it."""


@dataclass(frozen=True)
class TaskSet:
    """A task set.

    Attributes:
        folder: Its folder.
        name: Name of the set: letters, digits and underscores.
        environment: What answers the calls, as keyword arguments of
            :class:`~opencompass_tooleval.agents.adapter.AgentDialogues`; paths are relative to ``folder``.
        tasks: The tasks; each has a goal and gold calls.
    """

    folder: Path
    name: str
    environment: Mapping[str, Any]
    tasks: tuple[Task, ...] = ()

    @property
    def trustee(self) -> Trustee:
        """The programs that the set starts, and the calls that it has them execute.

        Raises:
            OSError: A file of the set is missing, or cannot be read.
            ValueError: The fixture is too large.
        """
        fixture = (self.environment.get('live') or {}).get('fixture')
        names = [TASKS_FILE, *filter(None, (self.environment.get('bank'), fixture))]
        files = {name: folder_state(self.folder / name) for name in names if (self.folder / name).exists()}
        return Trustee(self.folder, ['set', dict(self.environment), files], tuple(uses(self.environment)))

    @property
    def starts_programs(self) -> bool:
        """True if a server, or a model that simulates it, answers the calls."""
        return bool(self.environment.get('live') or self.environment.get('simulator'))

    def trusted_environment(self) -> dict[str, Any]:
        """Returns ``environment`` with absolute paths, to start it.

        Raises:
            UntrustedError: It starts a program or asks a model, and this user has not trusted it.
        """
        if self.starts_programs:
            self.trustee.check()
        here = dict(self.environment)
        if here.get('bank'):
            here['bank'] = str((self.folder / here['bank']).resolve())
        live = here.get('live')
        if live and live.get('fixture'):
            here['live'] = {**live, 'fixture': str((self.folder / live['fixture']).resolve())}
        return here


def load_set(path: str | Path) -> TaskSet:
    """Reads a task set.

    Args:
        path: Its folder; looked for as data is.

    Raises:
        DataError: A file is missing or damaged, or there is no task.
    """
    folder = Path(resolve_data_path(str(path), FIX))
    head = read_json(folder / SET_FILE)
    try:
        if head[_FORMAT] != 1:
            raise ValueError(f'its format is {head[_FORMAT]!r}, and this package reads 1')
        found = TaskSet(folder, str(head['name']), dict(head['environment']))
        _check_head(found)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DataError(
            folder / SET_FILE, f'it is not a task set ({type(error).__name__}: {error})', fix=FIX
        ) from error
    return replace(found, tasks=tuple(_read_tasks(folder / TASKS_FILE)))


def _check_head(tasks: TaskSet) -> None:
    """Checks the values of ``set.json``: a set may come from anybody.

    Raises:
        ValueError: A value has another type, or a path leads out of the folder.
    """
    if not _NAME.fullmatch(tasks.name):
        raise ValueError(f'{tasks.name[:50]!r} is not a name of a set: letters, digits and underscores')
    environment = tasks.environment
    if environment.get('loop') not in LOOPS:
        raise ValueError(f'there is no loop {str(environment.get("loop"))[:50]!r}')
    live = environment.get('live') or {}
    if not isinstance(live, dict) or not isinstance(environment.get('simulator') or {}, dict):
        raise ValueError('its server or simulator is not an object')
    for path in (environment.get('bank'), live.get('fixture')):
        if path and not (isinstance(path, str) and _is_inside(tasks.folder, path)):
            raise ValueError(f'{str(path)[:100]!r} is not a path in the folder of the set')
    if live:
        _check_live(live)


def _check_live(live: Mapping[str, Any]) -> None:
    server, env = live.get('server'), live.get('env') or {}
    if not isinstance(server, str) or len(server) > _MAX_COMMAND:
        raise ValueError(f'its server is not a string of at most {_MAX_COMMAND} characters')
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise ValueError('the variables of its server are not strings')
    for name in ('allow', 'leave_out', 'probes'):
        kind = dict if name == 'probes' else str
        rows = live.get(name) or []
        if not isinstance(rows, list) or not all(isinstance(row, kind) for row in rows):
            raise ValueError(f'{name} of its server is not a list')


def _is_inside(folder: Path, path: str) -> bool:
    """Tests if a relative path stays in a folder, links included."""
    if '\0' in path or Path(path).is_absolute():
        return False
    return (folder / path).resolve().is_relative_to(folder.resolve())


def _read_tasks(file: Path) -> list[Task]:
    """Reads the tasks, one JSON object per line; U+2028 ends no line.

    Raises:
        DataError: The file is missing or damaged, two tasks have one id, or there is no task; the message names the
            line.
    """
    tasks: dict[str, Task] = {}
    for number, line in enumerate(read_text(file).split('\n'), 1):
        if line.strip():
            try:
                task = _parse_task(load_json(line, bounded=True))
                if task.id in tasks:
                    raise ValueError(f'two tasks have the id {task.id!r}')
                tasks[task.id] = task
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                raise DataError(
                    file, f'it is not a task ({type(error).__name__}: {error})', f'line {number}'
                ) from error
    if not tasks:
        raise DataError(file, 'the set has no task')
    return list(tasks.values())


def _parse_task(raw: Any) -> Task:
    task = parse_task(json.dumps(to_jsonable(raw)))  # without lone surrogates, which no file can hold
    goal = task.goal
    if goal is None or task.gold is None:
        raise ValueError('it has no goal, or no gold calls')
    texts = [task.id, task.subset, task.query, *(text for tool in task.tools for text in (tool.name, tool.description))]
    texts += [goal.answer, goal.result, goal.fails_first, *goal.facts, *goal.forbidden, *(goal.effects or {})]
    if not isinstance(goal.effects, dict | None):
        raise ValueError('the effects of the goal are not an object')
    if not all(isinstance(text, str) for text in texts):
        raise ValueError('a text field of the task or of a tool is not a string')
    if task.language not in ('EN', 'ZH'):
        raise ValueError('its language is neither EN nor ZH')
    for tool in task.tools:
        schema = tool.parameters
        if not isinstance(schema, dict) or not isinstance(schema.get('properties') or {}, dict):
            raise ValueError(f'the parameters of {tool.name[:100]!r} are not a JSON Schema of an object')
    check_order(goal)
    return task


def order_of(goal: Goal) -> nx.DiGraph:
    """Returns the order of a goal's calls as a graph of their places."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(goal.calls)))
    graph.add_edges_from(goal.order)
    return graph


def check_order(goal: Goal) -> None:
    """Checks that the order of a goal's calls can be kept.

    Raises:
        ValueError: A place belongs to no call, or calls have to come before themselves.
    """
    if any(not 0 <= index < len(goal.calls) for pair in goal.order for index in pair):
        raise ValueError('the order of the goal names a call that the goal does not have')
    if not nx.is_directed_acyclic_graph(order_of(goal)):
        raise ValueError('the order of the goal is a circle')
