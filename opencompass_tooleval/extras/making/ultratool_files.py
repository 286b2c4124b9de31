"""Made tasks -> UltraTool's annotated samples, and the six tasks that its builder makes of them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.build import CREATION_TOOLS, TASKS, TOOLSET_SIZE, build_rows
from opencompass_tooleval.benchmarks.ultratool.build_read import properties, read_samples
from opencompass_tooleval.benchmarks.ultratool.calls import CallError, write_call
from opencompass_tooleval.benchmarks.ultratool.subsets import LANGUAGES
from opencompass_tooleval.extras.making.made_task import MadeTask, gold_path, has_one_path
from opencompass_tooleval.tool_docs.other_formats import ultratool_tool
from opencompass_tooleval.work_dir.whole_file import write_lines

FOLDER = 'ultratool'
SAMPLES_FILE = 'test.json'
TASK_FOLDER = 'test_set'

Row = dict[str, Any]


def write_ultratool(made: Sequence[MadeTask], folder: Path, name: str, seed: int = 0) -> dict[str, int]:
    """Writes ``ultratool/LANGUAGE-dataset/test.json`` and its ``test_set``, in place of those of an earlier call.

    Toolsets have 8 tools as published; fewer in all rows of a task where the set does not have enough tools to choose
    from. A task for which it does not have two has no file.

    Args:
        made: The tasks; only those with one possible path, a known reason for each call, and calls that UltraTool's
            annotation can hold.
        folder: That of the set.
        name: Name of the set: the domain of tools whose names have none.
        seed: Decides which distractors are drawn, and which tools are withheld.

    Returns:
        Name of each file below ``ultratool`` -> its rows.
    """
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    counts: dict[str, int] = {}
    for language in LANGUAGES:
        rows = [
            row
            for one in made
            if one.task.language.lower() == language['name'] and (row := sample_row(one, name)) is not None
        ]
        if rows:
            target = folder / FOLDER / language['folder']
            counts[f'{language["folder"]}/{SAMPLES_FILE}'] = _write(target / SAMPLES_FILE, rows)
            for task, built in _built(target / SAMPLES_FILE, seed).items():
                counts[f'{language["folder"]}/{TASK_FOLDER}/{task}.json'] = _write(
                    target / TASK_FOLDER / f'{task}.json', built
                )
    return counts


def sample_row(made: MadeTask, name: str) -> Row | None:
    """Makes an annotated sample; None of a task that cannot be one (see :func:`write_ultratool`)."""
    if not has_one_path(made):
        return None
    path = gold_path(made)
    tools = {tool.name: ultratool_tool(tool, made.task.documents.get(tool.name)) for tool in made.task.tools}
    steps = []
    for number, call in enumerate(path, 1):
        try:
            annotation = write_call(call.name, call.arguments, properties(tools[call.name]))
        except CallError:
            return None
        if not call.purpose:
            return None
        steps.append({'step': f'{number}. {" ".join(call.purpose.split())}', 'tool': annotation})
    domain = path[0].name.rpartition('.')[0] or name
    return {'question': made.task.query, 'plan': steps, 'tools': list(tools.values()), 'domain': domain}


def _built(samples_file: Path, seed: int) -> dict[str, list[Row]]:
    """The rows of each task, with the largest toolsets that the tools allow; tasks without rows are left out."""
    samples = read_samples(samples_file)
    built = {}
    for task in TASKS:
        for size in range(TOOLSET_SIZE, CREATION_TOOLS - 1, -1):
            try:
                built[task] = build_rows(task, samples, toolset_size=size, seed=seed)
                break
            except ValueError:  # too few tools that cannot do the steps
                continue
    return {task: rows for task, rows in built.items() if rows}


def _write(file: Path, rows: Sequence[Row]) -> int:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_lines(file, rows)
    return len(rows)
