"""``tooleval compare``: compares two models on their common records, with intervals and the samples that differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from opencompass_tooleval.catalogue.metrics import lower_is_better
from opencompass_tooleval.cli.options import DatasetsOption, JsonOption, WorkDirArgument
from opencompass_tooleval.cli.output import STDOUT, check_outputs, progress, write_outputs
from opencompass_tooleval.core.statistics.intervals import LEVEL
from opencompass_tooleval.core.statistics.paired import Difference
from opencompass_tooleval.extras.compare.comparing import Comparison, Row, Side, compare, sample_row
from opencompass_tooleval.work_dir.printing import Screen
from opencompass_tooleval.work_dir.whole_file import whole_file
from opencompass_tooleval.work_dir.work_dir import WorkDir


def number_text(value: float | None, sign: str = '') -> str:
    """Formats a score or a difference with two digits; ``-`` for None."""
    return '-' if value is None else f'{round(value, 2) + 0.0:{sign}.2f}'


def interval_text(row: Row) -> str:
    """Formats the interval of a difference: ``-3.10 +0.25``; ``-`` if it has no interval."""
    return '-' if row.low is None or row.high is None else f'{number_text(row.low, "+")} {number_text(row.high, "+")}'


_HEADER = ('A', '±', 'B', '±', 'B - A', '95% interval', 'N')


def table_lines(header: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> Iterator[str]:
    """Formats a table for 80 columns: each name is on a separate line, its rows are below it.

    Args:
        header: Titles of the columns.
        rows: Name and cells of each row; rows of one name follow each other.
    """
    cells = [header, *((f' {first}', *others) for _, (first, *others) in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [' '.join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in cells]
    yield lines[0].rstrip()
    names = ['', *(name for name, _ in rows)]
    for before, name, line in zip(names, names[1:], lines[1:], strict=False):
        yield from (line,) if name == before else (name, line)


def _numbers(row: Row) -> tuple[str, ...]:
    scores = (number_text(row.a), number_text(row.error_a), number_text(row.b), number_text(row.error_b))
    difference = f'{number_text(row.delta, "+")} '
    if row.low is not None and row.high is not None and (row.low > 0 or row.high < 0):
        difference = f'{difference[:-1]}*'
    interval = interval_text(row)
    return (*scores, difference, interval, str(row.records or '-'))


def change_text(sample: Mapping[str, Any]) -> str:
    """Formats a sample that differs: ``12: f1_score 0.50 -> 1.00; args:wrong -> ok``."""
    before, after = sample['a']['values'], sample['b']['values']
    shown = {name: (number_text(value), number_text(after.get(name))) for name, value in before.items()}
    changes = ', '.join(f'{name} {a} -> {b}' for name, (a, b) in shown.items() if a != b)
    run = f' (run {sample["run"]})' if sample['run'] else ''
    return f'{sample["id"]}{run}: {changes}; {sample["a"]["reason"]} -> {sample["b"]["reason"]}'


def _print(comparison: Comparison, model_a: str, model_b: str, show: int) -> None:
    console = Screen(soft_wrap=True)
    console.print(f'A: {model_a}\nB: {model_b}')
    for title, rows in (('tables', comparison.tables), ('data sets', comparison.datasets)):
        if rows:
            lines = table_lines((title, *_HEADER), [(row.name, (row.metric, *_numbers(row))) for row in rows])
            console.print('\n' + '\n'.join(lines))
    console.print('\nB - A: difference in points; * significant (the 95% interval excludes 0)')
    console.print('±: standard error; N: records that both answered')
    low = dict.fromkeys(row.metric for row in (*comparison.tables, *comparison.datasets) if lower_is_better(row.metric))
    if low:
        console.print(f'lower is better: {", ".join(low)}')
    for dataset, samples in comparison.differing.items():
        console.print(f'{dataset}: {len(samples)} samples differ, of {comparison.records[dataset]} records')
        for sample in samples[:show]:
            console.print(f'  {change_text(sample)}')
    for finding in comparison.findings:
        console.print(finding.line)


def compare_models(
    work_dir: WorkDirArgument,
    model_a: Annotated[str, typer.Argument(metavar='MODEL_A', help='The model that is compared with.')],
    model_b: Annotated[str, typer.Argument(metavar='MODEL_B', help='The other model.')],
    other: Annotated[
        Path | None, typer.Option('--work-dir-b', help='Where MODEL_B is, if in another working directory.')
    ] = None,
    datasets: DatasetsOption = '*',
    json_out: JsonOption = None,
    details: Annotated[
        Path | None, typer.Option(metavar='FILE', help='Write one JSON line per sample that differs there.')
    ] = None,
    show: Annotated[int, typer.Option(min=0, help='Samples that differ to show per data set.')] = 3,
) -> None:
    """Compares two models, prints the comparison, and writes the output files that the options name.

    Raises:
        DataError: A run, model or data set does not exist, or a result is damaged.
        OSError: A file cannot be written.
    """
    check_outputs(json_out, details)
    first, second = (WorkDir.find(path) for path in (work_dir, other or work_dir))
    sides = Side.find(first, model_a, datasets), Side.find(second, model_b, datasets)
    with ExitStack() as stack:
        stream = None
        if details:  # a lone surrogate becomes its JSON escape
            temporary = stack.enter_context(whole_file(details))
            stream = stack.enter_context(temporary.open('w', encoding='utf-8', errors='backslashreplace'))

        def sink(dataset: str, different: Sequence[Difference]) -> None:
            for difference in different if stream else ():
                line = {
                    **sample_row(dataset, difference, 'values', 'reason', 'parsed'),
                    'gold': difference.a.get('gold'),
                }
                print(json.dumps(line, ensure_ascii=False), file=stream)

        comparer = compare(sides, sink=sink, progress=partial(progress, 'comparing'))
        comparison = comparer.comparison
    models = {
        name: {'model': side.model, 'work_dir': str(side.work.path)} for name, side in zip('ab', sides, strict=True)
    }
    result = {**models, 'level': LEVEL, **asdict(comparison), 'findings': [one.row() for one in comparison.findings]}
    write_outputs(result, (), json_out, None)
    if json_out != STDOUT:
        _print(comparison, model_a, model_b, show)
