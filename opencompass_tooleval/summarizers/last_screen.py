"""What a sweep says last, on one screen: a small leaderboard, what failed and why, where the rest is. Pure text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.core.errors import shorten
from opencompass_tooleval.core.metrics import OVERALL, judged_metrics, main_metrics
from opencompass_tooleval.work_dir.causes import MOST_NAMED, causes_of

WIDTH = 80
MOST_ROWS = 12
MOST_NOTES = 4
_FEW_MODELS = 4
_MOST_REASON = 300
_NARROW = 9
"""Columns that no name is cut to fewer than, though the row be longer than the screen."""
OUR_PREFIX = 'tooleval-'
NONE = '-'
"""Stands for a score that is not there."""
PART = '*'
"""Marks a score that is of a part of the records."""


@dataclass(frozen=True)
class Headline:
    """The main score of one table or data set.

    Attributes:
        name: Its name.
        metric: What stands for it (see :data:`~opencompass_tooleval.core.labels.MAIN`).
        scores: One per model, as shown.
        is_main: Whether it is that; False for what there is of a table that lacks its main score.
    """

    name: str
    metric: str
    scores: Sequence[str]
    is_main: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether no model has it."""
        return set(self.scores) == {NONE}

    @property
    def benchmark(self) -> str:
        """The benchmark that it is of, such as ``teval``; its own name, if it is none of ours."""
        match = re.match(rf'{OUR_PREFIX}([a-z]+)', self.name)
        return match[1] if match else self.name


@dataclass(frozen=True)
class Missing:
    """A model x data set without a result.

    Attributes:
        model: Its abbr.
        dataset: Its abbr.
        log: Where to look.
        error: What ended it; '' if nothing on disk says.
    """

    model: str
    dataset: str
    log: str
    error: str = ''


def headlines(
    table: Sequence[Sequence[str]],
    overall: Collection[str] = (),
    partly: Collection[tuple[str, str]] = (),
) -> list[Headline]:
    """What stands for each data set of a table of OpenCompass: name, version, metric, mode, a score per model.

    Args:
        table: Its header first.
        overall: Names of those that have an overall score if nothing is missing. Where no model has that, or what only
            a judge can say, there is a dash, and what there is follows.
        partly: Model and name of scores that are of a part of the records: they are marked.
    """
    models = table[0][4:] if table else ()
    rows: dict[str, dict[str, list[str]]] = {}
    for name, _, metric, _, *scores in table[1:]:
        rows.setdefault(name, {})[metric] = [
            f'{score}{PART}' if score != NONE and (model, name) in partly else score
            for model, score in zip(models, scores, strict=True)
        ]
    headlines = []
    for name, by_metric in rows.items():
        main = main_metrics(list(by_metric))
        lacking = OVERALL if name in overall and OVERALL not in by_metric else judged_metrics().get(main[0])
        if lacking:
            headlines.append(Headline(name, lacking, [NONE] * len(models)))
        headlines += [Headline(name, metric, by_metric[metric], is_main=not lacking) for metric in main]
    return headlines


def _chosen(rows: Sequence[Headline], most: int) -> list[Headline]:
    """At most ``most`` rows in their order, main scores before others, of every benchmark about as many."""
    seen: dict[tuple[str, bool], int] = {}
    turns = []
    for position, row in enumerate(rows):
        kind = row.benchmark, row.is_main
        turns.append((not row.is_main, seen.get(kind, 0), position))
        seen[kind] = seen.get(kind, 0) + 1
    return [rows[position] for position in sorted(position for *_, position in sorted(turns)[:most])]


def _cut(text: str, width: int) -> str:
    """A text without its middle: ``qwen2.5-7b-instruct-lora-1`` and ``-2`` differ at their ends."""
    end = (width - 1) // 2
    return text if len(text) <= width else f'{text[: width - 1 - end]}…{text[len(text) - end :]}'


