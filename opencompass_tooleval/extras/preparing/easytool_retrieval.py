"""``tooleval easytool retrieval``: compares retrieval by documentation with retrieval by instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from opencompass_tooleval.benchmarks.toolbench import VERSION
from opencompass_tooleval.benchmarks.toolbench.data import load_data
from opencompass_tooleval.benchmarks.toolbench.prompts import match_instructions
from opencompass_tooleval.cli.options import DetailsOption, EncoderOption, JsonOption
from opencompass_tooleval.cli.output import STDOUT, check_outputs, numbers_table, write_outputs
from opencompass_tooleval.core.scoring.aggregate import aggregate
from opencompass_tooleval.core.statistics.intervals import Pairs, intervals_of
from opencompass_tooleval.embedding.encoder import shared_encoder
from opencompass_tooleval.embedding.locate import choose_encoder, default_cache, locate_encoder
from opencompass_tooleval.extras.preparing.retrieval import (
    DOCUMENTATION,
    INSTRUCTIONS,
    METRICS,
    RetrievalScore,
    documented_corpus,
    instructed_corpus,
    retrieve,
)
from opencompass_tooleval.findings.finding import found
from opencompass_tooleval.work_dir.data_files import command_to_generate, shown_files
from opencompass_tooleval.work_dir.printing import Screen


def _differences(before: Sequence[RetrievalScore], after: Sequence[RetrievalScore]) -> dict[str, dict[str, float]]:
    """Returns metric -> points gained by instructions, with the 95% interval."""
    ids, weights = tuple(score.id for score in before), (1.0,) * len(before)
    pairs = {}
    for metric in METRICS:
        points = [tuple(100 * float(score.values[metric] or 0) for score in side) for side in (before, after)]
        pairs['', metric] = Pairs(ids, points[0], points[1], weights, weights)
    return {metric: asdict(interval) for (_, metric), interval in intervals_of(pairs).items()}


def _print(result: dict[str, Any]) -> None:
    console = Screen()
    title = f'ToolBench {result["subset"]}: NDCG over {result["documents"]} documents ({result["unit"]})'
    table = numbers_table(title, 'metric', DOCUMENTATION, INSTRUCTIONS, 'delta', '95% interval')
    for metric in METRICS:
        shown = [f'{result[side]["metrics"][metric]:.2f}' for side in (DOCUMENTATION, INSTRUCTIONS) if side in result]
        if 'difference' in result:
            difference = result['difference'][metric]
            shown += [f'{difference["delta"]:+.2f}', f'{difference["low"]:+.2f} to {difference["high"]:+.2f}']
        table.add_row(metric, *shown)
    console.print(table)
    note = f"encoder {result['encoder']}; complete requests search this file's tools, so Table 5 is not comparable"
    console.print(found('extra:retrieval', '', note).line, soft_wrap=True)


def easytool_retrieval(
    subset: Annotated[str, typer.Argument(help='G1, G2 or G3.')],
    data: Annotated[Path, typer.Option(help="ToolBench's test file.")],
    instructions: Annotated[
        Path | None, typer.Option(help='File of instructions for its tools; default: documentation only.')
    ] = None,
    unit: Annotated[str, typer.Option(help='Unit to find: api or tool.')] = 'api',
    fields: Annotated[
        str, typer.Option(help='Text to search: description, or full for the complete documentation.')
    ] = 'description',
    encoder: EncoderOption = None,
    json_out: JsonOption = None,
    details: DetailsOption = None,
) -> None:
    """Searches with every request, prints the scores, and writes the output files that the options name.

    Raises:
        DataError: A file is missing or damaged, or tools have no instruction.
        EncoderMissingError: The encoder is not on this machine.
        ValueError: The file, unit or fields do not exist.
        OSError: An output cannot be written.
    """
    check_outputs(json_out, details)
    files = locate_encoder(choose_encoder(encoder, 'EN'))
    loaded = load_data(data, subset)
    corpora = [documented_corpus(loaded.tools, unit, fields)]
    if instructions:
        matched = match_instructions(instructions, loaded.tools, command_to_generate('toolbench', data, instructions))
        corpora.append(instructed_corpus(loaded.tools, matched, unit, fields))
    similarity = shared_encoder(files, default_cache())
    scores = {corpus.of: retrieve(loaded.records, corpus, similarity) for corpus in corpora}
    totals = {of: aggregate(ranked, METRICS) for of, ranked in scores.items()}
    result: dict[str, Any] = {
        'benchmark': 'toolbench',
        'subset': subset,
        'unit': unit,
        'fields': fields,
        'encoder': files.name,
        'version': VERSION,
        'samples': len(loaded.records),
        'documents': len(corpora[0].keys),
        **shown_files('data', data, instructions),
        **{
            of: {'metrics': total.metrics, 'standard_errors': total.standard_errors, 'reasons': total.reasons}
            for of, total in totals.items()
        },
    }
    if INSTRUCTIONS in scores:
        result['difference'] = _differences(scores[DOCUMENTATION], scores[INSTRUCTIONS])
    write_outputs(result, [score for ranked in scores.values() for score in ranked], json_out, details)
    if json_out != STDOUT:
        _print(result)
