"""Formats the last screen of a sweep: a small leaderboard, failures with their causes, paths. Pure text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from opencompass_tooleval.catalogue.benchmark import OUR_PREFIX
from opencompass_tooleval.catalogue.metrics import OVERALL, judged_metrics, main_metrics
from opencompass_tooleval.catalogue.tables import with_omitted
from opencompass_tooleval.core.errors import first_of, shorten
from opencompass_tooleval.core.statistics.intervals import Score
from opencompass_tooleval.findings.finding import Finding, shortened
from opencompass_tooleval.report.figure import short_name
from opencompass_tooleval.results.table import Missing
from opencompass_tooleval.work_dir.causes import MOST_NAMED, causes_of

WIDTH = 80
MOST_ROWS = 12
MOST_NOTES = 4
_FEW_MODELS = 4
_MOST_REASON = 300
_NARROW = 9
"""Minimum width of a name, even if the row becomes wider than the screen."""
NONE = '-'
"""Stands for a missing score."""
PART = '*'
"""Marks a score over a part of the records."""


@dataclass(frozen=True)
class Headline:
    """The main score of one table or data set.

    Attributes:
        name: Its name.
        metric: Its main metric (:func:`~opencompass_tooleval.catalogue.metrics.main_metrics`), or another if that is
            missing.
        scores: One formatted score per model.
        is_main: True for the main metric; False for a metric of a table that lacks its main score.
    """

    name: str
    metric: str
    scores: Sequence[str]
    is_main: bool = True

    @property
    def is_empty(self) -> bool:
        """True if no model has a score."""
        return set(self.scores) == {NONE}

    @property
    def benchmark(self) -> str:
        """Name of its benchmark, such as ``teval``; its own name if the benchmark is not part of this package."""
        match = re.match(rf'{OUR_PREFIX}([a-z]+)', self.name)
        return match[1] if match else self.name


def headlines(
    table: Sequence[Sequence[str]],
    overall: Collection[str] = (),
    partly: Collection[tuple[str, str]] = (),
    columns: Mapping[Score, Collection[Score]] = MappingProxyType({}),
) -> list[Headline]:
    """Selects the main score of each data set in a table of OpenCompass: name, version, metric, mode, scores.

    Args:
        table: The rows of the table, header first.
        overall: Names of tables with an overall score if no result is missing. If no model has that score, or a main
            score that needs a judge, the headline has a dash for it, and the other scores follow.
        partly: Model and name of the scores over a part of the records; these are marked.
        columns: Table and column -> the scores that the column averages. If a model lacks the overall score, the
            columns with its scores are shown, such as ``plan_json`` without ``plan_str``.
    """
    models = table[0][4:] if table else ()
    rows: dict[str, dict[str, list[str]]] = {}
    for name, _, metric, _, *scores in table[1:]:
        rows.setdefault(name, {})[metric] = [
            score if score == NONE else score + PART * ((model, name) in partly)
            for model, score in zip(models, scores, strict=True)
        ]
    headlines = []
    for name, by_metric in rows.items():
        main = main_metrics(list(by_metric))
        lacking = OVERALL if name in overall and OVERALL not in by_metric else judged_metrics().get(main[0])
        if lacking:
            headlines.append(Headline(name, lacking, [NONE] * len(models)))
        parts = {metric: columns.get((name, metric), ()) for metric in by_metric}
        parts[OVERALL] = columns.get((name, OVERALL), ())
        measured = [
            [metric for metric, of_models in by_metric.items() if of_models[i] != NONE] for i in range(len(models))
        ]
        shown = with_omitted(main, parts, measured)
        headlines += [
            Headline(name, metric, by_metric[metric], is_main=not lacking and metric in main) for metric in shown
        ]
    return headlines


def _chosen(rows: Sequence[Headline], most: int) -> list[Headline]:
    """Selects at most ``most`` rows in their order: main scores before others, about as many of every benchmark."""
    seen: dict[tuple[str, bool], int] = {}
    turns = []
    for position, row in enumerate(rows):
        kind = row.benchmark, row.is_main
        turns.append((not row.is_main, seen.get(kind, 0), position))
        seen[kind] = seen.get(kind, 0) + 1
    return [rows[position] for position in sorted(position for *_, position in sorted(turns)[:most])]


def _lines(rows: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    """Aligns rows in columns: the first ``left`` columns to the left, the others to the right; long names are cut."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > WIDTH and max(widths) > _NARROW:
        cut = widths[left:] if max(widths[left:]) > _NARROW else widths
        widths[len(widths) - len(cut) + cut.index(max(cut))] -= 1
    for row in rows:
        cells = (
            short_name(cell, width).ljust(width) if number < left else short_name(cell, width).rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield '  '.join(cells).rstrip()


def leaderboard(models: Sequence[str], rows: Sequence[Headline]) -> list[str]:
    """Formats at most twelve rows of 80 columns with the main scores: a row per table, or per model for many."""
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
        heads = [_head(row, names.count(row.name) > 1) for row in chosen]
        table = [['', *(first for first, _ in heads)], ['model', *(second for _, second in heads)]]
        for number, model in enumerate(models[:MOST_ROWS]):
            table.append([model, *(row.scores[number] for row in chosen)])
    lines = list(_lines(table, 2 if few else 1))
    tables = [sum(row.is_main for row in some) for some in (rows, chosen)]
    left_out = [(tables[0] - tables[1], 'tables'), (0 if few else max(0, len(models) - MOST_ROWS), 'models')]
    more = ' and '.join(f'{count} more {what}' for count, what in left_out if count)
    names = [' '.join(filter(None, _head(row, True))) for row in rows if row.is_main and row not in chosen]
    lacks = any(NONE in row.scores for row in chosen)
    lines.append(f"Each table's main score, 0 to 100, higher is better{f'; {NONE}: no score' if lacks else ''}.")
    if not all(row.is_main for row in chosen):
        lines.append('Where a main score is missing, the rows below it have the other scores.')
    if any(PART in score for row in chosen for score in row.scores):
        lines.append(f'{PART} not all records were asked')
    of = '' if few or not names else f': {first_of(names, 3)}'
    return [*lines, *([f'({more} in the files below{of})'] if more else [])]


def _head(row: Headline, with_metric: bool) -> tuple[str, str]:
    """Returns both lines of the head of a column: benchmark and subset, or name and metric."""
    name = row.name.removeprefix(OUR_PREFIX)
    if with_metric:
        return name, row.metric
    first, _, second = name.partition('-')
    return (first, second) if second else ('', first)


def missing_lines(
    missing: Iterable[Missing], run: Path, most: int | None = None, word: str = 'MISSING', what: str = 'no result; see'
) -> Iterator[str]:
    """Yields a line per missing result; the error and its fix follow the results with the same cause.

    Args:
        missing: The missing results.
        run: The run, such as ``outputs/default/20260101_120000``.
        most: Number of results to name per cause; the others are counted. None names all.
        word: First word of the line of a result.
        what: Words of that line before the path of the log.
    """
    for cause in causes_of(((row, row.dataset, row.error) for row in missing), run):
        for row in cause.results[:most]:
            yield f'{word} {row.model} x {row.dataset}: {what} {row.log}'
        if len(cause.results) > len(cause.results[:most]):
            yield f'        and {len(cause.results) - len(cause.results[:most])} more for the same reason'
        whys = list(dict.fromkeys(cause.whys))
        for why in whys[:MOST_NAMED]:
            yield f'  why:  {shorten(why, _MOST_REASON) or "no file reports the error"}'
        if len(whys) > MOST_NAMED:
            yield f'        and {len(whys) - MOST_NAMED} more of the kind'
        first, *then = cause.fix
        yield f'  fix: {first}'
        yield from (f'  then: {step}' for step in then)


def screen(
    models: Sequence[str],
    rows: Sequence[Headline],
    *,
    sampled: Sequence[str] = (),
    findings: Sequence[Finding],
    missing: Sequence[Missing],
    files: Sequence[Path],
    run: Path,
) -> str:
    """Formats the whole screen.

    Args:
        models: Abbrs of the models.
        rows: The main scores.
        sampled: Lines on scores of samples; the first few are shown.
        findings: The findings about the results; the first few are shown.
        missing: The missing results.
        files: Paths of the written files; the second one has all notes.
        run: The run, such as ``outputs/default/20260101_120000``.
    """
    lines, notes = [*leaderboard(models, rows), ''], [one.line for one in shortened(findings)]
    if sampled:
        lines += ['Samples, with the 95% interval of the score of all records:', *sampled[:MOST_ROWS]]
        lines += [f'({len(sampled) - MOST_ROWS} more in the files below)'] if len(sampled) > MOST_ROWS else []
        lines.append('')
    most = MOST_NOTES if len(notes) > MOST_NOTES + 1 else len(notes)
    lines += notes[:most]
    if len(notes) > most:
        lines.append(f'({len(notes) - most} more notes in the files below)')
    lines += missing_lines(missing, run, MOST_NAMED)
    lines += ['all rows (TOOLEVAL_VERBOSE=1 prints them too):', *(f'  {file}' for file in files)]
    lines.append(f'next: tooleval status {shlex.quote(str(run))}')
    if not missing:
        lines.append(f'      tooleval report {shlex.quote(str(run))} -o report')
        if len(models) > 1:
            lines.append(f'      {shlex.join(["tooleval", "compare", str(run), *models[:2]])}')
    return '\n'.join(lines)
