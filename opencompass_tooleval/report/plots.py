"""Draws figures as files for a paper with matplotlib, without a browser. Imported only for such files."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.report.figure import (
    COLOURS,
    CUT,
    FEW,
    PUBLISHED_COLOUR,
    RIGHT_COLOUR,
    Figure,
    Series,
    short_name,
    short_names,
    wrapped,
)

_STYLES = ('-', '--', '-.')
_MARKERS = 'osD^vp*h'
_NO_DATE: dict[str, Any] = {'svg': {'Date': None}, 'pdf': {'CreationDate': None}}
_HATCHES = ('', '\\\\', '..')

# A font without a sign draws a box; that should not fill the log.
logging.getLogger('matplotlib.font_manager').setLevel(logging.ERROR)
_SETTINGS: Any = {
    'svg.fonttype': 'none',
    'svg.hashsalt': 'tooleval',
    'text.parse_math': False,
    'font.size': 8,
}


def plain(text: str) -> str:
    """Removes characters that fonts and files cannot hold: lone surrogates and control characters."""
    encodable = text.encode('utf-8', 'replace').decode('utf-8')
    return ''.join(sign if sign.isprintable() else '?' for sign in encodable)


def _short(text: str) -> str:
    return short_name(plain(text))


def _plain_names(names: Iterable[str]) -> list[str]:
    return short_names([plain(name) for name in names])


def _legend(figure: Figure) -> Iterator[tuple[Series, str]]:
    """Yields every series with its name in the legend."""
    return zip(figure.series, _plain_names(series.name for series in figure.series), strict=True)


def save(figure: Figure, folder: Path, formats: Sequence[str]) -> None:
    """Writes ``NAME.svg`` and so on, the same bytes every time; ``figure.FORMATS`` has all formats."""
    rows = figure.kind in ('rows', 'differences')
    wide = figure.kind in ('bars', 'stacked', 'heat')
    width = (
        min(20.0, 5 + 0.12 * len(figure.labels) * (len(figure.series) if figure.kind == 'bars' else 2)) if wide else 6
    )
    with matplotlib.rc_context(_SETTINGS):
        canvas = Canvas(figsize=(width, min(20.0, figure.height / 80) if rows else 4.5), layout='constrained')
        axes = canvas.add_subplot(projection='polar' if figure.kind == 'radar' else None)
        _DRAWN_BY.get(figure.kind, _bars)(axes, figure)
        title = f'{figure.title}: {figure.choice}' if figure.choice else figure.title
        axes.set_title(plain(title) if len(title) <= CUT else '\n'.join(map(_short, title.split(': '))))
        if figure.kind not in ('heat', 'differences'):
            canvas.legend(loc='outside lower center', ncols=4, fontsize=7)
        for ending in formats:
            canvas.savefig(folder / f'{figure.name}.{ending}', dpi=150, metadata=_NO_DATE.get(ending))


def _numbers(values: tuple[float | None, ...]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _colour(number: int, published: bool) -> str:
    return PUBLISHED_COLOUR if published else COLOURS[number % len(COLOURS)]


def _radar(axes: Axes, figure: Figure) -> None:
    angles = [2 * math.pi * i / len(figure.labels) for i in range(len(figure.labels))]
    for number, (series, name) in enumerate(_legend(figure)):
        style = ':' if series.published else _STYLES[number // len(COLOURS) % len(_STYLES)]
        values, colour = _numbers(series.values), _colour(number, series.published)
        mark = _MARKERS[number % len(_MARKERS)]
        axes.plot([*angles, angles[0]], [*values, values[0]], style, marker=mark, ms=3, color=colour, label=name)
    axes.set_xticks(angles, _plain_names(figure.labels))
    axes.set_ylim(0, figure.top)


def _heat(axes: Axes, figure: Figure) -> None:
    shown = axes.imshow([_numbers(series.values) for series in figure.series], cmap='cividis', vmin=0, vmax=100)
    axes.set_aspect('auto')
    axes.set_xticks(range(len(figure.labels)), _plain_names(figure.labels), rotation=60, ha='right')
    axes.set_yticks(range(len(figure.series)), [name for _, name in _legend(figure)])
    axes.figure.colorbar(shown)


def _lines(axes: Axes, figure: Figure) -> None:
    for number, (series, name) in enumerate(_legend(figure)):
        colour, mark = _colour(number, series.published), 'x' if series.published else _MARKERS[number % len(_MARKERS)]
        style = '-' if figure.kind == 'lines' else ''
        axes.plot(_numbers(series.x), _numbers(series.values), style, marker=mark, color=colour, label=name)
        points = _plain_names(figure.names_of(series))
        for text, x, y in zip(points, series.x, series.values, strict=False):
            if len(points) <= FEW and x is not None and y is not None:
                axes.annotate(text, (x, y), xytext=(0, 4), textcoords='offset points', fontsize=6, ha='center')
    axes.set_xlabel(_short(figure.x_title))
    axes.set_ylabel(_short(figure.y_title))


def _bars(axes: Axes, figure: Figure) -> None:
    stacked, count = figure.kind == 'stacked', len(figure.series)
    width = 0.7 if stacked else 0.8 / count
    floor = [0.0] * len(figure.labels)
    for number, (series, name) in enumerate(_legend(figure)):
        at = [i + (0 if stacked else (number - (count - 1) / 2) * width) for i in range(len(figure.labels))]
        values = [value or 0.0 for value in series.values] if stacked else _numbers(series.values)
        errors = list(zip(*(error or (math.nan, math.nan) for error in series.errors), strict=True)) or None
        colour = RIGHT_COLOUR if stacked and series.name == OK else _colour(number, series.published)
        style: dict[str, Any] = {'color': colour, 'label': name, 'linewidth': 0.3}
        style['hatch'] = '//' if series.published else _HATCHES[number // len(COLOURS) % len(_HATCHES)]
        axes.bar(at, values, width, bottom=floor if stacked else None, yerr=errors, edgecolor='white', **style)
        if stacked:
            floor = [below + value for below, value in zip(floor, values, strict=True)]
    axes.set_xticks(range(len(figure.labels)), _plain_names(figure.labels), rotation=30, ha='right')
    axes.set_ylabel(_short(figure.y_title))
    if figure.top is not None:
        axes.set_ylim(0, figure.top)


def _name_rows(axes: Axes, figure: Figure) -> None:
    axes.set_yticks(range(len(figure.labels)), [wrapped(plain(label)) for label in figure.labels])
    axes.invert_yaxis()
    axes.set_xlabel(_short(figure.x_title))


def _rows(axes: Axes, figure: Figure) -> None:
    height = 0.8 / len(figure.series)
    for number, (series, name) in enumerate(_legend(figure)):
        at = [i + (number - (len(figure.series) - 1) / 2) * height for i in range(len(figure.labels))]
        axes.barh(at, _numbers(series.values), height, color=_colour(number, series.published), label=name)
    _name_rows(axes, figure)


def _differences(axes: Axes, figure: Figure) -> None:
    for series in figure.series:
        errors = list(zip(*(error or (math.nan, math.nan) for error in series.errors), strict=True)) or None
        axes.errorbar(_numbers(series.values), range(len(figure.labels)), xerr=errors, fmt='o', color=COLOURS[0])
    axes.axvline(0, color='#888888', linewidth=0.8)
    _name_rows(axes, figure)


_DRAWN_BY: dict[str, Callable[[Axes, Figure], None]] = {
    'radar': _radar,
    'heat': _heat,
    'points': _lines,
    'lines': _lines,
    'rows': _rows,
    'differences': _differences,
}
