"""Reads and writes ``FILE.gold.json``: the states that the solutions of a file of tasks leave."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import answer_digest
from opencompass_tooleval.extras.tasks import VERSION
from opencompass_tooleval.extras.tasks.gold import Gold
from opencompass_tooleval.extras.tasks.task_file import TaskFile, WrittenTask
from opencompass_tooleval.work_dir.data_files import read_plain
from opencompass_tooleval.work_dir.whole_file import write_whole

_MAX_BYTES = 1 << 27
_WORDS = {
    'version': 'this version compares states in another way',
    'command': 'the command of the server changed',
    'fixture': 'the fixture changed',
    'files': 'a file of its folder changed',
    'task': 'the request, the solution, free or ignore changed',
}
"""Something that a gold was made from -> the message if it is another one now."""


def made_from(file: TaskFile, task: WrittenTask) -> dict[str, Any]:
    """Returns what the gold of a task depends on, as digests.

    Raises:
        OSError: A file is missing, or cannot be read.
        ValueError: The fixture or the folder is too large.
    """
    digests = {name: answer_digest(file.started[name]) for name in ('command', 'fixture', 'files')}
    written = [task.request, task.solutions, task.free, file.ignore]
    return {'version': VERSION, **digests, 'task': answer_digest(json.dumps(written))}


@dataclass
class GoldFile:
    """The golds of a file of tasks.

    Attributes:
        file: The file of tasks.
        entries: Task -> its ``golds``, the ``day`` on which they were made, and what they were made ``from``.
    """

    file: TaskFile
    entries: dict[str, Any] = field(default_factory=dict)

    @property
    def fix(self) -> str:
        """The command that makes the golds."""
        return f'tooleval tasks check {shlex.quote(str(self.file.path))}'

    @property
    def fix_damaged(self) -> str:
        """The command that removes the golds, and makes them again."""
        return f'rm {shlex.quote(str(self.file.gold_path))} && {self.fix}'

    def golds(self, task: WrittenTask) -> tuple[Gold, ...]:
        """Returns the golds of a task, one for each solution.

        Raises:
            DataError: It has none, or they were made from something else.
        """
        if task.id not in self.entries:
            what = 'the state that its solution leaves is not known'
            raise DataError(self.file.gold_path, what, f'task {task.id}', fix=self.fix)
        entry, now = self.entries[task.id], made_from(self.file, task)
        changed = [words for name, words in _WORDS.items() if entry['from'].get(name) != now[name]]
        if changed:
            what = f'its gold is of {entry["day"]}, and {changed[0]} since'
            raise DataError(self.file.gold_path, what, f'task {task.id}', fix=self.fix)
        return tuple(entry['golds'])

    def is_current(self, task: WrittenTask) -> bool:
        """Tests if a task has golds, made from what there is now."""
        return task.id in self.entries and self.entries[task.id]['from'] == made_from(self.file, task)

    def add(self, task: WrittenTask, golds: Sequence[Gold], now: datetime) -> None:
        """Sets the golds of a task."""
        day = now.date().isoformat()
        self.entries[task.id] = {'day': day, 'from': made_from(self.file, task), 'golds': list(golds)}

    def write(self) -> None:
        """Writes the file, without tasks that the file of tasks no longer has, and trusts it; not if nothing changed.

        Raises:
            OSError: The file cannot be written.
            ValueError: The golds are too large.
        """
        kept = {task.id: self.entries[task.id] for task in self.file.tasks if task.id in self.entries}
        text = json.dumps({'tasks': kept}, ensure_ascii=False, indent=1) + '\n'
        if len(text) > _MAX_BYTES:
            raise ValueError(f'{self.file.gold_path}: the golds are larger than {_MAX_BYTES >> 20} MB')
        if (kept or self.file.gold_path.exists()) and kept != read_golds(self.file).entries:
            write_whole(self.file.gold_path, text)
            self.file.trustee.trust()


def read_golds(file: TaskFile) -> GoldFile:
    """Reads the golds of a file of tasks; there are none if the file of golds is missing.

    Raises:
        DataError: The file is damaged.
    """
    found = GoldFile(file)
    if not file.gold_path.exists():
        return found
    try:
        raw = load_json(read_plain(file.gold_path, _MAX_BYTES).decode('utf-8'), bounded=True)
        for name, entry in raw['tasks'].items():
            is_right = isinstance(entry['day'], str) and isinstance(entry['from'], dict) and entry['golds']
            if not is_right or not all(map(_is_gold, entry['golds'])):
                raise ValueError(f'the gold of {name} is damaged')
            found.entries[name] = entry
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f'it cannot be read ({type(error).__name__}: {error})'
        raise DataError(file.gold_path, what, fix=found.fix_damaged) from error
    return found


def _is_gold(gold: Any) -> bool:
    return isinstance(gold, dict) and all(map(_is_part, gold.values()))


def _is_part(part: Any) -> bool:
    if not isinstance(part, dict) or not isinstance(part.get('at', []), list):
        return False
    free, added = part.get('free', {}), part.get('added', [])
    is_listed = isinstance(free, list) and len(free) == len(added) and all(isinstance(one, dict) for one in free)
    has_items = isinstance(part.get('removed'), list) and 'added' in part
    return isinstance(added, list) and (is_listed or isinstance(free, dict | str)) and has_items == ('removed' in part)
