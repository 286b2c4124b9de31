"""What a sweep says last, on one screen: a small leaderboard, what failed and why, where the rest is. Pure text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from opencompass_tooleval.core.errors import shorten

WIDTH = 80
MOST_ROWS = 12
MOST_NOTES = 4
_FEW_MODELS = 4
_MOST_REASON = 300
_NARROW = 9
"""Columns that no name is cut to fewer than, though the row be longer than the screen."""
_OUR_PREFIX = 'tooleval-'
_MEND = 'Mend it with: '


@dataclass(frozen=True)
class Headline:
    """The main score of one table or data set.

    Attributes:
        name: Its name.
        metric: Of its rows, the first.
        scores: One per model, as shown.
    """

    name: str
    metric: str
    scores: Sequence[str]

    @property
    def benchmark(self) -> str:
        """The benchmark that it is of, such as ``teval``; its own name, if it is none of ours."""
        ours = re.match(rf'{_OUR_PREFIX}([a-z]+)', self.name)
        return ours[1] if ours else self.name


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


def headlines(table: Sequence[Sequence[str]]) -> list[Headline]:
    """The first row of each data set in a table of OpenCompass: name, version, metric, mode, a score per model."""
    first: dict[str, Headline] = {}
    for name, _, metric, _, *scores in table[1:]:
        first.setdefault(name, Headline(name, metric, scores))
    return list(first.values())


def _chosen(rows: Sequence[Headline], most: int) -> list[Headline]:
    """At most ``most`` rows in their order, of every benchmark about as many."""
    seen: dict[str, int] = {}
    turns = []
    for position, row in enumerate(rows):
        turns.append((seen.get(row.benchmark, 0), position))
        seen[row.benchmark] = seen.get(row.benchmark, 0) + 1
    return [rows[position] for position in sorted(position for _, position in sorted(turns)[:most])]


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
        table += [[row.name.removeprefix(_OUR_PREFIX), row.metric, *row.scores] for row in chosen]
    else:
        chosen = _chosen(rows, 5)
        table = [['model', *(row.name.removeprefix(_OUR_PREFIX) for row in chosen)]]
        for number, model in enumerate(models[:MOST_ROWS]):
            table.append([model, *(row.scores[number] for row in chosen)])
    lines = list(_lines(table, 2 if few else 1))
    left_out = [(len(rows) - len(chosen), 'tables'), (0 if few else max(0, len(models) - MOST_ROWS), 'models')]
    more = ' and '.join(f'{count} more {what}' for count, what in left_out if count)
    meaning = "Each table's main score, 0 to 100, higher is better; - where there is no result."
    return [*lines, meaning, *([f'({more} in the files below)'] if more else [])]


def mend_of(error: str, run: Path) -> str:
    """The command that mends a failure: the one that its error names, or running again what is left."""
    if _MEND in error:
        return error.partition(_MEND)[2].strip()
    if 'InfraFailureError' in error:
        return f'tooleval retry {run}'
    if 'OpenAI API key is not set' in error:  # OpenCompass's own message
        return f'export OPENAI_API_KEY=... and opencompass CONFIG -w {run.parent} -r {run.name}'
    return f'opencompass CONFIG -w {run.parent} -r {run.name}    (what is done is kept)'


def missing_lines(missing: Iterable[Missing], run: Path) -> Iterator[str]:
    """A line per result that is missing, and under those that share an error why, and what mends it."""
    for (model, error), those in groupby(missing, key=lambda row: (row.model, row.error)):
        for row in those:
            yield f'MISSING {model} x {row.dataset}: no result; see {row.log}'
        why = error.partition(_MEND)[0].removeprefix(f'{row.dataset}: ').strip()
        yield f'  why:  {shorten(why, _MOST_REASON) or "nothing on disk says"}'
        yield f'  mend: {mend_of(error, run)}'


def screen(
    models: Sequence[str],
    table: Sequence[Sequence[str]],
    *,
    notes: Sequence[str],
    missing: Sequence[Missing],
    files: Sequence[Path],
    run: Path,
) -> str:
    """The whole screen.

    Args:
        models: Their abbrs.
        table: The long table, its header first.
        notes: Warnings, of which the first few are shown.
        missing: What has no result.
        files: Where everything is written; the second one has all notes.
        run: The working directory.
    """
    lines = [*leaderboard(models, headlines(table)), '']
    lines += notes[:MOST_NOTES]
    if len(notes) > MOST_NOTES:
        lines.append(f'({len(notes) - MOST_NOTES} more notes in the files below)')
    lines += missing_lines(missing, run)
    lines += ['all rows (TOOLEVAL_VERBOSE=1 prints them too):', *(f'  {file}' for file in files)]
    lines.append(f'next: tooleval status {run}')
    if not missing:
        lines.append(f'      tooleval report {run} -o report')
        if len(models) > 1:
            lines.append(f'      tooleval compare {run} {models[0]} {models[1]}')
    return '\n'.join(lines)
