"""``tooleval score restbench``: recorded answers to numbers, without OpenCompass."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from opencompass_tooleval.cli.output import STDOUT, check_outputs, counts_line, print_metrics, write_outputs
from opencompass_tooleval.core.aggregate import aggregate
from opencompass_tooleval.easytool.restbench import VERSION
from opencompass_tooleval.easytool.restbench.errata import count_kinds
from opencompass_tooleval.easytool.restbench.records import find_subset, load_records
from opencompass_tooleval.easytool.restbench.scoring import breakdown, score_answers
from opencompass_tooleval.easytool.restbench.tools import open_toolbox
from opencompass_tooleval.host.recorded import load_recorded


@dataclass(frozen=True)
class RestBenchRequest:
    """What ``tooleval score restbench`` was asked; the fields are its options.

    Attributes:
        subset: ``tmdb`` or ``spotify``.
        data: The records.
        specs: The service's OpenAPI document.
        predictions: Recorded answers.
        gold: ``official`` or ``repaired``.
        json_out: File for the result, or ``-``.
        details: File for one JSON line per sample.
    """

    subset: str
    data: Path
    specs: Path
    predictions: Path
    gold: str = 'official'
    json_out: str | None = None
    details: Path | None = None


def _print(result: dict[str, Any], expected: int) -> None:
    console = Console()
    shown = f'RestBench {result["subset"]}, {result["gold"]} gold, {result["samples"]} samples'
    print_metrics(shown, result, console)
    for name in ('reasons', 'rungs', 'errata'):
        console.print(counts_line(name, result[name]), markup=False)
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
    inventory = open_toolbox(request.specs).inventory
    records, errata = load_records(request.data, subset.name, inventory, request.gold)
    recorded = load_recorded(request.predictions)
    recorded.check_complete([record.id for record in records])
    answers = [recorded.answer(record.id, position) for position, record in enumerate(records)]
    scores = score_answers(records, answers)
    total = aggregate(scores, subset.metrics)
    result = {
        'benchmark': 'restbench',
        'subset': subset.name,
        'gold': request.gold,
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
