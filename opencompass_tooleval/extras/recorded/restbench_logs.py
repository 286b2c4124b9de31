"""Reads logs of EasyTool's script: JSON lines of ``{"ID", "question", "task_path", "tool_choice_ls"}``, one per
question.

``task_path`` is the model's answer, in some lines plain text without numbers. ``tool_choice_ls`` is the path that the
script parsed from it; this path is scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.restbench.data import Record
from opencompass_tooleval.benchmarks.restbench.reading import MAX_STEPS
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.work_dir.data_files import read_json

PATH_KEY, QUESTION_KEY = 'tool_choice_ls', 'question'


def is_log(rows: Any) -> bool:
    """Tests by its first line if the value of a file is such a log."""
    return isinstance(rows, list) and bool(rows) and isinstance(rows[0], dict) and PATH_KEY in rows[0]


def _path(file: Path, line: int, row: Any) -> tuple[str, list[str]]:
    question = row.get(QUESTION_KEY) if isinstance(row, dict) else None
    path = row.get(PATH_KEY) if isinstance(row, dict) else None
    if not isinstance(question, str):
        raise DataError(file, f'{QUESTION_KEY!r} is not a string', f'line {line}')
    if not isinstance(path, list) or not all(isinstance(step, str) for step in path):
        raise DataError(file, f'{PATH_KEY!r} is not a list of texts', f'line {line}')
    if len(path) > MAX_STEPS:
        raise DataError(file, f'{PATH_KEY!r} has more than {MAX_STEPS} steps', f'line {line}')
    return question, path


def logged_paths(file: Path, rows: Sequence[Any], records: Sequence[Record]) -> dict[str, list[str]]:
    """Returns record id -> logged path, in the order of the records; lines are matched to records by their question.

    Args:
        file: The log, for messages.
        rows: Its lines.
        records: The records, in the data's order.

    Raises:
        DataError: A line has another format, its question is not in the data or occurs twice, or a record has no line.
    """
    questions = {record.query for record in records}
    paths: dict[str, list[str]] = {}
    for line, row in enumerate(rows, start=1):
        question, path = _path(file, line, row)
        if question not in questions:
            raise DataError(file, 'its question is not in the data', f'line {line}')
        if question in paths:
            raise DataError(file, 'its question already has a line', f'line {line}')
        paths[question] = path
    missing = [record.id for record in records if record.query not in paths]
    if missing:
        raise DataError(file, f'no line has its question, nor those of {len(missing) - 1} more records', missing[0])
    return {record.id: paths[record.query] for record in records}


def read_log(file: Path) -> list[Any] | None:
    """Returns the lines of a log; None if the file is not a log or not JSON."""
    try:
        rows = read_json(file)
    except DataError:
        return None
    return rows if is_log(rows) else [rows] if is_log([rows]) else None
