"""The folder of a made set: what it was made from, what answers its calls, and its tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.making import VERSION
from opencompass_tooleval.extras.making.made_task import TASKS_FILE, MadeTask, read_lines, read_tasks
from opencompass_tooleval.extras.mcp_servers.fixture import folder_state
from opencompass_tooleval.plugin import LOOPS
from opencompass_tooleval.work_dir.data_files import read_json
from opencompass_tooleval.work_dir.trust import Trustee, uses
from opencompass_tooleval.work_dir.whole_file import write_json, write_lines

SET_FILE = 'set.json'
FIXTURE_FOLDER = 'fixture'
BANK_FILE = 'responses.bank'
DROPPED_FILE = 'dropped.jsonl'

_HEAD: Mapping[str, Any] = {'name': str, 'source': dict, 'environment': dict, 'models': dict, 'settings': dict}
"""Fields of ``set.json`` -> their types."""

_NAME = re.compile(r'[A-Za-z][A-Za-z0-9_]{0,39}')
_MAX_COMMAND = 4_000
"""Maximum characters of a server's command: a person has to read it before trusting it."""


@dataclass(frozen=True)
class Dropped:
    """A draft that became no task.

    Attributes:
        id: Its id.
        stage: ``draft``, ``query``, ``duplicate``, ``solution``, ``agreement``, ``execution``, ``quota`` or ``review``.
        reason: As ``area:code``.
        detail: What was found, such as the query or the differing effects.
    """

    id: str
    stage: str
    reason: str
    detail: str = ''


