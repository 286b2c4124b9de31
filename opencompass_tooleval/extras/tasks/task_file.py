"""Reads a file of tasks: a server, what it works on, requests, and what is right at the end.

Every scalar is text: ``value: 4:00`` is neither 240 nor a time until its type says so, and ``no`` is no truth value.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.extras.mcp_servers.fixture import folder_state, on_copies
from opencompass_tooleval.extras.tasks import functions
from opencompass_tooleval.extras.tasks.effects import KEYS as EFFECT_KEYS
from opencompass_tooleval.extras.typed_result import FORMS, NONE, PAIRS, read_result
from opencompass_tooleval.tool_docs.yaml_text import load_yaml
from opencompass_tooleval.work_dir.data_files import read_plain, sha256_of
from opencompass_tooleval.work_dir.trust import Trustee, uses

ENDINGS = ('.yaml', '.yml')
FIX = 'make one with tooleval tasks init'

_KEYS = ('server', 'url', 'module', 'env', 'fixture', 'reads', 'ignore', 'tasks')
_TASK_KEYS = ('id', 'request', 'needs', 'forbidden', 'result', 'asks', 'effects', 'solution')
_MAX_BYTES, _MAX_TASKS, _MAX_REQUEST, _MAX_COMMAND = 1 << 22, 5_000, 20_000, 4_000
_CODE = tuple(all_suffixes())
_WORD = re.compile(r'\w+')
_ID = re.compile(r'[\w.-]{1,80}')


@dataclass(frozen=True)
class WrittenTask:
    """A task as its owner wrote it.

    Attributes:
        id: Its id.
        request: The request.
        needs: Patterns of tools of which each has to answer a call; None if the owner says nothing.
        forbidden: Patterns of tools that must not be called.
        form: Type of the result, one of ``typed_result.FORMS``; ``''`` for none.
        results: The accepted results, as texts of this type.
        asks: True if the agent has to ask the user something, and to change nothing.
        effects: What differs at the end.
        solution: Calls that reach the goal: tool, and arguments whose scalars are texts, or their JSON text.
    """

    id: str
    request: str
    needs: tuple[str, ...] | None = None
    forbidden: tuple[str, ...] = ()
    form: str = ''
    results: tuple[str, ...] = ()
    asks: bool = False
    effects: tuple[Mapping[str, Any], ...] = ()
    solution: tuple[tuple[str, Any], ...] | None = None

    @property
    def is_checked(self) -> bool:
        """True if something decides if it is solved, beside that nothing else is changed."""
        return bool(self.needs or self.form or self.asks or self.effects)


@dataclass(frozen=True)
class TaskFile:
    """A file of tasks.

    Attributes:
        path: The file.
        server: A command, relative to the file's folder; ``''`` with a URL or a module.
        url: URL of a running server, which neither resets nor has a copy.
        module: A file of Python functions; ``''`` for none.
        env: Variables of the server; ``$NAME`` is a variable of this process.
        fixture: Folder or file that is copied for each trial; ``''`` for none.
        reads: Patterns of tools that change nothing, beside those of which the server says so.
        ignore: Patterns of parts of the state that do not count.
        tasks: The tasks.
    """

    path: Path
    server: str = ''
    url: str = ''
    module: str = ''
    env: Mapping[str, str] | None = None
    fixture: str = ''
    reads: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    tasks: tuple[WrittenTask, ...] = ()

    @property
    def name(self) -> str:
        """Name in results: of ``tasks.yaml`` the folder's, else the file's."""
        stem = self.path.resolve().parent.name if self.path.stem == 'tasks' else self.path.stem
        return re.sub(r'\W+', '_', stem).strip('_') or 'tasks'

    @property
    def fixture_path(self) -> Path | None:
        """The fixture; None without one."""
        return (self.path.resolve().parent / self.fixture) if self.fixture else None

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the live server, for ``open_live``."""
        folder, fixture = self.path.resolve().parent, self.fixture_path
        if self.module:
            server = shlex.join([sys.executable, functions.__file__, str(folder / self.module)])
        else:
            server = self.url or on_copies(self.server, fixture, folder)
        return {
            'server': server,
            'fixture': str(fixture) if fixture else None,
            'allow': ['*'],
            'env': dict(self.env or {}),
        }

    @property
    def trustee(self) -> Trustee:
        """Stands for all that the file starts, and for the calls that its check makes.

        Raises:
            OSError: The fixture or the module is missing, or cannot be read.
            ValueError: The fixture is too large.
        """
        started = {'server': self.url or self.server, 'env': dict(self.env or {})}
        files = [folder_state(path) for path in filter(None, (self.fixture_path,))]
        folder = self.path.resolve().parent
        words = [folder / word for word in (self.module, *shlex.split(self.server)) if word]
        code = {file: sha256_of(file) for path in words if path.is_file() for file in _code_of(path, folder)}
        calls = [[task.id, task.solution] for task in self.tasks if task.solution]
        shown = [f'code: {folder / self.module}'] if self.module else []
        if beside := [str(file.relative_to(folder)) for file in code if file not in words]:
            shown.append(f'code beside it: {first_of(beside, 20)}')
        shown += [*uses({key: value for key, value in started.items() if value})]
        if count := sum(len(task.solution or ()) for task in self.tasks):
            names = list(dict.fromkeys(name for task in self.tasks for name, _ in task.solution or ()))
            shown.append(f'{count} calls of solutions: {first_of(names)}')
        return Trustee(self.path, ['tasks', started, files, [*code.values()], calls, list(self.reads)], tuple(shown))


