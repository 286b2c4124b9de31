"""Reads a file of tasks: a server, its fixture, requests, and the goals of the requests.

Every scalar is text: ``4:00`` is neither 240 nor a time, unless a type says so, and ``no`` is not a boolean.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.embedding.locate import default_cache
from opencompass_tooleval.extras.mcp_servers.fixture import PLACEHOLDER, folder_state, on_copies
from opencompass_tooleval.extras.tasks import functions
from opencompass_tooleval.extras.tasks.effects import KINDS
from opencompass_tooleval.extras.tasks.typed_result import DATE, FORMS, NONE, NUMBER, PAIRS, TEXT, read_result
from opencompass_tooleval.tool_docs.yaml_text import load_yaml
from opencompass_tooleval.work_dir.data_files import read_plain, sha256_of
from opencompass_tooleval.work_dir.trust import Trustee, uses

ENDINGS = ('.yaml', '.yml')
GOLD_ENDING = '.gold.json'
NO_COPY = 'without a fixture nothing is copied or reset'

_HEAD: Mapping[str, Any] = {
    'server': str, 'url': str, 'module': str, 'env': dict, 'fixture': str, 'reads': tuple, 'ignore': tuple,
    'covers': tuple, 'tasks': list,
}  # fmt: skip
_TASK: Mapping[str, Any] = {
    'id': str, 'request': str, 'needs': tuple, 'forbidden': tuple, 'result': dict, 'asks': str, 'effects': list,
    'solution': list, 'solutions': list, 'free': tuple,
}  # fmt: skip
_RESULT: Mapping[str, Any] = {'type': str, 'value': dict | list | str, 'any_of': list}
_WORDS = {dict: 'an object', list: 'a list', str: 'a text', tuple: 'a list of names'}
_MAX_BYTES, _MAX_TASKS, _MAX_REQUEST, _MAX_COMMAND = 1 << 22, 5_000, 20_000, 4_000
MAX_FILES, MAX_BYTES, _MOST_NAMED = 2_000, 64 << 20, 20
_OUTPUTS = frozenset(
    ['.json', '.jsonl', '.out', '.log', '.txt', '.md', '.csv', '.tex', '.html', '.js', '.css', '.lock']
)
"""Endings of files in runs and reports."""
REPORT_MARKER = '.tooleval-report'
_RUNS_SCRIPTS, _SCRIPTS = ('python', 'node', 'bash', 'sh'), ('.py', '.js', '.mjs', '.cjs', '.sh')
_ID = re.compile(r'[\w.-]{1,80}')


@dataclass(frozen=True)
class WrittenTask:
    """A task as its owner wrote it.

    Attributes:
        id: Id of the task.
        request: The request.
        needs: Patterns of tools; for each, a matching tool must answer a call. None if the file does not say.
        forbidden: Patterns of tools that must not be called.
        form: Type of the result, one of ``typed_result.FORMS``; ``''`` without a result.
        results: The accepted results, as texts of this type.
        asks: True if the agent must ask the user something, and change nothing.
        effects: The differences at the end; empty if the solution decides.
        solutions: Calls that reach the goal: tool, and arguments whose scalars are texts, or their JSON text. With
            several solutions, the state that any of them leaves is right.
        free: What of the solution's state is left to the agent, as in ``make_gold``.
    """

    id: str
    request: str
    needs: tuple[str, ...] | None = None
    forbidden: tuple[str, ...] = ()
    form: str = ''
    results: tuple[str, ...] = ()
    asks: bool = False
    effects: tuple[Mapping[str, Any], ...] = ()
    solutions: tuple[tuple[tuple[str, Any], ...], ...] = ()
    free: tuple[str, ...] = ()

    @property
    def is_checked(self) -> bool:
        """True if the task has a condition beyond "nothing else is changed"."""
        return bool(self.needs or self.form or self.asks or self.effects)


@dataclass(frozen=True)
class TaskFile:
    """A file of tasks.

    Attributes:
        path: The file.
        server: Command of the server, relative to the file's folder; ``''`` with a URL or a module.
        url: URL of a running server, which is neither copied nor reset; ``''`` if there is none.
        module: File of Python functions that is served; ``''`` if there is none.
        env: Environment variables of the server; ``$NAME`` is a variable of this process.
        fixture: Folder or file that is copied for each trial; ``''`` if there is none.
        reads: Patterns of tools that change nothing, in addition to those that the server declares.
        ignore: Patterns of parts of the state that are ignored.
        covers: Patterns of the files that trust covers; empty for all files below the folder.
        tasks: The tasks.
    """

    path: Path
    server: str = ''
    url: str = ''
    module: str = ''
    env: Mapping[str, str] = field(default_factory=dict)
    fixture: str = ''
    reads: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    tasks: tuple[WrittenTask, ...] = ()

    @property
    def name(self) -> str:
        """Name in results: the file's name, or the folder's for ``tasks.yaml``."""
        stem = self.path.resolve().parent.name if self.path.stem == 'tasks' else self.path.stem
        return re.sub(r'\W+', '_', stem).strip('_') or 'tasks'

    @property
    def fixture_path(self) -> Path | None:
        """Path of the fixture; None without a fixture."""
        return (self.path.resolve().parent / self.fixture) if self.fixture else None

    @property
    def gold_path(self) -> Path:
        """Path of the file with the states that the solutions leave; it may be missing."""
        return self.path.with_name(f'{self.path.name}{GOLD_ENDING}')

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
            # Compiled files beside the server, which may differ from their sources, are never used.
            'env': {**self.env, 'PYTHONPYCACHEPREFIX': str(_cache() / 'compiled')},
        }

    @cached_property
    def started(self) -> dict[str, Any]:
        """All that decides how the server behaves, as JSON values: ``command``, ``fixture``, ``files`` with digests.

        Raises:
            OSError: The fixture or another file is missing, or cannot be read.
            ValueError: The fixture is too large, or too many files have to be covered.
        """
        folder = self.path.resolve().parent
        words = [part for word in shlex.split(self.server) for part in (word, word.partition('=')[2]) if part]
        below = [] if self.url else [*_covered(self, words)]
        code = dict.fromkeys([*below, *(path for word in words if (path := folder / word).is_file())])
        return {
            'command': {'server': self.url or self.server, 'env': dict(self.env)},
            'fixture': [folder_state(path) for path in filter(None, (self.fixture_path,))],
            'files': [[os.path.relpath(path, folder), sha256_of(path)] for path in code],
            'below': len(below),
        }

    @property
    def trustee(self) -> Trustee:
        """Identifies everything that the file starts, the calls of its solutions and their gold, for the user to trust.

        Raises:
            OSError: The fixture or another file is missing, or cannot be read.
            ValueError: The fixture is too large, or too many files have to be covered.
        """
        command, fixtures, code, below = self.started.values()
        calls = [[task.id, *task.solutions] for task in self.tasks if any(task.solutions)]
        shown = [f'code: {self.path.resolve().parent / self.module}'] if self.module else []
        shown += [*uses({key: value for key, value in command.items() if value})]
        if below:
            inner = first_of([name for name, _ in code[:below]], _MOST_NAMED)
            only = f' ({", ".join(self.covers)} alone)' if self.covers else ''
            shown.append(f'{below} files of its folder{only}: {inner}')
        if names := [name for task in self.tasks for calls_ in task.solutions for name, _ in calls_]:
            shown.append(f'{len(names)} calls of solutions: {first_of(list(dict.fromkeys(names)))}')
        shown.append('not covered: installed packages, what npx and uvx load, servers at URLs')
        parts = ['tasks', command, fixtures, code, list(self.covers), calls, list(self.reads)]
        if self.gold_path.is_file():
            parts.append(sha256_of(self.gold_path))
        return Trustee(self.path, parts, tuple(shown))


def _covered(file: TaskFile, words: Sequence[str]) -> Iterator[Path]:
    """Yields the files below the folder of a file of tasks that its server may execute; links count as their targets.

    Runs and reports of this package are left out if they have no code, and the server's command does not name them.

    Args:
        file: The file of tasks, which is left out itself, as its gold is.
        words: Words of the server's command.

    Raises:
        OSError: A folder cannot be read.
        ValueError: There are too many files, or they are too large.
    """
    folder, sizes, seen = file.path.resolve().parent, Counter[str](), set[Path]()
    named = [Path(os.path.normpath(folder / word)) for word in words]
    runs_python = not words or Path(words[0]).name.startswith('python')
    outputs = _OUTPUTS if runs_python else _OUTPUTS - {'.js'}  # other servers may execute the scripts of a report
    left_out = {_cache(), file.path.resolve(), file.gold_path.resolve()}
    left_out |= {*filter(None, [file.fixture_path and file.fixture_path.resolve()])}
    for name, folders, files in os.walk(folder, onerror=_raise, followlinks=True):
        here = Path(name)
        is_named = here == folder or any(path.is_relative_to(here) for path in named)
        if here.resolve() in seen | left_out or (not is_named and _is_output(here, outputs)):
            folders.clear()
            continue
        seen.add(here.resolve())
        folders[:] = sorted({*folders} - {'.git', '__pycache__'})
        for path in (here / name for name in sorted(files)):
            inner = path.relative_to(folder)
            is_chosen = not file.covers or any(fnmatch(inner.as_posix(), pattern) for pattern in file.covers)
            if not is_chosen or path in left_out or not path.is_file():
                continue
            sizes.update({'/files': 1, '/bytes': path.stat().st_size, inner.parts[0]: 1})
            if sizes['/files'] > MAX_FILES or sizes['/bytes'] > MAX_BYTES:
                largest = max((part for part in sizes if part[0] != '/'), key=sizes.__getitem__)
                raise ValueError(
                    f'{file.path}: its folder has more than {MAX_FILES:,} files or {MAX_BYTES >> 20} MB, most in '
                    f'{largest}: move the file into a folder of its own, or write into it which files its server '
                    "executes, such as covers: ['*.py']"
                )
            yield path


def _cache() -> Path:
    return default_cache().resolve()


def _raise(error: OSError) -> None:
    raise error


def _is_output(folder: Path, endings: Collection[str]) -> bool:
    """Tests if a folder is a run or a report of this package, and its files have no other endings than these."""
    is_run = (folder / 'configs').is_dir() and (folder / 'logs').is_dir()
    if not is_run and not (folder / REPORT_MARKER).is_file():
        return False
    files = (Path(name, file).relative_to(folder) for name, _, files in os.walk(folder) for file in files)
    return all(
        file.suffix in endings or file.name == REPORT_MARKER or file.parts[0] in ('config.py', 'configs')
        for file in files
    )


def load_tasks(path: str | Path) -> TaskFile:
    """Reads a file of tasks.

    Args:
        path: The file; if it does not exist, it is searched like data files.

    Raises:
        DataError: The file is missing or damaged; the message names the task.
    """
    fix = f'tooleval tasks init --server COMMAND --out {shlex.quote(str(path))}'
    file = Path(path) if Path(path).is_file() else resolve_data_path(str(path), fix)
    try:
        head = _checked(load_yaml(read_plain(file, _MAX_BYTES).decode('utf-8'), typed=False), _HEAD, 'the file')
        rows = head.pop('tasks', [])
        if len(rows) > _MAX_TASKS:
            raise ValueError(f'tasks are more than {_MAX_TASKS:,}')
        found = TaskFile(file, **head)
        _check_head(found)
    except (ValueError, UnicodeDecodeError) as error:
        raise error if isinstance(error, DataError) else DataError(file, str(error)) from error
    tasks: dict[str, WrittenTask] = {}
    for number, row in enumerate(rows, 1):
        name = str(row.get('id', number)) if isinstance(row, dict) else str(number)
        try:
            task = _read_task({'id': '', 'request': '', **_checked(row, _TASK, 'a task')})
            if task.id in tasks:
                raise ValueError('two tasks have this id')
            tasks[task.id] = task
        except ValueError as error:
            raise DataError(file, str(error), f'task {name[:80]}') from error
    return replace(found, tasks=tuple(tasks.values()))


def _check_head(file: TaskFile) -> None:
    if sum(map(bool, (file.server, file.url, file.module))) != 1:
        raise ValueError('it names one of server, url and module')
    if file.url and (file.fixture or not file.url.startswith(('http://', 'https://'))):
        raise ValueError('url is http://... or https://..., and has no fixture: the server runs already')
    if len(file.server) > _MAX_COMMAND:
        raise ValueError(f'server has more than {_MAX_COMMAND:,} characters')
    try:
        shlex.split(file.server)
    except ValueError as error:
        raise ValueError(f'server cannot be parsed ({error}): {file.server[:200]}') from error
    folder = file.path.resolve().parent
    for name, path in (('fixture', file.fixture), ('module', file.module)):
        if path and (Path(path).is_absolute() or not (folder / path).resolve().is_relative_to(folder)):
            raise ValueError(f'{name}: {path[:200]} is not a path in the folder of the file')
        if path and not (folder / path).exists():
            raise ValueError(f'{name}: there is no {path[:200]}')
    _checked(file.env, dict.fromkeys(file.env, str), 'env')


def check_scripts(file: TaskFile) -> None:
    """Checks that the script of the server exists, and that Python can parse the module. Executes nothing.

    Raises:
        DataError: The script is missing, or the module has a syntax error.
    """
    folder, words = file.path.resolve().parent, shlex.split(file.server)
    runs_script = bool(words) and Path(words[0]).name.startswith(_RUNS_SCRIPTS)
    scripts = [word for word in words[1:2] if runs_script and word.endswith(_SCRIPTS) and PLACEHOLDER not in word]
    if lacking := [word for word in scripts if not _is_there(word, folder, file)]:
        raise DataError(file.path, f'server: there is no {lacking[0]} in {folder}')
    if file.module:
        try:
            ast.parse(read_plain(folder / file.module, _MAX_BYTES))
        except (SyntaxError, ValueError) as error:
            raise DataError(folder / file.module, f'line {getattr(error, "lineno", 1)}: {error}') from error


def _is_there(word: str, folder: Path, file: TaskFile) -> bool:
    """Tests if a script exists, in the folder of the file or in the fixture, where the server starts."""
    return (folder / word).exists() or bool(file.fixture_path and (file.fixture_path / word).exists())


def _read_task(values: dict[str, Any]) -> WrittenTask:
    name, request, asks = values['id'], values['request'].strip(), values.get('asks') or 'false'
    if not _ID.fullmatch(name):
        raise ValueError('its id is not made of letters, digits, ., - and _')
    if not request or len(request) > _MAX_REQUEST:
        raise ValueError(f'its request is empty, or has more than {_MAX_REQUEST:,} characters')
    if asks not in ('true', 'false'):
        raise ValueError(f'asks: {asks[:40]} is neither true nor false')
    form, results = _read_result(result) if (result := values.pop('result', {})) else ('', ())
    effects = tuple(_checked(effect, KINDS, 'an effect') for effect in values.get('effects', ()))
    written = [values.pop('solution')] if 'solution' in values else []
    written += values.pop('solutions', [])
    if not all(isinstance(calls, list) for calls in written):
        raise ValueError('solutions of a task is not a list of solutions, each a list of calls')
    if effects and values.get('free'):
        raise ValueError('free is for a task that its solution decides, and this one has effects')
    solutions = tuple(tuple(map(_read_call, calls)) for calls in written)
    read = {'request': request, 'asks': asks == 'true', 'effects': effects, 'solutions': solutions}
    return WrittenTask(**{**values, **read}, form=form, results=results)


def _read_result(raw: Any) -> tuple[str, tuple[str, ...]]:
    result = _checked(raw, _RESULT, 'a result')
    form, value = result.get('type', ''), result.get('value', '')
    if form not in FORMS or form == NONE:
        raise ValueError(f'its result has the type {form[:40]!r}; there are {", ".join(FORMS[:-1])}')
    is_choice = isinstance(value, list) and form in (NUMBER, TEXT, DATE)
    values = result.get('any_of', value if is_choice else [value])
    texts = tuple(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in values)
    if unread := [text for text in texts or [''] if not text.strip() or read_result(form, text) is None]:
        raise ValueError(f'its result {unread[0][:80]!r} cannot be read as {form}')
    if form == PAIRS and any(isinstance(one, list) for one in values):
        raise ValueError('pairs are written as an object, or as a text')
    return form, texts


def _read_call(raw: Any) -> tuple[str, Any]:
    call = {raw: ''} if isinstance(raw, str) else raw
    if not isinstance(call, dict) or len(call) != 1:
        raise ValueError('a call of its solution is a tool with its arguments: "- TOOL: {NAME: VALUE}"')
    ((name, written),) = call.items()
    arguments = load_json(written, bounded=True) if written and isinstance(written, str) else written or {}
    if not isinstance(arguments, dict):
        raise ValueError(f'the arguments of {name[:80]} are not an object')
    return name, json.dumps(arguments) if isinstance(written, str) and written else arguments


def _checked(raw: Any, kinds: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Checks the keys and types of an object, and returns it.

    An empty text stands for an empty value of any type; the type ``tuple`` is a list of names.

    Raises:
        ValueError: A key is unknown, or a value has a wrong type.
    """
    if not isinstance(raw, dict):
        raise ValueError(f'{what} is not an object with {first_of(list(kinds))}')
    if unknown := [key for key in raw if key not in kinds]:
        raise ValueError(f'{what} has no {unknown[0][:80]!r}; there are {", ".join(kinds)}')
    found: dict[str, Any] = {}
    for name, value in raw.items():
        kind = kinds[name]
        found[name] = given = kind() if value == '' and not isinstance('', kind) else value
        if kind is tuple and isinstance(given, list) and all(isinstance(one, str) for one in given):
            found[name] = given = tuple(given)
        if not isinstance(given, kind):
            words = ' or '.join(_WORDS[one] for one in get_args(kind) or (kind,))
            raise ValueError(f'{name[:80]} of {what} is not {words}')
    return found
