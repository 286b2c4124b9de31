"""Builds the tables of scores: measured models first, then published ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from opencompass_tooleval.catalogue.benchmark import OUR_PREFIX, are_agents
from opencompass_tooleval.catalogue.labels import Words
from opencompass_tooleval.catalogue.metrics import (
    judged_metrics,
    lower_is_better,
    main_first,
    main_metrics,
    words_of_metric,
)
from opencompass_tooleval.catalogue.tables import with_omitted
from opencompass_tooleval.core.statistics.intervals import Score
from opencompass_tooleval.core.statistics.paired import metrics_of
from opencompass_tooleval.report.figure import Table, shown
from opencompass_tooleval.report.names import FAMILIES, family_of, is_variant, title_of
from opencompass_tooleval.report.published import Published, published_on
from opencompass_tooleval.results.table import Cell, Material, cell_of

Columns = Mapping[Score, Mapping[Score, float]]
OVERVIEW = 'overview'
HALVES = ('_json', '_str', '_strict')
"""Endings of columns that a page shows on demand: formats of an ability, and strict readings."""


@dataclass(frozen=True)
class Row:
    """The row of a model.

    Attributes:
        model: Name of the model.
        cells: Its scores.
        source: The publication of the scores; '' if they are measured.
    """

    model: str
    cells: tuple[Cell, ...]
    source: str = ''


@dataclass(frozen=True)
class Board:
    """A table of scores.

    Attributes:
        name: Stem of its files.
        title: Its heading.
        columns: Names of its columns.
        rows: Measured models, then published ones.
        shares: Column -> the scores that it averages, with their shares.
        note: Names the columns that are left out; '' if there are none.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    shares: Mapping[str, Mapping[Score, float]] = field(default_factory=dict)
    note: str = ''

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """The columns in which a measured model has a score."""
        rows = [row for row in self.rows if not row.source]
        return tuple(
            column for i, column in enumerate(self.columns) if any(row.cells[i].value is not None for row in rows)
        )

    @property
    def as_published(self) -> dict[str, str]:
        """Publication -> the measured models whose scores equal the published ones, to the last printed digit."""
        published = {(row.model, row.source): row for row in self.rows if row.source}
        models: dict[str, list[str]] = {}
        for row in (row for row in self.rows if not row.source):
            for (model, source), other in published.items():
                pairs = zip(row.cells, other.cells, strict=True)
                cells = [(ours.value, printed.value) for ours, printed in pairs if ours.value is not None]
                if model == row.model and cells and all(shown(ours) == shown(printed) for ours, printed in cells):
                    models.setdefault(source, []).append(model)
        return {source: ', '.join(names) for source, names in models.items()}

    @property
    def halves(self) -> tuple[str, ...]:
        """The columns that a page shows on demand: parts of another column in which a measured model has a score."""
        return tuple(
            column
            for column in self.columns
            if any(column.removesuffix(ending) in {*self.measured} - {column} for ending in HALVES)
        )

    def words(self, column: str) -> Words:
        """Returns the readable name of a column; in a table of data sets, the data set comes first."""
        if self.name == OVERVIEW:
            return Words(column, '')
        dataset, _, metric = column.rpartition(' ')
        if not dataset:
            return words_of_metric(column)
        name, sentence = words_of_metric(metric)
        return Words(f'{title_of(dataset).removeprefix(self.title).strip()}: {name}', sentence)

    def caveats(self, columns: Sequence[str] = ()) -> list[str]:
        """Returns the distinct caveats of the given columns (default: all), in order; cells refer to them by number."""
        at = [self.columns.index(column) for column in columns or self.columns]
        return list(dict.fromkeys(caveat for row in self.rows for i in at for caveat in row.cells[i].caveats))


def _mark_best(rows: Sequence[Row], columns: Sequence[str]) -> list[Row]:
    cells = [list(row.cells) for row in rows]
    for i, column in enumerate(columns):
        values = [row[i].value for row in cells if row[i].value is not None]
        if len(values) > 1:
            best = (min if lower_is_better(column) else max)(value for value in values if value is not None)
            if values.count(best) == 1:  # a tie has no winner
                for row in cells:
                    row[i] = replace(row[i], best=row[i].value == best)
    return [replace(row, cells=tuple(marked)) for row, marked in zip(rows, cells, strict=True)]