def _code_of(path: Path, folder: Path) -> Iterator[Path]:
    """Yields a file, and the Python files beside it that its words or theirs name: all that it may import."""
    yield path
    seen, left = {path}, [path] if path.suffix == '.py' and path.is_relative_to(folder) else []
    while left:
        words = {*_WORD.findall(read_plain(left.pop(), _MAX_BYTES).decode('utf-8', 'replace'))}
        beside = [one for one in path.parent.iterdir() if one.name.partition('.')[0] in words]
        files = [below for one in beside for below in (one.rglob('*') if one.is_dir() else [one])]
        new = sorted(one for one in files if one.name.endswith(_CODE) and one.parent.name != '__pycache__')
        new = [one for one in new if one not in seen and one.is_file()]
        seen |= {*new}
        left += [one for one in new if one.suffix == '.py']
        yield from new


def load_tasks(path: str | Path) -> TaskFile:
    """Reads a file of tasks.

    Args:
        path: The file; if it is not there, it is looked for as data is.

    Raises:
        DataError: It is missing or damaged; the message names the task.
    """
    file = Path(path) if Path(path).is_file() else resolve_data_path(str(path), FIX)
    try:
        raw = load_yaml(read_plain(file, _MAX_BYTES).decode('utf-8'), typed=False)
        head = _mapping(raw, _KEYS, 'the file')
        rows = head.get('tasks') or []
        if not isinstance(rows, list) or len(rows) > _MAX_TASKS:
            raise ValueError(f'tasks is not a list of at most {_MAX_TASKS:,} tasks')
        found = _read_head(file, head)
    except (ValueError, UnicodeDecodeError) as error:
        raise error if isinstance(error, DataError) else DataError(file, str(error), fix=FIX) from error
    tasks: dict[str, WrittenTask] = {}
    for number, row in enumerate(rows, 1):
        name = str(row.get('id', number)) if isinstance(row, dict) else str(number)
        try:
            task = _read_task(_mapping(row, _TASK_KEYS, 'a task'))
            if task.id in tasks:
                raise ValueError('two tasks have this id')
            tasks[task.id] = task
        except ValueError as error:
            raise DataError(file, str(error), f'task {name[:80]}') from error
    return TaskFile(**{**vars(found), 'tasks': tuple(tasks.values())})