def _lines(rows: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    """Rows as columns; the first ``left`` of them to the left, the others to the right, cut first where need be."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > WIDTH and max(widths) > _NARROW:
        cut = widths[left:] if max(widths[left:]) > _NARROW else widths
        widths[len(widths) - len(cut) + cut.index(max(cut))] -= 1
    for row in rows:
        cells = (
            _cut(cell, width).ljust(width) if number < left else _cut(cell, width).rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield '  '.join(cells).rstrip()


def leaderboard(models: Sequence[str], rows: Sequence[Headline]) -> list[str]:
    """Models and main scores, at most twelve rows of 80 columns; a row per table, or per model where those are many."""
    if not rows:
        return []
    few = len(models) <= _FEW_MODELS
    if few:
        chosen = _chosen(rows, MOST_ROWS)
        table = [['benchmark', 'metric', *models]]
        table += [[row.name.removeprefix(OUR_PREFIX), row.metric, *row.scores] for row in chosen]
    else:
        chosen = _chosen(rows, 5)
        names = [row.name for row in chosen]
        table = [['model', *(_title(row, names.count(row.name) > 1) for row in chosen)]]
        for number, model in enumerate(models[:MOST_ROWS]):
            table.append([model, *(row.scores[number] for row in chosen)])
    lines = list(_lines(table, 2 if few else 1))
    tables = [sum(row.is_main for row in some) for some in (rows, chosen)]
    left_out = [(tables[0] - tables[1], 'tables'), (0 if few else max(0, len(models) - MOST_ROWS), 'models')]
    more = ' and '.join(f'{count} more {what}' for count, what in left_out if count)
    lines.append(f"Each table's main score, 0 to 100, higher is better; {NONE} where there is none.")
    if not all(row.is_main for row in chosen):
        lines.append(f'Below a {NONE} stands what there is of its table.')
    if any(score.endswith(PART) for row in chosen for score in row.scores):
        lines.append(f'{PART} of a part of the records')
    return [*lines, *([f'({more} in the files below)'] if more else [])]


def _title(row: Headline, with_metric: bool) -> str:
    name = row.name.removeprefix(OUR_PREFIX)
    return f'{name} {row.metric}' if with_metric else name


def missing_lines(missing: Iterable[Missing], run: Path, most: int | None = None) -> Iterator[str]:
    """A line per result that is missing, and under those with one cause why, and what fixes it.

    Args:
        missing: What is missing.
        run: The working directory.
        most: So many results of one cause are named, the others counted; None for all.
    """
    for cause in causes_of(((row, row.dataset, row.error) for row in missing), run):
        for row in cause.results[:most]:
            yield f'MISSING {row.model} x {row.dataset}: no result; see {row.log}'
        if len(cause.results) > len(cause.results[:most]):
            yield f'        and {len(cause.results) - len(cause.results[:most])} more for the same reason'
        whys = list(dict.fromkeys(cause.whys))
        for why in whys[:MOST_NAMED]:
            yield f'  why:  {shorten(why, _MOST_REASON) or "nothing on disk says"}'
        if len(whys) > MOST_NAMED:
            yield f'        and {len(whys) - MOST_NAMED} more of the kind'
        first, *then = cause.fix
        yield f'  fix: {first}'
        yield from (f'  then: {step}' for step in then)


def screen(
    models: Sequence[str],
    rows: Sequence[Headline],
    *,
    notes: Sequence[str],
    missing: Sequence[Missing],
    files: Sequence[Path],
    run: Path,
) -> str:
    """The whole screen.

    Args:
        models: Their abbrs.
        rows: The main scores.
        notes: Warnings, of which the first few are shown.
        missing: What has no result.
        files: Where everything is written; the second one has all notes.
        run: The working directory.
    """
    lines = [*leaderboard(models, rows), '']
    lines += notes[:MOST_NOTES]
    if len(notes) > MOST_NOTES:
        lines.append(f'({len(notes) - MOST_NOTES} more notes in the files below)')
    lines += missing_lines(missing, run, MOST_NAMED)
    lines += ['all rows (TOOLEVAL_VERBOSE=1 prints them too):', *(f'  {file}' for file in files)]
    lines.append(f'next: tooleval status {run}')
    if not missing:
        lines.append(f'      tooleval report {run} -o report')
        if len(models) > 1:
            lines.append(f'      tooleval compare {run} {models[0]} {models[1]}')
    return '\n'.join(lines)