def without_other_data(board: Board, material: Material) -> Board:
    """Removes the columns that no model has because their data sets are not part of these runs."""
    part = {*material.datasets, *(missing.dataset for missing in material.missing)}
    lacks = {name: {dataset for dataset, _ in shares} - part for name, shares in board.shares.items()}
    left_out = {name: lacks[name] for name in board.columns if lacks[name] and name not in board.measured}
    if not left_out or not board.measured:
        return board
    at = [i for i, name in enumerate(board.columns) if name not in left_out]
    columns = tuple(board.columns[i] for i in at)
    rows = tuple(replace(row, cells=tuple(row.cells[i] for i in at)) for row in board.rows)
    titles = [title_of(name) for name in sorted(set().union(*left_out.values()))]
    note = (
        f'Not shown: {", ".join(board.words(name).name for name in left_out)}. No model was asked {", ".join(titles)}.'
    )
    return replace(board, columns=columns, rows=rows, shares={name: board.shares[name] for name in columns}, note=note)


def _published(tables: Iterable[Published], columns: Sequence[str]) -> list[Row]:
    return [
        Row(model, tuple(Cell(scores.get(column)) for column in columns), table.source)
        for table in tables
        for model, scores in table.rows.items()
    ]


def _board(name: str, title: str, shares: Mapping[str, Mapping[Score, float]], material: Material) -> Board:
    scored = material.by_pair()
    rows = [
        Row(model, tuple(cell_of(model, column, scored) for column in shares.values())) for model in material.models
    ]
    rows = [row for row in rows if any(cell.value is not None or cell.caveats for cell in row.cells)]
    columns = tuple(shares)
    if name != OVERVIEW:
        rows = best_first(rows, columns)
    published = _published(published_on(name), columns)
    return Board(name, title, columns, (*_mark_best(rows, columns), *published), shares)


def best_first(rows: Iterable[Row], columns: Sequence[str]) -> list[Row]:
    """Sorts rows by the first column, the best first; equal rows, and those without a score in it, by the next ones."""
    signs = [1 if lower_is_better(column) else -1 for column in columns]

    def key(row: Row) -> list[tuple[bool, float]]:
        pairs = zip(row.cells, signs, strict=True)
        return [(cell.value is None, sign * (cell.value or 0)) for cell, sign in pairs]

    return sorted(rows, key=key)


def _place(column: str) -> tuple[bool, bool, bool]:
    return column != 'overall', column.endswith(('_json', '_str')), column == 'review'


def boards(material: Material, columns: Columns) -> list[Board]:
    """Builds all tables of the measured data sets: an overview, published tables, and tables of the other data sets.

    Args:
        material: The results.
        columns: From :func:`~opencompass_tooleval.catalogue.tables.published_columns`.
    """
    present = set(material.datasets)
    groups: dict[str, dict[str, Mapping[Score, float]]] = {}
    for (name, column), shares in columns.items():
        if any(dataset in present for dataset, _ in shares):
            groups.setdefault(name, {})[column] = shares
    # Overall first, then abilities, then their json and string formats.
    groups = {
        name: {column: shares[column] for column in sorted(shares, key=_place)} for name, shares in groups.items()
    }
    # A table of variants is kept only if a variant was measured: it shares columns with the table of the originals.
    groups = {
        name: group
        for name, group in groups.items()
        if not is_variant(name)
        or any(dataset in present and is_variant(dataset) for shares in group.values() for dataset, _ in shares)
    }
    groups = {name: group for name, group in groups.items() if any(_whole(group, material, measured=False))}
    grouped = {dataset for group in groups.values() for shares in group.values() for dataset, _ in shares}
    alone: dict[str, dict[str, Mapping[Score, float]]] = {}
    for entry in sorted(material.scored, key=lambda entry: entry.dataset):
        for metric in main_first(metrics_of(entry.result)) if entry.dataset not in grouped else ():
            family = family_of(entry.dataset)
            # An agent has a dozen metrics, so each data set gets its own table.
            is_table = are_agents(family)
            name = entry.dataset if is_table else family
            column = metric if is_table else f'{entry.dataset} {metric}'.removeprefix(OUR_PREFIX)
            alone.setdefault(name, {})[column] = {(entry.dataset, metric): 1.0}
    overview = _overview(groups, alone, material)
    tables = [_board(name, title_of(name), group, material) for name, group in groups.items()]
    tables += [_board(name, title_of(name), rest, material) for name, rest in alone.items()]
    if overview:
        tables.insert(0, _board(OVERVIEW, 'Overview', overview, material))
    tables.sort(key=lambda board: (board.name != OVERVIEW, list(FAMILIES).index(family_of(board.name))))
    return [board for board in tables if any(not row.source for row in board.rows)]