def _read_head(file: Path, head: Mapping[str, Any]) -> TaskFile:
    given = [name for name in ('server', 'url', 'module') if head.get(name)]
    if len(given) != 1:
        raise ValueError('it names one of server, url and module')
    server, url, module = (_text(head, name) for name in ('server', 'url', 'module'))
    fixture = _text(head, 'fixture')
    if url and (fixture or not url.startswith(('http://', 'https://'))):
        raise ValueError('url is http://... or https://..., and has no fixture: the server runs already')
    shlex.split(server)  # raises ValueError for quotes that do not end
    if len(server) > _MAX_COMMAND:
        raise ValueError(f'server has more than {_MAX_COMMAND:,} characters')
    folder = file.resolve().parent
    for name, path in (('fixture', fixture), ('module', module)):
        if path and (Path(path).is_absolute() or not (folder / path).resolve().is_relative_to(folder)):
            raise ValueError(f'{name}: {path[:200]} is not a path in the folder of the file')
        if path and not (folder / path).exists():
            raise ValueError(f'{name}: there is no {path[:200]}')
    env = head.get('env') or {}
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise ValueError('env is not an object of texts')
    return TaskFile(file, server, url, module, env, fixture, _names(head, 'reads'), _names(head, 'ignore'))


def _read_task(raw: Mapping[str, Any]) -> WrittenTask:
    name, request, asks = _text(raw, 'id'), _text(raw, 'request'), _text(raw, 'asks') or 'false'
    if not _ID.fullmatch(name):
        raise ValueError('its id is not made of letters, digits, ., - and _')
    if not request.strip() or len(request) > _MAX_REQUEST:
        raise ValueError(f'its request is empty, or has more than {_MAX_REQUEST:,} characters')
    if asks not in ('true', 'false'):
        raise ValueError(f'asks: {asks[:40]} is neither true nor false')
    form, results = _read_result(raw['result']) if raw.get('result') else ('', ())
    effects = raw.get('effects') or []
    if not isinstance(effects, list):
        raise ValueError('its effects are not a list')
    return WrittenTask(
        name,
        request.strip(),
        _names(raw, 'needs') if 'needs' in raw else None,
        _names(raw, 'forbidden'),
        form,
        results,
        asks == 'true',
        tuple(_mapping(effect, EFFECT_KEYS, 'an effect') for effect in effects),
        _read_solution(raw['solution']) if 'solution' in raw else None,
    )


def _read_result(raw: Any) -> tuple[str, tuple[str, ...]]:
    result = _mapping(raw, ('type', 'value', 'any_of'), 'a result')
    form, values = _text(result, 'type'), result.get('any_of', [result.get('value')])
    if form not in FORMS or form == NONE:
        raise ValueError(f'its result has the type {form[:40]!r}; there are {", ".join(FORMS[:-1])}')
    if 'value' in result and isinstance(result['value'], list) and form in ('number', 'text', 'date'):
        values = result['value']
    if not isinstance(values, list) or not values:
        raise ValueError('any_of of its result is not a list')
    texts = tuple(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in values)
    if unread := [text for text in texts if not text.strip() or read_result(form, text) is None]:
        raise ValueError(f'its result {unread[0][:80]!r} is no {form}')
    if form == PAIRS and any(isinstance(one, list) for one in values):
        raise ValueError('pairs are written as an object, or as a text')
    return form, texts


def _read_solution(raw: Any) -> tuple[tuple[str, Any], ...]:
    if not isinstance(raw, list):
        raise ValueError('its solution is not a list of calls')
    calls: list[tuple[str, Any]] = []
    for call in raw:
        if isinstance(call, str):
            calls.append((call, {}))
            continue
        if not isinstance(call, dict) or len(call) != 1:
            raise ValueError('a call of its solution is a tool with its arguments: "- TOOL: {NAME: VALUE}"')
        ((name, arguments),) = call.items()
        if isinstance(arguments, str) and arguments:
            arguments = load_json(arguments, bounded=True)
            calls.append((name, json.dumps(arguments)))
        else:
            calls.append((name, arguments or {}))
        if not isinstance(arguments or {}, dict):
            raise ValueError(f'the arguments of {name[:80]} are not an object')
    return tuple(calls)


def _mapping(raw: Any, keys: Sequence[str], what: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise ValueError(f'{what} is not an object with {first_of(list(keys))}')
    if unknown := [key for key in raw if key not in keys]:
        raise ValueError(f'{what} has no {unknown[0][:80]!r}; there are {", ".join(keys)}')
    return raw


def _text(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name, '')
    if not isinstance(value, str):
        raise ValueError(f'{name} is not a text')
    return value


def _names(raw: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = raw.get(name) or []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f'{name} is not a list of names')
    return tuple(values)
