"""Made tasks -> UltraTool's annotated samples, and the six tasks that its builder makes of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.build import CREATION_TOOLS, TASKS, TOOLSET_SIZE, build_rows
from opencompass_tooleval.benchmarks.ultratool.build_read import properties, read_samples
from opencompass_tooleval.benchmarks.ultratool.calls import CallError, parse_call
from opencompass_tooleval.benchmarks.ultratool.subsets import LANGUAGES
from opencompass_tooleval.making.gold_path import PathCall, gold_path, has_one_path
from opencompass_tooleval.making.made_task import MadeTask
from opencompass_tooleval.making.tool_formats import ultratool_tools
from opencompass_tooleval.work_dir.whole_file import write_whole

FOLDER = 'ultratool'
SAMPLES_FILE = 'test.json'
TASK_FOLDER = 'test_set'

Row = dict[str, Any]


def write_ultratool(made: Sequence[MadeTask], folder: Path, name: str, seed: int = 0) -> dict[str, int]:
    """Writes ``ultratool/LANGUAGE-dataset/test.json`` and its ``test_set``, in place of those of an earlier call.

    Toolsets have 8 tools as published, or fewer where the set does not have enough tools to choose from; all files of
    a language are built with the same size.

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
            place = folder / FOLDER / language['folder']
            counts[f'{language["folder"]}/{SAMPLES_FILE}'] = _write(place / SAMPLES_FILE, rows)
            for task, built in _built(place / SAMPLES_FILE, seed).items():
                counts[f'{language["folder"]}/{TASK_FOLDER}/{task}.json'] = _write(
                    place / TASK_FOLDER / f'{task}.json', built
                )
    return counts


def sample_row(made: MadeTask, name: str) -> Row | None:
    """Makes an annotated sample; None of a task that cannot be one (see :func:`write_ultratool`)."""
    if not has_one_path(made):
        return None
    path = gold_path(made)
    tools = {str(tool['name']): tool for tool in ultratool_tools(made.task)}
    annotations = [_annotation(call, tools[call.name]) for call in path if call.name in tools]
    if len(annotations) < len(path) or not all(call.purpose for call in path) or not all(annotations):
        return None
    steps = [
        {'step': f'{number}. {" ".join(call.purpose.split())}', 'tool': annotation}
        for number, (call, annotation) in enumerate(zip(path, annotations, strict=True), 1)
    ]
    domain = path[0].name.rpartition('.')[0] or name
    return {'question': made.task.query, 'plan': steps, 'tools': list(tools.values()), 'domain': domain}


def _annotation(call: PathCall, tool: Mapping[str, Any]) -> str:
    """``name(arg='value', ...)``; ``''`` where it would be read as other values."""
    values = {name: _value(value) for name, value in call.arguments.items()}
    passed = ', '.join(
        f"{name}='{values[name]}'" if isinstance(value, str) else f'{name}={values[name]}'
        for name, value in call.arguments.items()
    )
    annotation = f'{call.name}({passed})'
    try:
        read = parse_call(annotation, properties(tool))
    except CallError:
        return ''
    is_same = read.tool == call.name and {one.name: one.value for one in read.arguments} == values
    return annotation if is_same else ''


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _built(samples_file: Path, seed: int) -> dict[str, list[Row]]:
    """The rows of the tasks with the largest toolsets that the tools allow; tasks without rows are left out."""
    samples = read_samples(samples_file)
    for size in range(TOOLSET_SIZE, CREATION_TOOLS - 1, -1):
        try:
            built = {task: build_rows(task, samples, toolset_size=size, seed=seed) for task in TASKS}
        except ValueError:
            continue
        return {task: rows for task, rows in built.items() if rows}
    return {}


def _write(file: Path, rows: Iterable[Row]) -> int:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, ''.join(f'{line}\n' for line in lines))
    return len(lines)
