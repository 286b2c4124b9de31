"""``tooleval score restbench``: recorded answers to numbers, without OpenCompass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from opencompass_tooleval.cli.output import STDOUT, check_outputs, counts_line, print_metrics, write_outputs
from opencompass_tooleval.cli.restbench_files import DATA_PATH
from opencompass_tooleval.cli.right_subset import check_name, warn_if_unread
from opencompass_tooleval.core.aggregate import aggregate
from opencompass_tooleval.easytool.restbench import VERSION
from opencompass_tooleval.easytool.restbench.errata import count_kinds
from opencompass_tooleval.easytool.restbench.logs import logged_paths, read_log
from opencompass_tooleval.easytool.restbench.records import CURE, TABLE, find_subset, load_records
from opencompass_tooleval.easytool.restbench.scoring import breakdown, score_answers
from opencompass_tooleval.easytool.restbench.tools import generate_command, open_toolbox
from opencompass_tooleval.host.data_path import resolve_data_path
from opencompass_tooleval.sweep.recorded import load_recorded


@dataclass(frozen=True)
class RestBenchRequest:
    """What ``tooleval score restbench`` was asked; the fields are its options.

    Attributes:
        subset: ``tmdb`` or ``spotify``.
        data: The records; None for the published file where OpenCompass looks for data.
        specs: The service's OpenAPI document; None likewise.
        predictions: Recorded answers, or a log of EasyTool's own script.
        gold: ``official`` or ``repaired``.
        method: ``names``, or ``easytool``: the answers choose tools by number.
        instructions: For ``easytool``: where the numbers are; None likewise.
        json_out: File for the result, or ``-``.
        details: File for one JSON line per sample.
    """

    subset: str
    data: Path | None
    specs: Path | None
    predictions: Path
    gold: str = 'official'
    method: str = 'names'
    instructions: Path | None = None
    json_out: str | None = None
    details: Path | None = None


def _print(result: dict[str, Any], expected: int) -> None:
    console = Console()
    shown = f'RestBench {result["subset"]}, {result["gold"]} gold, {result["samples"]} samples'
    print_metrics(shown, result, console)
    for name in ('reasons', 'rungs', 'errata'):
        console.print(counts_line(name, result[name]), markup=False)
    console.print(f'exact paths: {result["exact_paths"]} of {result["samples"]}', markup=False)
    if result['samples'] != expected:
        console.print(f'NOTE {result["samples"]} samples of {expected}: not comparable with the paper', markup=False)


def score_restbench(request: RestBenchRequest) -> None:
    """Scores recorded answers and prints or writes what was asked for.

    Raises:
        DataError: A file is missing, damaged, or does not belong to the others.
        ValueError: No such subset or gold.
    """
    check_outputs(request.json_out, request.details)
    subset = find_subset(request.subset)
    specs = request.specs or resolve_data_path(f'{DATA_PATH}/{subset.document}', CURE)
    data = request.data or resolve_data_path(f'{DATA_PATH}/{subset.file}', CURE)
    log = read_log(request.predictions)
    method = 'names' if log else request.method  # a log has names, whatever was asked
    instructions = request.instructions
    if method == 'easytool' and instructions is None:
        instructions = resolve_data_path(subset.instructions, generate_command(specs, subset.instructions))
    tools = open_toolbox(specs, instructions, method)
    records, errata = load_records(data, subset.name, tools.inventory, request.gold, tools.ids)
    answers: Sequence[Any]
    if log:
        answers = logged_paths(request.predictions, log, records)
    else:
        recorded = load_recorded(request.predictions)
        recorded.check_complete([record.id for record in records])
        check_name(request.predictions, subset.name, [row.name for row in TABLE], recorded=recorded)
        answers = [recorded.answer(record.id, position) for position, record in enumerate(records)]
    scores = score_answers(records, answers)
    warn_if_unread(scores, request.predictions, subset.name)
    total = aggregate(scores, subset.metrics)
    result = {
        'benchmark': 'restbench',
        'subset': subset.name,
        'gold': request.gold,
        'method': 'easytool' if log else method,
        'version': VERSION,
        'samples': total.samples,
        'metrics': total.metrics,
        'standard_errors': total.standard_errors,
        'reasons': total.reasons,
        'errata': count_kinds(errata),
        **breakdown(scores),
    }
    write_outputs(result, scores, request.json_out, request.details)
    if request.json_out != STDOUT:
        _print(result, subset.records)
