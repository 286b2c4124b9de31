"""``tooleval compare``: two models on what both have, with intervals, and the samples where they differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from opencompass_tooleval.cli.output import STDOUT, check_outputs, write_outputs
from opencompass_tooleval.core.intervals import LEVEL, RESAMPLES, SEED
from opencompass_tooleval.core.paired import Difference
from opencompass_tooleval.sweep.comparing import Comparison, Row, Side, sample_row
from opencompass_tooleval.sweep.comparing import compare as compare_sides
from opencompass_tooleval.sweep.whole_file import whole_file
from opencompass_tooleval.sweep.work_dir import WorkDir


@dataclass(frozen=True)
class CompareRequest:
    """What to compare.

    Attributes:
        work_dir: A run, or a folder of runs.
        model_a: The model that is compared with.
        model_b: The other.
        other: Where the other is, if not there too.
        datasets: Pattern of their abbrs.
        samples: Number of resamples.
        seed: Of the resamples.
        json_out: File for the whole comparison; ``-`` for standard output, and nothing else there.
        details: File for a line per sample that differs.
        show: How many of them to show per data set.
    """

    work_dir: Path
    model_a: str
    model_b: str
    other: Path | None = None
    datasets: str = '*'
    samples: int = RESAMPLES
    seed: int = SEED
    json_out: str | None = None
    details: Path | None = None
    show: int = 3


def _number(value: float | None, sign: str = '') -> str:
    return '-' if value is None else f'{round(value, 2) + 0.0:{sign}.2f}'


_HEADER = ('A', '±', 'B', '±', 'B - A', '95% interval', 'N')


def _lines(title: str, rows: Sequence[Row]) -> Iterator[str]:
    """A table that 80 columns have room for: names on lines of their own, and below each its metrics."""
    cells = [(title, *_HEADER), *((f' {row.metric}', *_numbers(row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [' '.join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in cells]
    yield lines[0]
    name = None
    for row, line in zip(rows, lines[1:], strict=True):
        if row.name != name:
            yield row.name
        name = row.name
        yield line


def _numbers(row: Row) -> tuple[str, ...]:
    scores = (_number(row.a), _number(row.error_a), _number(row.b), _number(row.error_b))
    difference, interval = f'{_number(row.delta, "+")} ', '-'
    if row.low is not None and row.high is not None:
        interval = f'{_number(row.low, "+")} {_number(row.high, "+")}'
        if row.low > 0 or row.high < 0:
            difference = f'{difference[:-1]}*'
    return (*scores, difference, interval, str(row.records or '-'))


def _change(sample: Mapping[str, Any]) -> str:
    """``12: f1_score 0.50 -> 1.00; args:wrong -> ok``."""
    before, after = sample['a']['values'], sample['b']['values']
    shown = {name: (_number(value), _number(after.get(name))) for name, value in before.items()}
    changes = ', '.join(f'{name} {a} -> {b}' for name, (a, b) in shown.items() if a != b)
    run = f' (run {sample["run"]})' if sample['run'] else ''
    return f'{sample["id"]}{run}: {changes}; {sample["a"]["reason"]} -> {sample["b"]["reason"]}'


def _print(found: Comparison, request: CompareRequest) -> None:
    console = Console(soft_wrap=True)
    models = request.model_a, request.model_b
    console.print(f'A: {models[0]}\nB: {models[1]}', markup=False)
    for title, rows in (('tables', found.tables), ('data sets', found.datasets)):
        if rows:
            console.print('\n' + '\n'.join(_lines(title, rows)), markup=False, highlight=False)
    console.print('\nB - A is in points, * where its interval holds no 0; N: records of both')
    console.print(f'± is a standard error; intervals by {request.samples} resamples, seed {request.seed}')
    for dataset, samples in found.differing.items():
        console.print(f'{dataset}: {len(samples)} samples differ, of {found.records[dataset]} records', markup=False)
        for sample in samples[: request.show]:
            console.print(f'  {_change(sample)}', markup=False)
    for note in found.notes:
        console.print(f'NOTE {note}', markup=False)


def _as_json(found: Comparison, sides: Sequence[Side], request: CompareRequest) -> dict[str, Any]:
    models = {
        name: {'model': side.model, 'work_dir': str(side.work.path)} for name, side in zip('ab', sides, strict=True)
    }
    return {**models, 'resamples': request.samples, 'seed': request.seed, 'level': LEVEL, **asdict(found)}


def compare(request: CompareRequest) -> None:
    """Compares, prints, and writes what is asked for.

    Raises:
        DataError: There is no such run, model or data set, or a result is damaged.
        OSError: A file cannot be written.
    """
    check_outputs(request.json_out, request.details)
    first, second = (WorkDir.find(path) for path in (request.work_dir, request.other or request.work_dir))
    sides = (
        Side.find(first, request.model_a, request.datasets),
        Side.find(second, request.model_b, request.datasets),
    )
    with ExitStack() as stack:
        stream = None
        if request.details:  # a lone surrogate becomes its JSON escape
            temporary = stack.enter_context(whole_file(request.details))
            stream = stack.enter_context(temporary.open('w', encoding='utf-8', errors='backslashreplace'))

        def sink(dataset: str, different: Sequence[Difference]) -> None:
            for one in different if stream else ():
                line = {**sample_row(dataset, one, 'values', 'reason', 'parsed'), 'gold': one.a.get('gold')}
                print(json.dumps(line, ensure_ascii=False), file=stream)

        def progress(datasets: Sequence[str]) -> Iterable[str]:
            return track(datasets, description='comparing', console=Console(stderr=True), transient=True)

        found = compare_sides(sides, samples=request.samples, seed=request.seed, sink=sink, progress=progress)
    write_outputs(_as_json(found, sides, request), (), request.json_out, None)
    if request.json_out != STDOUT:
        _print(found, request)
