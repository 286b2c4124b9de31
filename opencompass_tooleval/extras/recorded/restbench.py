"""Reads recorded answers to RestBench, and logs of EasyTool's script, for ``tooleval score``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from opencompass_tooleval.benchmarks.restbench.data import (
    DATA_PATH,
    FIX,
    KINDS,
    TABLE,
    find_subset,
    load_records,
    offered_tools,
    open_toolbox,
)
from opencompass_tooleval.benchmarks.restbench.scoring import RestBenchCallsScorer, RestBenchScorer
from opencompass_tooleval.catalogue.benchmark import RecordedRun, count_kinds
from opencompass_tooleval.data_path import candidate_paths, resolve_data_path
from opencompass_tooleval.extras.recorded.restbench_logs import logged_paths, read_log
from opencompass_tooleval.extras.recorded.right_subset import load_answers
from opencompass_tooleval.work_dir.data_files import command_to_generate


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
