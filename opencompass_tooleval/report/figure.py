"""Chart data, independent of the drawing library, and colours and marks."""

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
        values: One value per label or point; None if missing.
        x: Horizontal positions, for points and lines only.
        errors: Lower and upper error of each value, in its unit; None if unknown.
        published: True if the values come from a paper and were not measured here.
    """

    name: str
    values: tuple[Number, ...]
    x: tuple[Number, ...] = ()
    errors: tuple[tuple[float, float] | None, ...] = ()
    published: bool = False


Kind = Literal['bars', 'rows', 'stacked', 'points', 'lines', 'differences']
"""``rows`` are horizontal bars, which have room for long labels."""


@dataclass(frozen=True)
class Figure:
    """A chart's data.

    Attributes:
        name: Stem of its files.
        section: The page, or the part of a page, that it belongs to.
        title: Its heading.
        kind: The kind of drawing.
        labels: The categories; for points, the names of the published points.
        series: The data.
        x_title: Title of the horizontal axis, or ''.
        y_title: Title of the vertical axis, or ''.
        note: Notes for the reader.
        choice: Distinguishes figures with the same title, such as by model.
        links: Per series and label, a link fragment for the sample browser.
        top: Upper end of the value axis; None to fit the data.
        board: The table next to which the chart is shown; '' for none.
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
        """Height of the chart in a page, in pixels, with room for labels and legend."""
        if self.kind in ('rows', 'differences'):
            lines = [wrapped(label).count('\n') + 1 for label in self.labels]
            return 120 + len(lines) * max(26, 12 + 14 * max(lines, default=1))
        tall = {'points': 420, 'bars': 280 + 60 * (len(self.labels) > 6)}  # many labels are slanted
        return tall.get(self.kind, 280) + 10 * min(len(self.series), 40)

    def names_of(self, series: Series) -> tuple[str, ...]:
        """Returns the names of the points of a series; empty if they have the series' name."""
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
        links: Per row and cell, a link fragment for the sample browser or ''; empty for a table without links.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    links: tuple[tuple[str, ...], ...] = ()

    @property
    def texts(self) -> list[int]:
        """Indices of the columns that do not only contain numbers."""
        return [i for i, cells in enumerate(zip(*self.rows, strict=True)) if not all(map(_NUMBER.fullmatch, cells))]


def slug(name: str) -> str:
    """Converts a name to a part of a file name, of at most 100 characters."""
    return re.sub(r'[^A-Za-z0-9_-]', '_', name)[:100]


def mean(values: Iterable[object]) -> Number:
    """Computes the mean of the numbers among the values; None if there are no numbers."""
    numbers = [float(value) for value in values if isinstance(value, (int, float))]
    return sum(numbers) / len(numbers) if numbers else None


CUT = 40
"""Maximum number of characters of a name in a chart."""
LINE = 36
"""Maximum number of characters per line of a wrapped name."""
FEW = 15
"""Maximum number of points with names in the chart."""


def short_names(names: Sequence[str], most: int = CUT) -> list[str]:
    """Shortens names in the middle to a maximum length; numbers names that become equal."""
    shortened: dict[str, str] = {}
    for name in dict.fromkeys(names):
        short, number = short_name(name, most), 1
        while short in shortened.values():
            number += 1
            tail = f' ({number})'
            short = short_name(name, most - len(tail)) + tail
        shortened[name] = short
    return [shortened[name] for name in names]


def wrapped(name: str) -> str:
    """Breaks a name into lines, for an axis with a row per name; very long names are shortened."""
    return '\n'.join(textwrap.wrap(short_name(' '.join(name.split()), 3 * LINE), LINE)) or ' '


def short_name(name: str, most: int = CUT) -> str:
    """Shortens a name in the middle to a maximum length."""
    head = most // 2
    return name if len(name) <= most else f'{name[:head]}…{name[len(name) - (most - head - 1) :]}'


def shown(value: Number, digits: int = 2) -> str:
    """Formats a number; '' for None."""
    return '' if value is None else f'{round(value, digits) + 0.0:.{digits}f}'


def as_table(figure: Figure) -> Table:
    """Converts a chart to a table: a row per label and a column per series; for points and lines, a row per point."""
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
"""Colour of correct answers in charts of reasons: grey, so that lost points stand out."""
DASHES = ('solid', 'dash', 'dashdot')
MARKERS = ('circle', 'square', 'diamond', 'triangle-up', 'triangle-down', 'pentagon', 'star', 'hexagon')
HATCHES = ('', '\\', '.')
PUBLISHED_HATCHES = ('/', 'x', '-', '|', '+')
