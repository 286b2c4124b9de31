"""Formats the last screen of a sweep: a small leaderboard, failures with their causes, paths. Pure text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import get_terminal_size
from types import MappingProxyType

from opencompass_tooleval.catalogue.benchmark import OUR_PREFIX
from opencompass_tooleval.catalogue.metrics import OVERALL, judged_metrics, lower_is_better, main_metrics
from opencompass_tooleval.catalogue.tables import with_omitted
from opencompass_tooleval.core.errors import first_of, shorten
from opencompass_tooleval.core.statistics.intervals import Score
from opencompass_tooleval.findings.finding import Finding, shortened
from opencompass_tooleval.report.figure import Number, short_name, short_names, shown
from opencompass_tooleval.results.table import Missing
from opencompass_tooleval.work_dir.causes import MOST_NAMED, causes_of

WIDTH = 80
"""Width of the screen if it is not a terminal."""
MOST_ROWS = 12
MOST_NOTES = 4
_FEW_MODELS = 4
_MOST_REASON = 300
_NARROW = 9
"""Minimum width of a name, even if the row becomes wider than the screen."""
_WIDEST_HEAD = 11
"""Width at which the head of a table's column is wrapped."""
_LONGEST_WORD = 40
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
        kept = with_omitted(main, parts, measured)
        headlines += [
            Headline(name, metric, by_metric[metric], is_main=not lacking and metric in main) for metric in kept
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


def _wrapped(name: str, width: int) -> list[str]:
    """Breaks a head into lines of ``width`` characters, after hyphens, underscores and spaces; cuts only long words."""
    lines = ['']
    for word in re.findall(r'[^-_ ]*[-_ ]|[^-_ ]+', name):
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > width:
            lines.append('')
        lines[-1] += short_name(word, _LONGEST_WORD)
    return lines


def _left(names: Sequence[str], most: int) -> list[str]:
    """Cuts names to ``most`` characters in the middle, and pads them to one width."""
    cut = short_names(names, max(_NARROW, most))
    return [name.ljust(max(map(len, cut))) for name in cut]


def _lines(heads: Sequence[Sequence[str]], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligns rows to the right below heads of several lines, which end on one line."""
    height = max(map(len, heads))
    whole = [*zip(*([*[''] * (height - len(head)), *head] for head in heads), strict=True), *rows]
    widths = [max(map(len, column)) for column in zip(*whole, strict=True)]
    return ['  '.join(map(str.rjust, row, widths)).rstrip() for row in whole]


def cost_rows(models: Sequence[str], means: Mapping[str, tuple[Number, Number, Number]]) -> list[Headline]:
    """Returns tokens and cost as rows beside the scores, without those that are unknown for all models.

    Args:
        models: Abbrs of the models.
        means: Model -> prompt tokens and answer tokens of a task, and cost of 1,000 answers; None if unknown.
    """
    those = [means.get(model, (None, None, None)) for model in models]
    tokens = [NONE if None in (a, b) else f'{shown(a, 0)} + {shown(b, 0)}' for a, b, _ in those]
    costs = [shown(cost) or NONE for *_, cost in those]
    rows = [Headline('tokens', 'in + out', tokens, False), Headline('cost', '1,000 answers', costs, False)]
    return [row for row in rows if not row.is_empty]


def leaderboard(
    models: Sequence[str],
    rows: Sequence[Headline],
    width: int = WIDTH,
    spent: Sequence[Headline] = (),
    in_all: Number = None,
) -> list[str]:
    """Formats at most twelve rows with the main scores: a row per table, or per model for many, the best first.

    Args:
        models: Abbrs of the models.
        rows: The main scores.
        width: Columns of the terminal; tables that do not fit are counted.
        spent: Tokens and cost beside the scores.
        in_all: Cost of all answers of the run so far; None without prices.
    """
    if not rows:
        return []
    few = len(models) <= _FEW_MODELS
    if few:
        chosen = _chosen(rows, MOST_ROWS)
        whole, room = [*chosen, *spent], width - (_NARROW + 2) * len(models) - 2
        metrics = _left(['metric', *(row.metric for row in whole)], room // 2)
        names = _left(['benchmark', *(row.name.removeprefix(OUR_PREFIX) for row in whole)], room - len(metrics[0]))
        cells = [[*left, *row.scores] for *left, row in zip(names[1:], metrics[1:], whole, strict=True)]
        for most in range(_LONGEST_WORD, _NARROW - 1, -1):
            lines = _lines([names[:1], metrics[:1], *(_wrapped(model, most) for model in models)], cells)
            if max(map(len, lines)) <= width:
                break
    else:
        rows = [row for row in rows if not row.is_empty] or rows  # a column of dashes takes room
        for most in range(len(rows), 0, -1):
            chosen = _chosen(rows, most)
            best = sorted(range(len(models)), key=lambda i: [_rank(row, i) for row in (*chosen, *rows)])[:MOST_ROWS]
            names = _left(['model', *(models[i] for i in best)], width * 2 // 5)
            whole, known = [*chosen, *spent], [row.name for row in chosen]
            heads = [names[:1], *(_head(row, known.count(row.name) > 1 or not row.is_main) for row in whole)]
            cells = [[name, *(row.scores[i] for row in whole)] for i, name in zip(best, names[1:], strict=True)]
            lines = _lines(heads, cells)
            if max(map(len, lines)) <= width:
                break
    hidden = [row for row in rows if row not in chosen]
    main = [row for row in hidden if row.is_main]
    counts = {'more table': len(main), 'other score': len(hidden) - len(main)}
    counts |= {} if few else {'more model': len(models) - MOST_ROWS}
    more = ' and '.join(f'{count} {what}{"s" * (count > 1)}' for what, count in counts.items() if count > 0)
    lacks, where = any(NONE in row.scores for row in chosen), 'rows below it' if few else 'next columns'
    lines.append(f"Each table's main score, 0 to 100, higher is better{f'; {NONE}: no score' if lacks else ''}.")
    others = f'Where a main score is missing, the {where} have the other scores.'
    lines += [] if all(row.is_main for row in chosen) else [others]
    lines += [f'{PART} not all records were asked'] * any(PART in score for row in chosen for score in row.scores)
    lines += ['tokens, cost: means over the same data sets for all models'] if spent else []
    lines += [] if in_all is None else [f'Cost in all, with judges and simulators: {in_all:,.2f}']
    of = first_of([f'{row.name.removeprefix(OUR_PREFIX)} {row.metric}' for row in main], 3)
    return [*lines, *([f'({more} in the files below{f": {of}" if of and not few else ""})'] if more else [])]


def _head(row: Headline, with_metric: bool) -> list[str]:
    """Returns the lines of the head of a column: name, and metric if several columns have that name."""
    name = _wrapped(row.name.removeprefix(OUR_PREFIX), _WIDEST_HEAD)
    return [*name, *_wrapped(row.metric, _WIDEST_HEAD)] if with_metric else name


def _rank(row: Headline, model: int) -> tuple[bool, float]:
    """Returns the key that sorts models by a column: the best first, models without a score last."""
    score, sign = row.scores[model].removesuffix(PART), 1 if lower_is_better(row.metric) else -1
    return score == NONE, 0.0 if score == NONE else sign * float(score)


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
        if others := cause.results[most:] if most else ():
            named = {row.model for row in cause.results[:most]}
            models = first_of(list(dict.fromkeys(row.model for row in others if row.model not in named)), MOST_ROWS)
            yield f'        and {len(others)} more for the same reason{f", of {models} too" if models else ""}'
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
    blocks: Mapping[str, Sequence[str]] = MappingProxyType({}),
    spent: Sequence[Headline] = (),
    in_all: Number = None,
    findings: Sequence[Finding],
    missing: Sequence[Missing],
    files: Sequence[Path],
    run: Path,
) -> str:
    """Formats the whole screen.

    Args:
        models: Abbrs of the models.
        rows: The main scores.
        blocks: Heading -> lines, such as those on scores of samples; the first few are shown.
        spent: Tokens and cost beside the scores.
        in_all: Cost of all answers of the run so far; None without prices.
        findings: The findings about the results; the first few are shown.
        missing: The missing results.
        files: Paths of the written files; the second one has all notes.
        run: The run, such as ``outputs/default/20260101_120000``.
    """
    width = get_terminal_size((WIDTH, 24)).columns
    lines, notes = [*leaderboard(models, rows, width, spent, in_all), ''], [one.line for one in shortened(findings)]
    for heading, those in blocks.items():
        more = [f'({len(those) - MOST_ROWS} more in the files below)'] if len(those) > MOST_ROWS else []
        lines += [heading, *those[:MOST_ROWS], *more, ''] if those else []
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
