"""``tooleval status``: prints the progress of a sweep, its failures, and the time left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial, reduce
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text

from opencompass_tooleval.cli.options import JsonOption, WorkDirArgument
from opencompass_tooleval.cli.output import STDOUT, check_outputs, numbers_table, progress, write_outputs
from opencompass_tooleval.core.scoring.usage_summary import NOTHING, Spending, add_spendings
from opencompass_tooleval.findings.finding import shortened
from opencompass_tooleval.findings.of_results import findings_of_run
from opencompass_tooleval.results.table import Missing
from opencompass_tooleval.summarizers.last_screen import missing_lines
from opencompass_tooleval.work_dir.causes import MOST_NAMED, resuming
from opencompass_tooleval.work_dir.dumped_config import read_dumped
from opencompass_tooleval.work_dir.lock import is_held
from opencompass_tooleval.work_dir.names import sweep_lock
from opencompass_tooleval.work_dir.printing import Screen, say
from opencompass_tooleval.work_dir.progress import Cell, State, look, pairs_in, prices_of, total_cost
from opencompass_tooleval.work_dir.server_file import server_lines
from opencompass_tooleval.work_dir.work_dir import WorkDir

_SECONDS_PER_LOOK, _SECONDS_PER_LINE, _SECONDS_TO_NOTICE = 2.0, 30.0, 0.5
_PAUSE_PER_LOOK = 4
"""A pause takes at least this many times as long as the look before it, which reads all answers."""


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return '-'
    hours, rest = divmod(round(seconds), 3600)
    return f'{hours}:{rest // 60:02}:{rest % 60:02}'


def _time_left(cells: Sequence[Cell], sizes: Mapping[str, int]) -> str:
    """Formats the time left for a model's data sets at the current speed; begins with ``>`` if a size is unknown."""
    rate = sum(cell.rate or 0 for cell in cells)
    if not rate:
        return '-'
    open_cells = [cell for cell in cells if cell.state in (State.RUNNING, State.WAITING)]
    known = [(cell, cell.samples or sizes.get(cell.dataset)) for cell in open_cells]
    left = sum(max(0, samples - cell.answered) for cell, samples in known if samples) / rate
    longest = max((cell.seconds_left or 0 for cell in open_cells), default=0)
    return ('' if all(samples for _, samples in known) else '> ') + _duration(max(left, longest))


def _summary(models: Sequence[str], cells: Sequence[Cell]) -> Table:
    sizes = {cell.dataset: cell.samples for cell in cells if cell.samples}
    states = (state.value for state in State)
    table = numbers_table('model x data sets', 'model', *states, 'samples/s', 'time left', plain=True)
    for model in models:
        model_cells = [cell for cell in cells if cell.model == model]
        counts = Counter(cell.state for cell in model_cells)
        rate = sum(cell.rate or 0 for cell in model_cells)
        shown = [str(counts[state] or '') for state in State]
        table.add_row(model, *shown, f'{rate:.1f}' if rate else '-', _time_left(model_cells, sizes))
    return table


def _spent(models: Sequence[str], cells: Sequence[Cell]) -> Iterator[str]:
    """Yields a line per model with recorded token usage, one per judge and simulator, and one with the cost in all."""
    for model in models:
        model_cells = [cell for cell in cells if cell.model == model]
        parts = [cell.spent for cell in model_cells if cell.spent]
        if parts:
            unknown = sum(cell.answered for cell in model_cells if cell.spent is None)
            yield f'tokens   {model}: {reduce(Spending.__add__, parts, replace(NOTHING, unknown=unknown))}'
        for name, spent in add_spendings(*(cell.others for cell in model_cells)).items():
            yield f'tokens   {model}, {name}: {spent}'
    if (cost := total_cost(cells)) is not None:
        yield f'cost     in all: {cost:,.2f}'


def _running(cells: Sequence[Cell], console: Screen) -> None:
    for cell in cells:
        if cell.state is State.RUNNING:
            total = '?' if cell.samples is None else cell.samples
            slow = 'speed not known' if cell.answered else 'no answer yet'
            speed = f'{cell.rate:.1f} samples/s' if cell.rate else slow
            if cell.rates:
                speed += f' by {len(cell.rates)} replicas ({" + ".join(f"{rate:.1f}" for rate in cell.rates)})'
            progress = f'running  {cell.model} x {cell.dataset}: {cell.answered} of {total}'
            how = f'WAITING: {cell.waiting}' if cell.waiting else f'{speed}, {_duration(cell.seconds_left)} left'
            console.print(f'{progress}, {how}')


