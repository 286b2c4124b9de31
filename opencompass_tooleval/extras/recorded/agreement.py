"""``tooleval agreement``: Pearson's correlation between two judges of an UltraTool task, without OpenCompass."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.benchmarks.ultratool.data import Subset, find_subset
from opencompass_tooleval.benchmarks.ultratool.judge import JUDGED_KINDS, Judged, dimensions
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.benchmarks.ultratool.scoring import ScoresGrading
from opencompass_tooleval.cli.options import JsonOption
from opencompass_tooleval.cli.output import STDOUT, numbers_table, write_outputs
from opencompass_tooleval.extras.recorded.ultratool import check_single
from opencompass_tooleval.findings.finding import found
from opencompass_tooleval.work_dir.printing import Screen


@dataclass(frozen=True)
class Agreement:
    """Comparison of two sets of judgements.

    Attributes:
        compared: Number of plans or created tools that both judged.
        only_first: Number that only the first judged; unreadable and missing judgements do not count.
        only_second: Number that only the second judged.
        correlations: Dimension -> -1 to 1, over items that both judged; None if undefined: for fewer than two items, or
            if a judge gave the same score to all.
        other_answers: Items whose two judgements are known to belong to different answers, and so cannot show
            agreement.
        unnamed: Number of items for which at least one judgement does not identify its answer.
        means: Dimension -> the mean scores, 0-10, of the first and the second judge over items that both judged; None
            without such items. Two judges may agree in order but not in level.
    """

    compared: int
    only_first: int
    only_second: int
    correlations: Mapping[str, float | None]
    means: Mapping[str, tuple[float, float] | None]
    other_answers: Sequence[tuple[str, str]] = ()
    unnamed: int = 0


def pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Returns Pearson's correlation of two series; None for fewer than two values or a constant series."""
    if min(len(set(first)), len(set(second))) < 2:  # by value: after rounding, a constant 7.3 has some variance
        return None
    return max(-1.0, min(1.0, statistics.correlation(first, second)))


def agree(subset: Subset, first: Sequence[Judged], second: Sequence[Judged]) -> Agreement:
    """Compares two sets of judgements over the items, by record and step, that both judged.

    Args:
        subset: Planning or tool creation.
        first: Judgements, in any order, at most one per item.
        second: Judgements of the other judge.
    """
    first_by_id, second_by_id = (
        {(judged.id, judged.step): (judged.found.scores, judged.answer_digest) for judged in judgements if judged.found}
        for judgements in (first, second)
    )
    both = [key for key in first_by_id if key in second_by_id]
    answers = {key: (first_by_id[key][1], second_by_id[key][1]) for key in both}
    pairs = {
        name: ([first_by_id[key][0][name] for key in both], [second_by_id[key][0][name] for key in both])
        for name in dimensions(subset)
    }
    return Agreement(
        compared=len(both),
        only_first=len(first_by_id) - len(both),
        only_second=len(second_by_id) - len(both),
        correlations={name: pearson(*pair) for name, pair in pairs.items()},
        means={
            name: (statistics.fmean(pair[0]), statistics.fmean(pair[1])) if both else None
            for name, pair in pairs.items()
        },
        other_answers=[key for key, digests in answers.items() if all(digests) and digests[0] != digests[1]],
        unnamed=sum(not all(digests) for digests in answers.values()),
    )


def _print_table(task: str, agreement: Agreement, console: Screen) -> None:
    title = f'UltraTool {task}: {agreement.compared} judged by both'
    table = numbers_table(title, 'dimension', "Pearson's r", 'first (mean)', 'second (mean)')
    for name, value in agreement.correlations.items():
        means = agreement.means[name]
        shown = ['-', '-'] if means is None else [f'{mean:.2f}' for mean in means]
        table.add_row(name, '-' if value is None else f'{value:.3f}', *shown)
    console.print(table)
    if agreement.only_first or agreement.only_second:
        alone = agreement.only_first, agreement.only_second
        console.print(f'left out: {alone[0]} judged only by the first, {alone[1]} only by the second')
    if agreement.unnamed:
        what = f'{agreement.unnamed} judgements do not identify their answers: both files must judge the same answers'
        console.print(found('extra:unnamed', '', what).line, soft_wrap=True)


def agreement(
    first: Annotated[Path, typer.Argument(help="A file of judgements, ours or the authors'.")],
    second: Annotated[Path, typer.Argument(help='Another file, of people or a model.')],
    task: Annotated[str, typer.Option(help='planning or tool_creation.')] = 'planning',
    json_out: JsonOption = None,
) -> None:
    """Prints Pearson's correlation per dimension over the items that both files judge.

    Raises:
        DataError: A file is missing or damaged.
        ValueError: The task has no judge, the files share no judged item, or they judge different answers.
        OSError: ``json_out`` cannot be written.
    """
    subset = find_subset(task)
    if subset.kind not in JUDGED_KINDS:
        raise ValueError(f'{subset.name} has no judge; only planning and tool_creation have')
    grading = ScoresGrading((), (), subset, Protocol(), carried=True)
    both = {file: grading.read(file) for file in (first, second)}
    for file, judgements in both.items():
        check_single(judgements, file)
    shared = agree(subset, both[first], both[second])
    if not shared.compared:
        raise ValueError(
            f'{first} and {second} share no judged item: {shared.only_first} and {shared.only_second} items, by id '
            'and step'
        )
    if shared.other_answers:
        record, step = shared.other_answers[0]
        raise ValueError(
            f'{first} and {second} judge different answers to {len(shared.other_answers)} of {shared.compared} items '
            f'(the first: record {record}{f", step {step}" if step else ""}): both must judge the same answers'
        )
    result = {
        'benchmark': 'ultratool',
        'subset': subset.name,
        'coefficient': 'pearson',
        'first': str(first),
        'second': str(second),
        'compared': shared.compared,
        'only_first': shared.only_first,
        'only_second': shared.only_second,
        'unnamed_answers': shared.unnamed,
        'correlations': dict(shared.correlations),
        'means': dict(shared.means),
    }
    if json_out != STDOUT:
        _print_table(subset.name, shared, Screen())
    write_outputs(result, (), json_out, None)
