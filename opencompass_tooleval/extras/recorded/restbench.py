"""Reads recorded answers to RestBench, and logs of EasyTool's script, for ``tooleval score``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from opencompass_tooleval.benchmarks.restbench.data import (
    DATA_PATH,
    FIX,
    KINDS,
    TABLE,
    Record,
    find_subset,
    load_records,
    offered_tools,
    open_toolbox,
)
from opencompass_tooleval.benchmarks.restbench.reading import MAX_STEPS
from opencompass_tooleval.benchmarks.restbench.scoring import RestBenchCallsScorer, RestBenchScorer
from opencompass_tooleval.catalogue.benchmark import RecordedRun, count_kinds
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.data_path import candidate_paths, resolve_data_path
from opencompass_tooleval.extras.recorded.right_subset import load_answers
from opencompass_tooleval.work_dir.data_files import command_to_generate, read_json

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


def read(
    subset: str,
    predictions: Path,
    *,
    data: Annotated[Path | None, "RestBench's data file; default: where OpenCompass looks for data."] = None,
    specs: Annotated[Path | None, "The service's OpenAPI document; default: as for the data."] = None,
    gold: Annotated[Literal['official', 'repaired'], 'As published, or with its errata fixed.'] = 'official',
    method: Annotated[
        Literal['names', 'easytool', 'function_calling'],
        "How answers name tools; easytool: by the number in EasyTool's own prompt; function_calling: in native calls.",
    ] = 'names',
    instructions: Annotated[Path | None, 'For easytool: the instructions; default: as for the data.'] = None,
) -> RecordedRun:
    """Reads recorded answers, or a log, which contains tool names for every method.

    Raises:
        DataError: A file is missing, damaged, or does not belong to the others.
        ValueError: The subset does not exist.
    """
    row = find_subset(subset)
    specs = specs or resolve_data_path(f'{DATA_PATH}/{row.document}', FIX)
    data = data or resolve_data_path(f'{DATA_PATH}/{row.file}', FIX)
    log = read_log(predictions)
    read_by = 'names' if log else method
    if read_by == 'easytool' and instructions is None:
        instructions = resolve_data_path(
            row.instructions, command_to_generate('openapi', specs, candidate_paths(row.instructions)[0])
        )
    tools = open_toolbox(specs, instructions, read_by)
    records, errata = load_records(data, subset, tools.inventory, gold, tools.ids)
    scorer = RestBenchScorer(subset)
    if read_by == 'function_calling':
        scorer = RestBenchCallsScorer(subset)
        scorer.tools = offered_tools(tools.functions).tools
    answers: Mapping[str, Any]
    if log:
        answers = logged_paths(predictions, log, records)
    else:
        answers = load_answers(predictions, subset, [row.name for row in TABLE], [record.id for record in records])
    return RecordedRun(
        scorer,
        records,
        answers,
        '{subset}, {gold} gold',
        ('gold', 'method', 'version'),
        {'method': 'easytool' if log else read_by, 'errata': count_kinds(errata, KINDS)},
        ('parse_methods', 'errata'),
        lambda breakdown: [f'exact paths: {breakdown["exact_paths"]} of {len(records)}'],
        expected=row.records,
    )
