"""What a chart shows, whatever draws it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Number = float | None


@dataclass(frozen=True)
class Series:
    """One line, set of bars, or set of points.

    Attributes:
        name: In the legend.
        values: One per label; None where there is nothing.
        x: Of points and lines: where they are; else the labels are.
        errors: How far each value reaches down and up; None where that is not known.
        published: Whether the values are printed in a paper, not measured here.
    """

    name: str
    values: tuple[Number, ...]
    x: tuple[Number, ...] = ()
    errors: tuple[tuple[float, float] | None, ...] = ()
    published: bool = False


Kind = Literal['radar', 'bars', 'stacked', 'heat', 'points', 'lines']


@dataclass(frozen=True)
class Figure:
    """A chart's data.

    Attributes:
        name: Stem of its files.
        section: The part of the page it belongs to.
        title: Its heading.
        kind: How it is drawn.
        labels: The categories; of points and lines, those of the first series' points.
        series: What is shown.
        x_title: Of the axis with numbers across, or ''.
        y_title: Of the other.
        note: What a reader has to know.
        choice: Where several figures share a title: what tells this one apart, such as a model.
        links: Series and label -> fragment of the sample browser.
        top: Upper end of the axis; None to fit.
    """

    name: str
    section: str
    title: str
    kind: Kind
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    x_title: str = ''
    y_title: str = ''
    note: str = ''
    choice: str = ''
    links: tuple[tuple[str, ...], ...] = ()
    top: float | None = 100

    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(value is not None for series in self.series for value in series.values)


@dataclass(frozen=True)
class Table:
    """Text in rows and columns.

    Attributes:
        name: Stem of its files.
        title: Its heading.
        columns: Their names.
        rows: One text per column.
        links: One fragment of the sample browser per cell, '' for none; or no rows at all.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    links: tuple[tuple[str, ...], ...] = ()


def slug(name: str) -> str:
    """A name as part of a file's."""
    return re.sub(r'[^A-Za-z0-9_-]', '_', name)[:100]


def shown(value: Number, digits: int = 2) -> str:
    """A number as text; '' for none."""
    return '' if value is None else f'{round(value, digits) + 0.0:.{digits}f}'


def as_table(figure: Figure) -> Table:
    """The numbers of a chart: a row per label, a column per series; of points and lines a row per point."""
    if figure.kind in ('points', 'lines'):
        rows = tuple(
            (series.name, shown(x), shown(y))
            for series in figure.series
            for x, y in zip(series.x, series.values, strict=True)
        )
        return Table(figure.name, figure.title, ('', figure.x_title, figure.y_title), rows)
    columns = ['']
    for series in figure.series:
        columns += [series.name, f'{series.name}: down', f'{series.name}: up'] if series.errors else [series.name]
    rows_, links = [], []
    for i, label in enumerate(figure.labels):
        row, link = [label], ['']
        for number, series in enumerate(figure.series):
            row.append(shown(series.values[i]))
            link.append(figure.links[number][i] if figure.links else '')
            if series.errors:
                row += [shown(side) for side in series.errors[i] or (None, None)]
                link += ['', '']
        rows_.append(tuple(row))
        links.append(tuple(link))
    return Table(figure.name, figure.title, tuple(columns), tuple(rows_), tuple(links) if figure.links else ())
