"""The leaderboard: measured models, and apart from them the published ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from opencompass_tooleval.core.benchmark import BENCHMARKS, find_benchmark
from opencompass_tooleval.core.intervals import Score
from opencompass_tooleval.core.paired import metrics_of
from opencompass_tooleval.core.tables import column_error, errors_of
from opencompass_tooleval.report.figure import Number, Table, shown
from opencompass_tooleval.report.marks import marks_of
from opencompass_tooleval.report.published import Published, published_on
from opencompass_tooleval.report.read import Material, Scored

Columns = Mapping[Score, Mapping[Score, float]]


@dataclass(frozen=True)
class Cell:
    """A score.

    Attributes:
        value: 0-100; None if it is not there.
        error: Its standard error; None if it is not known.
        best: Whether no measured model is better.
        marks: Why it does not compare with published ones.
        lacks: Data sets without which there is no score.
    """

    value: Number = None
    error: Number = None
    best: bool = False
    marks: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A model. ``source`` says where its scores are printed, '' that they are measured."""

    model: str
    cells: tuple[Cell, ...]
    source: str = ''


@dataclass(frozen=True)
class Board:
    """A table of scores.

    Attributes:
        name: Stem of its files.
        title: Its heading.
        columns: What the cells are.
        rows: Measured models, then published ones.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def marks(self, columns: Sequence[str] = ()) -> list[str]:
        """Every reason once, in order, of some columns or of all; a cell refers to them by number."""
        at = [self.columns.index(column) for column in columns or self.columns]
        return list(dict.fromkeys(mark for row in self.rows for i in at for mark in row.cells[i].marks))


def lower_is_better(metric: str) -> bool:
    """Whether a metric counts errors."""
    return metric.endswith(('error', 'error_rate'))


def cell_of(model: str, shares: Mapping[Score, float], known: Mapping[tuple[str, str], Scored]) -> Cell:
    """A column of a table for a model; see :func:`~opencompass_tooleval.core.tables.column_error`."""
    lacks = tuple(dict.fromkeys(dataset for dataset, _ in shares if (model, dataset) not in known))
    parts = {score: known[model, score[0]] for score in shares if score[0] not in lacks}
    values = {score: entry.number(score[1]) for score, entry in parts.items()}
    unmeasured = tuple(f'{score[0]} {score[1]}' for score, value in values.items() if value is None)
    marks = tuple(dict.fromkeys(mark for entry in parts.values() for mark in marks_of(entry)))
    if lacks or unmeasured:
        return Cell(marks=marks if parts else (), lacks=(*lacks, *unmeasured))
    known_errors = {score: errors_of(entry.result) for score, entry in parts.items()}
    errors = {score: mine[score[1]] for score, mine in known_errors.items() if score[1] in mine}
    value = math.fsum(share * float(values[score] or 0) for score, share in shares.items())
    return Cell(value, column_error(shares, errors), marks=marks)


def _mark_best(rows: Sequence[Row], columns: Sequence[str]) -> list[Row]:
    cells = [list(row.cells) for row in rows]
    for i, column in enumerate(columns):
        values = [row[i].value for row in cells if row[i].value is not None]
        if len(values) > 1:
            best = (min if lower_is_better(column) else max)(value for value in values if value is not None)
            for row in cells:
                row[i] = replace(row[i], best=row[i].value == best)
    return [replace(row, cells=tuple(mine)) for row, mine in zip(rows, cells, strict=True)]


def _published(tables: Iterable[Published], columns: Sequence[str]) -> list[Row]:
    return [
        Row(model, tuple(Cell(scores.get(column)) for column in columns), table.source)
        for table in tables
        for model, scores in table.rows.items()
    ]


def _board(name: str, title: str, shares: Mapping[str, Mapping[Score, float]], material: Material) -> Board:
    known = material.by_pair()
    rows = [Row(model, tuple(cell_of(model, mine, known) for mine in shares.values())) for model in material.models]
    rows = [row for row in rows if any(cell.value is not None or cell.marks for cell in row.cells)]
    columns = tuple(shares)
    return Board(name, title, columns, (*_mark_best(rows, columns), *_published(published_on(name), columns)))


def title_of(name: str) -> str:
    """``tooleval-teval_v2_zh-easytool`` as a heading."""
    text = name.removeprefix('tooleval-').replace('_', ' ')
    name = text.replace('-', ' ').partition(' ')[0]
    if name not in BENCHMARKS:
        return text
    benchmark, rest = find_benchmark(name), text.removeprefix(name)
    if rest.startswith('-'):  # tables by method
        return f'{benchmark.title}, {rest[1:]}'
    return benchmark.title + rest.replace('-easytool', ' with EasyTool instructions')


def _place(column: str) -> tuple[bool, bool]:
    return column != 'overall', column.endswith(('_json', '_str'))


def boards(material: Material, columns: Columns) -> list[Board]:
    """All tables that a data set at hand belongs to, the data sets in none of them, and an overview before these.

    Args:
        material: What was measured.
        columns: As :func:`~opencompass_tooleval.sweep.tables.published_columns` gives it.
    """
    present = set(material.datasets)
    groups: dict[str, dict[str, Mapping[Score, float]]] = {}
    for (name, column), shares in columns.items():
        if any(dataset in present for dataset, _ in shares):
            groups.setdefault(name, {})[column] = shares
    # Overall first, then abilities, then their json and string halves.
    groups = {name: {column: mine[column] for column in sorted(mine, key=_place)} for name, mine in groups.items()}
    # A table of variants counts only if a variant is there: it borrows columns from the one without.
    groups = {
        name: mine
        for name, mine in groups.items()
        if not (name.endswith('-easytool') and 'funcqa' not in name)
        or any(
            dataset in present and dataset.endswith('-easytool') for shares in mine.values() for dataset, _ in shares
        )
    }
    grouped = {dataset for mine in groups.values() for shares in mine.values() for dataset, _ in shares}
    alone = {
        f'{entry.dataset} {metric}': {(entry.dataset, metric): 1.0}
        for entry in sorted(material.scored, key=lambda entry: entry.dataset)
        if entry.dataset not in grouped
        for metric in metrics_of(entry.result)
    }
    overview = {title_of(name): mine['overall'] for name, mine in groups.items() if 'overall' in mine}
    firsts: dict[str, str] = {}
    for column in alone:
        firsts.setdefault(column.rpartition(' ')[0], column)
    overview |= {column.removeprefix('tooleval-'): alone[column] for column in firsts.values()}
    found = [_board(name, title_of(name), mine, material) for name, mine in groups.items()]
    if alone:
        short = {column.removeprefix('tooleval-'): shares for column, shares in alone.items()}
        found.append(_board('others', 'Other data sets', short, material))
    if len(found) > 1 and overview:
        found.insert(0, _board('overview', 'Overview', overview, material))
    return [board for board in found if any(not row.source for row in board.rows)]


def board_table(board: Board) -> Table:
    """A board as text, for the files."""
    columns = ['model', 'source']
    for column in board.columns:
        columns += [column, f'{column} SE', f'{column} notes']
    rows = [
        (row.model, row.source or 'measured', *(text for cell in row.cells for text in _texts(cell)))
        for row in board.rows
    ]
    return Table(f'board-{board.name}', board.title, tuple(columns), tuple(rows))


def printed_table(board: Board) -> Table:
    """A board for print: a column per score, with its error, a star for the best and a dagger where notes say more."""
    rows = [(f'{row.model} (published)' if row.source else row.model, *map(_printed, row.cells)) for row in board.rows]
    return Table(f'board-{board.name}', board.title, ('model', *board.columns), tuple(rows))


def _printed(cell: Cell) -> str:
    error = '' if cell.error is None else f' ± {shown(cell.error)}'
    return shown(cell.value) + error + ' ★' * cell.best + ' †' * bool(cell.value is not None and cell.marks)


def _texts(cell: Cell) -> tuple[str, str, str]:
    notes = [*cell.marks, *(f'missing: {dataset}' for dataset in cell.lacks)]
    return shown(cell.value), shown(cell.error), '; '.join(notes)