def _whole(columns: Mapping[str, Mapping[Score, float]], material: Material, measured: bool) -> list[list[str]]:
    """Returns for each model the columns for which it has every data set and, with ``measured``, every score."""
    done = material.by_pair()

    def has(model: str, score: Score) -> bool:
        entry = done.get((model, score[0]))
        return entry is not None and not (measured and entry.number(score[1]) is None)

    return [
        [name for name, shares in columns.items() if all(has(model, score) for score in shares)]
        for model in material.models
    ]


def _overview(
    groups: Mapping[str, Mapping[str, Mapping[Score, float]]],
    alone: Mapping[str, Mapping[str, Mapping[Score, float]]],
    material: Material,
) -> dict[str, Mapping[Score, float]]:
    """Returns the scores that represent each table (overall or abilities) and each other data set, by benchmark."""
    rows: list[tuple[str, str, Mapping[Score, float]]] = []
    for name, columns in groups.items():
        measured = _whole(columns, material, measured=True)
        of_models = measured if any(measured) else _whole(columns, material, measured=False)
        whole = [column for column in columns if any(column in names for names in of_models)]
        for column in with_omitted(main_metrics(whole), columns, measured):
            ending = '' if column == 'overall' else f', {words_of_metric(column).name.lower()}{_unjudged(column)}'
            rows.append((family_of(name), title_of(name) + ending, columns[column]))
    scores: dict[str, dict[str, Mapping[Score, float]]] = {}
    for columns in alone.values():
        for shares in columns.values():
            ((dataset, metric),) = shares
            scores.setdefault(dataset, {})[metric] = shares
    # Per model, so that a judge's score that only one model has does not hide the other models' scores.
    main_metric_counts: dict[str, Counter[str]] = {}
    for entry in material.scored:
        counts = main_metric_counts.setdefault(entry.dataset, Counter())
        counts.update(main_metrics(metrics_of(entry.result)))
    for dataset, by_metric in scores.items():
        main, family = [metric for metric, _ in main_metric_counts[dataset].most_common()], family_of(dataset)
        for metric in main:
            is_named = are_agents(family) or len(main) > 1
            ending = f', {words_of_metric(metric).name}{_unjudged(metric)}' if is_named else ''
            rows.append((family, title_of(dataset) + ending, by_metric[metric]))
    return {title: shares for _, title, shares in sorted(rows, key=lambda row: list(FAMILIES).index(row[0]))}


def _unjudged(metric: str) -> str:
    return ' (not judged)' if metric in judged_metrics() else ''


def board_table(board: Board) -> Table:
    """Converts a board to a table of text, for the files."""
    columns = ['model', 'source']
    for column in board.columns:
        columns += [column, f'{column} SE', f'{column} notes']
    rows = [
        (row.model, row.source or 'measured', *(text for cell in row.cells for text in _texts(cell)))
        for row in board.rows
    ]
    return Table(f'board-{board.name}', board.title, tuple(columns), tuple(rows))


def printed_table(board: Board) -> Table:
    """Converts a board for print: a column per score, with its error, a star for the best, a dagger for caveats."""
    rows = [(f'{row.model} (published)' if row.source else row.model, *map(_printed, row.cells)) for row in board.rows]
    return Table(f'board-{board.name}', board.title, ('model', *board.columns), tuple(rows))


def _printed(cell: Cell) -> str:
    error = '' if cell.error is None else f' ± {shown(cell.error)}'
    return shown(cell.value) + error + ' ★' * cell.best + ' †' * bool(cell.value is not None and cell.caveats)


def _texts(cell: Cell) -> tuple[str, str, str]:
    notes = [*cell.caveats, *(f'missing: {dataset}' for dataset in cell.lacks)]
    return shown(cell.value), shown(cell.error), '; '.join(notes)