def _kept(cells: Sequence[Cell], run: Path) -> Iterator[str]:
    """Yields lines on stored answers of unfinished data sets that no task runs, and the command to resume the run."""
    kept = [cell for cell in cells if cell.answered and cell.state in (State.WAITING, State.FAILED)]
    for cell in kept:
        total = '?' if cell.samples is None else cell.samples
        yield f'kept     {cell.model} x {cell.dataset}: {cell.answered} of {total} answered'
    if kept and not is_held(sweep_lock(run)):
        yield f'         resume with: {resuming(run)}'


def failure_lines(failed: Sequence[Cell], run: Path) -> Iterator[str]:
    """Yields lines on the failures: the first few of each cause, the number of the others, and the fix."""
    missing = (Missing(cell.model, cell.dataset, cell.error, str(cell.log)) for cell in failed)
    return missing_lines(missing, run, MOST_NAMED, 'FAILED', 'see')


def show_status(
    work_dir: WorkDirArgument,
    json_out: JsonOption = None,
    watch: Annotated[bool, typer.Option('--watch', help='Show it until the run ends.')] = False,
) -> int:
    """Prints the status; returns 1 if something failed, else 0.

    Raises:
        DataError: The run does not exist, or a file in it is damaged.
        OSError: ``json_out`` cannot be written.
        ValueError: ``watch`` and ``json_out`` are given.
    """
    check_outputs(json_out, None)
    if watch and json_out:
        raise ValueError('--watch goes without --json')
    work = WorkDir.find(work_dir)
    if watch:
        _watch(work)
    content = read_dumped(work.config())
    cells = _look(work, content, partial(progress, 'looking'))
    failed = [cell for cell in cells if cell.state is State.FAILED]
    rows = [
        {**asdict(replace(cell, result={})), 'log': str(cell.log or ''), 'seconds_left': cell.seconds_left}
        for cell in cells
    ]
    for row in rows:
        del row['result']
    write_outputs(rows, (), json_out, None)
    if json_out == STDOUT:
        return bool(failed)
    _print(work, content, cells, Screen(soft_wrap=True))
    return bool(failed)


def _look(work: WorkDir, content: Mapping[str, Any], track: Callable[[Sequence[Any]], Iterable[Any]]) -> list[Cell]:
    pairs, prices = pairs_in(content, work.config()), prices_of(content)
    return [look(work, model, dataset, prices.get(model)) for model, dataset in track(pairs)]


def _watch(work: WorkDir) -> None:
    """Shows the status while the run goes on: redrawn in place, or a line now and then if there is no terminal."""
    console = Screen()
    live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
    with live or nullcontext():
        while is_held(lock := sweep_lock(work.path)):
            content, began = read_dumped(work.config()), time.monotonic()
            cells = _look(work, content, list)
            if live:
                shown = Screen(file=StringIO(), width=console.width, soft_wrap=True)
                _print(work, content, cells, shown)
                live.update(Text(shown.file.getvalue()), refresh=True)  # type: ignore[attr-defined]
            else:
                say(_line(cells))
            pause = _SECONDS_PER_LOOK if live else _SECONDS_PER_LINE
            ends = time.monotonic() + max(pause, _PAUSE_PER_LOOK * (time.monotonic() - began))
            while is_held(lock) and time.monotonic() < ends:
                time.sleep(_SECONDS_TO_NOTICE)


def _line(cells: Sequence[Cell]) -> str:
    """Returns one line about the whole run."""
    sizes = {cell.dataset: cell.samples for cell in cells if cell.samples}
    counts = Counter(cell.state for cell in cells)
    states = ', '.join(f'{counts[state]} {state.value}' for state in State if counts[state])
    rate, answered = sum(cell.rate or 0 for cell in cells), sum(cell.answered for cell in cells)
    speed = f', {rate:.1f} samples/s, {_time_left(cells, sizes)} left' if rate else ''
    cost = '' if (paid := total_cost(cells)) is None else f', cost {paid:,.2f}'
    return f'{datetime.now():%H:%M:%S} {states}; {answered:,} samples answered{speed}{cost}'


def _print(work: WorkDir, content: Mapping[str, Any], cells: Sequence[Cell], console: Screen) -> None:
    models = list(dict.fromkeys(cell.model for cell in cells))
    failed = [cell for cell in cells if cell.state is State.FAILED]
    console.print(str(work.path))
    console.print(_summary(models, cells))
    for line in _spent(models, cells):
        console.print(line)
    for line in server_lines(work.path):
        console.print(f'server   {line}')
    _running(cells, console)
    results = {(cell.model, cell.dataset): cell.result for cell in cells if cell.result}
    notes = (one.line for one in shortened(findings_of_run(results, work.path, content)))
    for line in (*_kept(cells, work.path), *notes, *failure_lines(failed, work.path)):
        console.print(line)