@dataclass(frozen=True)
class MadeSet:
    """A made set.

    Attributes:
        folder: Where it is.
        name: Name of the set: letters, digits and underscores; configs and abbrs use it.
        source: Of the tools: ``kind``, ``input`` and ``digest`` of their documentation.
        environment: What answers the calls, as keyword arguments of
            :class:`~opencompass_tooleval.agents.adapter.AgentDialogues`; paths are relative to ``folder``.
        models: Role -> name of a model that made it.
        settings: Everything else that the set depends on: seed, quotas, thresholds.
        tasks: The tasks.
        dropped: The drafts that became none.
        version: :data:`~opencompass_tooleval.extras.making.VERSION` that it was made with.
        scripted: Agent without a model -> ids of the tasks whose goal it reaches; empty in sets of version 1.
    """

    folder: Path
    name: str
    source: Mapping[str, Any]
    environment: Mapping[str, Any]
    models: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[MadeTask, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    version: int = VERSION
    scripted: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def trustee(self) -> Trustee:
        """Names the programs that the set starts, and for the calls that it has them carry out.

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
        """True if something has to be started to answer the calls: a server, or a model that simulates it."""
        return bool(self.environment.get('live') or self.environment.get('simulator'))

    def trusted_environment(self) -> dict[str, Any]:
        """Returns ``environment`` with absolute paths, to start it or to write it into a config.

        Raises:
            UntrustedError: It starts a program or asks a model, and is neither of this user nor trusted.
        """
        if self.starts_programs:
            self.trustee.check()
        return self.environment_here

    @property
    def environment_here(self) -> dict[str, Any]:
        """``environment`` with absolute paths. Whoever starts it takes :meth:`trusted_environment`."""
        here = dict(self.environment)
        if here.get('bank'):
            here['bank'] = str((self.folder / here['bank']).resolve())
        live = here.get('live')
        if live and live.get('fixture'):
            here['live'] = {**live, 'fixture': str((self.folder / live['fixture']).resolve())}
        return here

    def write(self) -> None:
        """Writes ``set.json``, ``tasks.jsonl`` and ``dropped.jsonl``, and notes that this user made the set."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # First: a task that a person dropped is in one of the two files, also after a kill between them.
        self.write_dropped()
        write_lines(self.folder / TASKS_FILE, (task.to_row() for task in self.tasks))
        head = {'tooleval_made_set': self.version, **{name: kind(getattr(self, name)) for name, kind in _HEAD.items()}}
        head['scripted'] = {agent: list(solved) for agent, solved in self.scripted.items()}
        write_json(self.folder / SET_FILE, head)
        if self.starts_programs:
            self.trustee.trust()

    def write_dropped(self) -> None:
        """Writes ``dropped.jsonl`` alone, as where no task was made."""
        write_lines(self.folder / DROPPED_FILE, map(asdict, self.dropped))


def load_set(folder: Path) -> MadeSet:
    """Reads a made set.

    Raises:
        DataError: A file is missing or damaged.
    """
    head = read_json(folder / SET_FILE)
    dropped = folder / DROPPED_FILE
    try:
        made = MadeSet(
            folder,
            **{name: kind(head[name]) for name, kind in _HEAD.items()},
            version=int(head['tooleval_made_set']),
            scripted=dict(head.get('scripted') or {}),
        )
        _check_head(made)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DataError(folder / SET_FILE, f'it is no made set ({type(error).__name__}: {error})') from error
    return replace(
        made,
        tasks=tuple(read_tasks(folder / TASKS_FILE)),
        dropped=tuple(read_lines(dropped, lambda row: Dropped(**row)) if dropped.is_file() else ()),
    )


def _check_head(made: MadeSet) -> None:
    """Checks what stands in ``set.json``: a set may come from anybody.

    Raises:
        ValueError: A value is of another type, or a path leads out of the folder.
    """
    if not _NAME.fullmatch(made.name):
        raise ValueError(f'{made.name[:50]!r} is no name of a set: letters, digits and underscores')
    environment = made.environment
    if environment.get('loop') not in LOOPS:
        raise ValueError(f'there is no loop {str(environment.get("loop"))[:50]!r}')
    if made.version > VERSION:
        raise ValueError(f'its version is {made.version}, and this package reads up to {VERSION}: update the package')
    if not all(isinstance(solved, list) for solved in made.scripted.values()) or not all(
        isinstance(task, str) for solved in made.scripted.values() for task in solved
    ):
        raise ValueError('the tasks that a scripted agent solves are no list')
    if not all(isinstance(model, str) for model in made.models.values()):
        raise ValueError('the name of a model is no text')
    left_out = made.settings.get('left_out_tools') or {}
    if not isinstance(left_out, dict) or not all(isinstance(reason, str) for reason in left_out.values()):
        raise ValueError('the tools that it leaves out are no object of texts')
    live = environment.get('live') or {}
    if not isinstance(live, dict) or not isinstance(environment.get('simulator') or {}, dict):
        raise ValueError('its server or simulator is no object')
    for path in (environment.get('bank'), live.get('fixture')):
        if path and not (isinstance(path, str) and _is_inside(made.folder, path)):
            raise ValueError(f'{str(path)[:100]!r} is no path in the folder of the set')
    if live:
        _check_live(live)


def _check_live(live: Mapping[str, Any]) -> None:
    server, env = live.get('server'), live.get('env') or {}
    if not isinstance(server, str) or len(server) > _MAX_COMMAND:
        raise ValueError(f'its server is no text of at most {_MAX_COMMAND} characters')
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise ValueError('the variables of its server are no texts')
    for name in ('allow', 'leave_out', 'probes'):
        kind = dict if name == 'probes' else str
        rows = live.get(name) or []
        if not isinstance(rows, list) or not all(isinstance(row, kind) for row in rows):
            raise ValueError(f'{name} of its server is no list')


def _is_inside(folder: Path, path: str) -> bool:
    """Tests if a relative path stays in a folder, links included."""
    if '\0' in path or Path(path).is_absolute():
        return False
    return (folder / path).resolve().is_relative_to(folder.resolve())


def check_set_name(name: str) -> str:
    """Returns the name of a set.

    Raises:
        ValueError: It is none.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f'{name!r} is no name of a set: letters, digits and underscores; give another --out or --name')
    return name


def check_no_set(folder: Path) -> None:
    """Checks that there is no set in a folder.

    Raises:
        DataError: There is one.
    """
    if (folder / SET_FILE).exists():
        raise DataError(folder, 'there is a finished set already', fix='another --out, or remove the folder')
