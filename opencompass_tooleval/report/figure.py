"""What a chart shows, whatever draws it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Number = float | None
FORMATS = ('svg', 'png', 'pdf')
"""What charts are written as for a paper."""


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


Kind = Literal['radar', 'bars', 'stacked', 'heat', 'points', 'lines', 'differences']


@dataclass(frozen=True)
class Figure:
    """A chart's data.

    Attributes:
        name: Stem of its files.
        section: The part of the page it belongs to.
        title: Its heading.
        kind: How it is drawn.
        labels: The categories; of points, what each of the published ones is called.
        series: What is shown.
        x_title: Of the axis with numbers across, or ''.
        y_title: Of the other.
        note: What a reader has to know.
        choice: Where several figures share a title: what tells this one apart, such as a model.
        links: Series and label -> fragment of the sample browser.
        top: Upper end of the axis; None to fit.
        board: The table that it stands beside; '' for none.
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
        """Whether there is nothing to draw."""
        return not any(value is not None for series in self.series for value in series.values)

    @property
    def height(self) -> int:
        """Of the chart in a page, in pixels: a row per difference, else all alike."""
        return max(160, 26 * len(self.labels) + 80) if self.kind == 'differences' else 320

    def names_of(self, series: Series) -> tuple[str, ...]:
        """Of points: what each of a series is called; none if it is the series' name."""
        is_named = self.kind == 'points' and series.published and len(self.labels) == len(series.values)
        return self.labels if is_named else ()


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


def mean(values: Iterable[object]) -> Number:
    """The mean of those that are numbers; None if none is."""
    numbers = [float(value) for value in values if isinstance(value, (int, float))]
    return sum(numbers) / len(numbers) if numbers else None


CUT = 40
"""Characters of a name in a chart."""
FEW = 15
"""Points that can be named in the chart."""


def short_names(names: Sequence[str]) -> list[str]:
    """Names of bounded length with both their ends; numbers tell those apart that became the same."""
    shortened: dict[str, str] = {}
    for name in dict.fromkeys(names):
        short, number = short_name(name), 1
        while short in shortened.values():
            number += 1
            tail = f' ({number})'
            short = short_name(name, CUT - len(tail)) + tail
        shortened[name] = short
    return [shortened[name] for name in names]


def short_name(name: str, most: int = CUT) -> str:
    """A name of bounded length: what is in the middle is left out."""
    head = most // 2
    return name if len(name) <= most else f'{name[:head]}…{name[len(name) - (most - head - 1) :]}'


def shown(value: Number, digits: int = 2) -> str:
    """A number as text; '' for none."""
    return '' if value is None else f'{round(value, digits) + 0.0:.{digits}f}'


def as_table(figure: Figure) -> Table:
    """The numbers of a chart: a row per label, a column per series; of points and lines a row per point."""
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
