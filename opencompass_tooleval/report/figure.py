"""Data of charts, independent of the library that draws them, and their colours and marks."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Number = float | None
_NUMBER = re.compile(r'[-+\d.,%]*')


@dataclass(frozen=True)
class Series:
    """One line, set of bars, or set of points.

    Attributes:
        name: Name in the legend.
        values: One per label; None if missing.
        x: Positions of points and lines; otherwise the labels are the positions.
        errors: Lower and upper error of each value; None if unknown.
        published: True if the values are printed in a paper, not measured here.
    """

    name: str
    values: tuple[Number, ...]
    x: tuple[Number, ...] = ()
    errors: tuple[tuple[float, float] | None, ...] = ()
    published: bool = False


Kind = Literal['radar', 'bars', 'rows', 'stacked', 'heat', 'points', 'lines', 'differences']
"""``rows`` are horizontal bars: room for a long label each."""


@dataclass(frozen=True)
class Figure:
    """A chart's data.

    Attributes:
        name: Stem of its files.
        section: The part of the page that it belongs to.
        title: Its heading.
        kind: The kind of drawing.
        labels: The categories; for points, names of the published ones.
        series: The data.
        x_title: Title of the horizontal axis, or ''.
        y_title: Title of the vertical axis, or ''.
        note: Notes for the reader.
        choice: Distinguishes figures with the same title, such as by model.
        links: Series and label -> fragment of the sample browser.
        top: Upper end of the axis; None to fit.
        board: The table beside which it is shown; '' for none.
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
    board: str = ''

    def is_empty(self) -> bool:
        """True if there is nothing to draw."""
        return not any(value is not None for series in self.series for value in series.values)

    @property
    def height(self) -> int:
        """Height of the chart in a page, in pixels: with room for rows of labels, and for the legend."""
        if self.kind in ('rows', 'differences'):
            lines = [wrapped(label).count('\n') + 1 for label in self.labels]
            return 120 + len(lines) * max(26, 12 + 14 * max(lines, default=1))
        legend = 0 if self.kind == 'heat' else 10 * min(len(self.series), 40)
        tall = {'radar': 320, 'points': 420, 'bars': 280 + 60 * (len(self.labels) > 6)}  # many labels are slanted
        return tall.get(self.kind, 280) + legend

    def names_of(self, series: Series) -> tuple[str, ...]:
        """Returns the names of the points of a series; none if they have the series' name."""
        is_named = self.kind == 'points' and series.published and len(self.labels) == len(series.values)
        return self.labels if is_named else ()


@dataclass(frozen=True)
class Table:
    """Text in rows and columns.

    Attributes:
        name: Stem of its files.
        title: Its heading.
        columns: Names of its columns.
        rows: One text per column.
        links: One fragment of the sample browser per cell, '' for none; or no rows.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    links: tuple[tuple[str, ...], ...] = ()

    @property
    def texts(self) -> list[int]:
        """Places of the columns that have other cells than numbers."""
        return [i for i, cells in enumerate(zip(*self.rows, strict=True)) if not all(map(_NUMBER.fullmatch, cells))]


def slug(name: str) -> str:
    """Converts a name to a part of a file name."""
    return re.sub(r'[^A-Za-z0-9_-]', '_', name)[:100]


def mean(values: Iterable[object]) -> Number:
    """Computes the mean of the numbers among the values; None if there is none."""
    numbers = [float(value) for value in values if isinstance(value, (int, float))]
    return sum(numbers) / len(numbers) if numbers else None


CUT = 40
"""Maximum number of characters of a name in a chart."""
LINE = 36
"""Number of characters of a line of a name that has a row."""
FEW = 15
"""Maximum number of points that are named in the chart."""


def short_names(names: Sequence[str]) -> list[str]:
    """Shortens names in the middle; adds numbers to names that became equal."""
    shortened: dict[str, str] = {}
    for name in dict.fromkeys(names):
        short, number = short_name(name), 1
        while short in shortened.values():
            number += 1
            tail = f' ({number})'
            short = short_name(name, CUT - len(tail)) + tail
        shortened[name] = short
    return [shortened[name] for name in names]


def wrapped(name: str) -> str:
    """Breaks a name into lines for an axis on which it has a row; a very long one is shortened."""
    return '\n'.join(textwrap.wrap(short_name(' '.join(name.split()), 3 * LINE), LINE)) or ' '


def short_name(name: str, most: int = CUT) -> str:
    """Shortens a name in the middle to a maximum length."""
    head = most // 2
    return name if len(name) <= most else f'{name[:head]}…{name[len(name) - (most - head - 1) :]}'


def shown(value: Number, digits: int = 2) -> str:
    """Formats a number; '' for None."""
    return '' if value is None else f'{round(value, digits) + 0.0:.{digits}f}'


def as_table(figure: Figure) -> Table:
    """Converts a chart to a table: a row per label, a column per series; for points and lines a row per point."""
    if figure.kind in ('points', 'lines'):
        rows = tuple(
            (f'{name} (published)' if series.published else name, shown(x), shown(y))
            for series in figure.series
            for name, x, y in zip(
                figure.names_of(series) or (series.name,) * len(series.x), series.x, series.values, strict=True
            )
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


COLOURS = ('#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#D55E00', '#B8A900', '#7F7F7F')
PUBLISHED_COLOUR = '#888888'
RIGHT_COLOUR = '#BDBDBD'
"""Colour of correct answers among the reasons: grey, so that lost points stand out."""
DASHES = ('solid', 'dash', 'dashdot')
MARKERS = ('circle', 'square', 'diamond', 'triangle-up', 'triangle-down', 'pentagon', 'star', 'hexagon')
HATCHES = ('', '\\', '.')
