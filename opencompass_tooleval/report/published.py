"""Reads published scores for comparison: a file per table in ``published_tables/``, each with its source.

A file begins with ``# source:``, the publication, and ``# boards:``, the report's tables with the same columns
(T-Eval's leaderboards do not name a version of the data). Numbers are as printed. A cell is empty if the paper has no
number, or if our copy of the paper does not show it clearly (EasyTool, Table 5).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from opencompass_tooleval.report.figure import Table

FOLDER = Path(__file__).parent / 'published_tables'


@dataclass(frozen=True)
class Published:
    """A published table.

    Attributes:
        source: The publication.
        boards: Names of the report's tables that show it.
        columns: Names of its columns; the report's names if the columns are the same.
        rows: Model -> column -> score.
    """

    source: str
    boards: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Mapping[str, Mapping[str, float | None]]


@cache
def published(name: str) -> Published:
    """Reads a table, such as ``ultratool_main_en``."""
    lines = (FOLDER / f'{name}.csv').read_text(encoding='utf-8').splitlines()
    head = dict(line[2:].split(': ', 1) for line in lines if line.startswith('# '))
    (_, *columns), *rows = csv.reader(line for line in lines if not line.startswith('# '))
    return Published(
        head['source'],
        tuple(head.get('boards', '').split()),
        tuple(columns),
        {
            model: {name: float(cell) if cell else None for name, cell in zip(columns, cells, strict=True)}
            for model, *cells in rows
        },
    )


def published_table(name: str) -> Table:
    """Returns a published table as printed, for a page that has no table with the same columns."""
    table = published(name)
    rows = (
        (model, *('' if value is None else f'{value:g}' for value in scores.values()))
        for model, scores in table.rows.items()
    )
    short = name.partition('_')[2]
    return Table(f'published-{short}', f'Published: {table.source}', ('', *table.columns), tuple(rows))


@cache
def published_on(board: str) -> tuple[Published, ...]:
    """Returns the published tables that have the same columns as a table of the report."""
    tables = (published(file.stem) for file in sorted(FOLDER.glob('*.csv')))
    return tuple(table for table in tables if board in table.boards)
