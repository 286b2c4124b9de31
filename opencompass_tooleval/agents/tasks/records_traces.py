"""Reads and writes tasks of recorded conversations: JSON lines of ``id``, ``query``, ``system`` and ``tools``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.tasks.errata import Erratum
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.other_formats import tool_schemas
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import read_text

_TEXTS = ('id', 'query', 'system')


def read_traces_tasks(file: Path, subset: str, errata: list[Erratum]) -> list[Task]:
    """Reads a file that ``tooleval import traces`` wrote, or one of the same format.

    Args:
        file: JSON lines; ``tools`` are functions in OpenAI's format.
        subset: Name of the subset.
        errata: Stays as it is.

    Raises:
        DataError: It is missing or damaged; names the line.
    """
    tasks: dict[str, Task] = {}
    for number, line in enumerate(read_text(file).split('\n'), start=1):
        if not line.strip():
            continue
        try:
            task = _task(load_json(line, bounded=True), subset)
        except ValueError as error:
            raise DataError(file, str(error), f'line {number}') from error
        if task.id in tasks:
            raise DataError(file, 'two tasks have one id', task.id)
        tasks[task.id] = task
    if not tasks:
        raise DataError(file, 'the file has no task', fix='tooleval import traces FILE --out DIR')
    return list(tasks.values())


def _task(row: Any, subset: str) -> Task:
    texts = [row.get(name, '') for name in _TEXTS] if isinstance(row, dict) else []
    if not texts or not all(isinstance(text, str) for text in texts) or not all(texts[:2]):
        raise ValueError("a task is an object with the texts 'id' and 'query', and optionally 'system'")
    tools = tool_schemas(row.get('tools', []))
    if tools is None:
        raise ValueError("'tools' of the task is no list of functions")
    name, query, system = texts
    return Task(name, subset, query, tools, system=system)


def task_rows(tasks: Iterable[Task]) -> Iterator[dict[str, Any]]:
    """Yields the lines of a file for :func:`read_traces_tasks`."""
    for task in tasks:
        tools = [
            {
                'type': 'function',
                'function': {'name': tool.name, 'description': tool.description, 'parameters': dict(tool.parameters)},
            }
            for tool in task.tools
        ]
        yield {'id': task.id, 'query': task.query, **({'system': task.system} if task.system else {}), 'tools': tools}
