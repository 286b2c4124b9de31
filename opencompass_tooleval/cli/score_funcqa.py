"""``tooleval score funcqa``: stored trajectories to numbers, without OpenCompass."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from opencompass_tooleval.cli.output import STDOUT, check_outputs, counts_line, print_metrics, write_outputs
from opencompass_tooleval.cli.right_subset import check_name, warn_if_unread
from opencompass_tooleval.core.aggregate import aggregate
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.easytool.funcqa import VERSION
from opencompass_tooleval.easytool.funcqa.records import TABLE, find_subset, load_records
from opencompass_tooleval.easytool.funcqa.scoring import breakdown, score_predictions
from opencompass_tooleval.host.recorded import load_recorded


@dataclass(frozen=True)
class FuncQARequest:
    """What ``tooleval score funcqa`` was asked; the fields are its options.

    Attributes:
        subset: ``one_hop`` or ``multi_hop``.
        data: The records.
        predictions: The trajectories: a predictions file, or any other recorded answers that hold their JSON.
        gold: ``official`` or ``repaired``.
        json_out: File for the result, or ``-``.
        details: File for one JSON line per question.
    """

    subset: str
    data: Path
    predictions: Path
    gold: str = 'official'
    json_out: str | None = None
    details: Path | None = None


def _print(result: dict[str, Any], expected: int) -> None:
    console = Console()
    methods = ', '.join(result['methods'])
    title = f'FuncQA {result["subset"]}, {methods}, {result["gold"]} gold, {result["samples"]} questions'
    print_metrics(title, result, console)
    for name in ('reasons', 'tool_calls', 'tool_errors', 'tools'):
        console.print(counts_line(name, result[name]), markup=False)
    if result['samples'] != expected:
        console.print(f'NOTE {result["samples"]} questions of {expected}: not comparable with the paper', markup=False)


def score_funcqa(request: FuncQARequest) -> None:
    """Scores trajectories and prints or writes what was asked for.

    Raises:
        DataError: A file is missing or damaged, they do not belong together, or a prediction is no trajectory.
        ValueError: No such subset or gold.
    """
    check_outputs(request.json_out, request.details)
    subset = find_subset(request.subset)
    records = load_records(request.data, subset.name, request.gold)
    recorded = load_recorded(request.predictions)
    recorded.check_complete([record.id for record in records])
    check_name(request.predictions, subset.name, [row.name for row in TABLE], recorded=recorded)
    answers = [recorded.answer(record.id, position) for position, record in enumerate(records)]
    try:
        scores = score_predictions(records, answers)
    except ValueError as error:
        raise DataError(request.predictions, str(error)) from error
    warn_if_unread(scores, request.predictions, subset.name)
    total = aggregate(scores, subset.metrics)
    result = {
        'benchmark': 'funcqa',
        'subset': subset.name,
        'gold': request.gold,
        'version': VERSION,
        'samples': total.samples,
        'metrics': total.metrics,
        'standard_errors': total.standard_errors,
        'reasons': total.reasons,
        **breakdown(scores),
    }
    write_outputs(result, scores, request.json_out, request.details)
    if request.json_out != STDOUT:
        _print(result, subset.count)
