"""``tooleval agreement``: Pearson's correlation between two judges of an UltraTool task, without OpenCompass."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.benchmarks.ultratool.data import find_subset
from opencompass_tooleval.benchmarks.ultratool.judge import JUDGED_KINDS
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.benchmarks.ultratool.scoring import ScoresGrading
from opencompass_tooleval.cli.options import JsonOption
from opencompass_tooleval.cli.output import STDOUT, numbers_table, write_outputs
from opencompass_tooleval.extras.recorded.judge_correlation import Agreement, agree
from opencompass_tooleval.extras.recorded.ultratool import check_single
from opencompass_tooleval.findings.finding import found
from opencompass_tooleval.work_dir.printing import Screen


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
