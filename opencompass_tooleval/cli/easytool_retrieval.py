"""``tooleval easytool retrieval``: how well tools are found by documentation and by instructions, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from opencompass_tooleval.cli.output import STDOUT, check_outputs, write_outputs
from opencompass_tooleval.core.aggregate import aggregate
from opencompass_tooleval.core.intervals import Pairs, intervals_of
from opencompass_tooleval.easytool.toolbench import VERSION, texts
from opencompass_tooleval.easytool.toolbench.records import load_data
from opencompass_tooleval.easytool.toolbench.retrieval import (
    DOCUMENTATION,
    INSTRUCTIONS,
    METRICS,
    RetrievalScore,
    documented_corpus,
    instructed_corpus,
    retrieve,
)
from opencompass_tooleval.embedding.cache import default_cache
from opencompass_tooleval.embedding.encoder import shared_encoder
from opencompass_tooleval.embedding.locate import choose_encoder, locate_encoder


@dataclass(frozen=True)
class RetrievalRequest:
    """What ``tooleval easytool retrieval`` was asked; the fields are its options.

    Attributes:
        subset: ``G1``, ``G2`` or ``G3``.
        data: Its test file.
        instructions: Instructions of its tools; None searches the documentation only.
        unit: ``api`` or ``tool``.
        fields: ``description`` or ``full``.
        encoder: As T-Eval takes it.
        json_out: File for the result, or ``-``.
        details: File for one JSON line per request and corpus.
    """

    subset: str
    data: Path
    instructions: Path | None = None
    unit: str = 'api'
    fields: str = 'description'
    encoder: str | None = None
    json_out: str | None = None
    details: Path | None = None


def _differences(
    subset: str, before: Sequence[RetrievalScore], after: Sequence[RetrievalScore]
) -> dict[str, dict[str, float]]:
    """Metric -> what instructions gain, in points, and where that lies (95%)."""
    ids, weights = tuple(score.id for score in before), (1.0,) * len(before)
    pairs = {}
    for metric in METRICS:
        points = [tuple(100 * float(score.values[metric] or 0) for score in side) for side in (before, after)]
        pairs[f'toolbench-{subset}', metric] = Pairs(ids, points[0], points[1], weights, weights)
    return {metric: asdict(interval) for (_, metric), interval in intervals_of(pairs).items()}


def _print(result: dict[str, Any]) -> None:
    console = Console()
    table = Table(title=f'ToolBench {result["subset"]}: NDCG over {result["documents"]} documents ({result["unit"]})')
    table.add_column('metric')
    for column in (DOCUMENTATION, INSTRUCTIONS, 'delta', '95% interval'):
        table.add_column(column, justify='right')
    for metric in METRICS:
        shown = [f'{result[side]["metrics"][metric]:.2f}' for side in (DOCUMENTATION, INSTRUCTIONS) if side in result]
        if 'difference' in result:
            said = result['difference'][metric]
            shown += [f'{said["delta"]:+.2f}', f'{said["low"]:+.2f} to {said["high"]:+.2f}']
        table.add_row(metric, *shown)
    console.print(table)
    said = f"encoder {result['encoder']}; whole requests, among this file's tools: not comparable with Table 5"
    console.print(f'NOTE {said}', markup=False, soft_wrap=True)


def easytool_retrieval(request: RetrievalRequest) -> None:
    """Searches with every request and prints or writes what was asked for.

    Raises:
        DataError: A file is missing or damaged, or tools have no instruction.
        EncoderMissingError: The encoder is not on this machine.
        ValueError: No such file, unit or fields.
        OSError: An output cannot be written.
    """
    check_outputs(request.json_out, request.details)
    files = locate_encoder(choose_encoder(request.encoder, 'EN'))
    data = load_data(request.data, request.subset)
    corpora = [documented_corpus(data.tools, request.unit, request.fields)]
    if request.instructions:
        known = texts.match_instructions(request.instructions, data.tools, texts.generate_cure(request.data))
        corpora.append(instructed_corpus(data.tools, known, request.unit, request.fields))
    similarity = shared_encoder(files, default_cache())
    scores = {corpus.of: retrieve(data.records, corpus, similarity) for corpus in corpora}
    totals = {of: aggregate(mine, METRICS) for of, mine in scores.items()}
    result: dict[str, Any] = {
        'benchmark': 'toolbench',
        'subset': request.subset,
        'unit': request.unit,
        'fields': request.fields,
        'encoder': files.name,
        'version': VERSION,
        'samples': len(data.records),
        'documents': len(corpora[0].keys),
        **texts.shown(request.data, request.instructions),
        **{
            of: {'metrics': total.metrics, 'standard_errors': total.standard_errors, 'reasons': total.reasons}
            for of, total in totals.items()
        },
    }
    if INSTRUCTIONS in scores:
        result['difference'] = _differences(request.subset, scores[DOCUMENTATION], scores[INSTRUCTIONS])
    write_outputs(result, [score for mine in scores.values() for score in mine], request.json_out, request.details)
    if request.json_out != STDOUT:
        _print(result)
