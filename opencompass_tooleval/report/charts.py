"""Converts figures to data for plotly, which draws them in the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencompass_tooleval.catalogue.metrics import words_of_metric
from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.report.figure import (
    COLOURS,
    DASHES,
    HATCHES,
    MARKERS,
    PUBLISHED_COLOUR,
    PUBLISHED_HATCHES,
    RIGHT_COLOUR,
    Figure,
    Series,
    short_name,
    short_names,
    wrapped,
)


def escape(text: str) -> str:
    """Escapes the HTML that plotly interprets in texts."""
    return text.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')


def to_plotly(figure: Figure) -> dict[str, Any]:
    """Returns ``data`` and ``layout`` of a chart; the page adds the colours of its theme."""
    layout: dict[str, Any] = {
        'margin': {'t': 10, 'r': 20, 'b': 40},
        'legend': {'orientation': 'h', 'y': 1.05, 'yanchor': 'bottom'},
    }
    if figure.kind in ('rows', 'differences'):
        # One row per label, the first at the top.
        layout['xaxis'] = {'title': {'text': escape(figure.x_title)}, 'tickangle': 0, 'nticks': 5}
        layout['yaxis'] = _rows(figure.labels)
    if figure.kind == 'differences':
        layout['xaxis'] |= {'zeroline': True, 'zerolinewidth': 2}
        layout['showlegend'] = False
        return {'data': [_difference(series) for series in figure.series], 'layout': layout}
    if figure.kind != 'rows':
        layout['xaxis'] = {'title': {'text': escape(short_name(figure.x_title))}, 'automargin': True}
        layout['yaxis'] = {'title': {'text': escape(short_name(figure.y_title))}, 'automargin': True}
        if figure.top is not None:
            layout['yaxis']['range'] = [0, 1.02 * max(figure.top, _reach(figure))]  # error bars may exceed the top
    if figure.kind in ('bars', 'rows', 'stacked'):
        layout['legend']['traceorder'] = 'normal'
        layout['barmode'] = 'stack' if figure.kind == 'stacked' else 'group'
        layout['showlegend'] = figure.kind == 'stacked' or len(figure.series) > 1  # even a single part needs its name
        if figure.kind != 'rows':
            # Without a range, plotly omits the last names if they have no values.
            layout['xaxis'] |= _names(figure.labels) | {'range': [-0.5, len(figure.labels) - 0.5]}
    names = short_names([series.name for series in figure.series])
    traces = [_trace(figure, series, i, names[i]) for i, series in enumerate(figure.series)]
    if figure.kind == 'points' and figure.labels:
        layout['xaxis']['range'], layout['yaxis']['range'] = _name_points(figure, traces)
    return {'data': traces, 'layout': layout}


def _reach(figure: Figure) -> float:
    """Returns the upper end of the highest error bar; 0 without error bars."""
    ends = (
        value + error[1]
        for series in figure.series
        for value, error in zip(series.values, series.errors, strict=False)
        if value is not None and error is not None
    )
    return max(ends, default=0.0)


def _told(name: str) -> str:
    """Returns the readable name of a metric or an ability; other texts unchanged."""
    words = words_of_metric(name)
    return words.name if words.sentence else name


def _names(labels: Sequence[str]) -> dict[str, Any]:
    """Builds an axis of numbered categories, since plotly merges equal names and reads some as numbers."""
    ticks = [escape(name) for name in short_names([_told(label) for label in labels])]
    # Plotly omits a name that extends past the right edge; slanted names end at their tick.
    angles = [0, -30, -60]
    return {'automargin': True, 'tickvals': list(range(len(ticks))), 'ticktext': ticks, 'autotickangles': angles}


def _rows(labels: Sequence[str]) -> dict[str, Any]:
    """Builds an axis with a row for each label; long labels take several lines."""
    ticks = [escape(wrapped(_told(label))).replace('\n', '<br>') for label in labels]
    at = list(range(len(ticks)))
    return {'automargin': True, 'tickvals': at, 'ticktext': ticks, 'range': [len(ticks) - 0.5, -0.5]}


def _trace(figure: Figure, series: Series, number: int, name: str) -> dict[str, Any]:
    colour = PUBLISHED_COLOUR if series.published else COLOURS[number % len(COLOURS)]
    if figure.kind == 'stacked' and series.name == OK:
        colour = RIGHT_COLOUR
    dash = 'dot' if series.published else DASHES[number // len(COLOURS) % len(DASHES)]
    marker = {'color': colour, 'symbol': 'x' if series.published else MARKERS[number % len(MARKERS)]}
    base: dict[str, Any] = {'name': escape(name), 'hoverinfo': 'all'}
    if figure.kind in ('points', 'lines'):
        mode = 'markers' if figure.kind == 'points' else 'lines+markers'
        base |= {'type': 'scatter', 'mode': mode, 'x': list(series.x), 'y': list(series.values)}
        base |= {'line': {'color': colour, 'dash': dash}, 'marker': {**marker, 'size': 10}}
        return base
    shape = HATCHES[number // len(COLOURS) % len(HATCHES)]
    if series.published:
        shape = PUBLISHED_HATCHES[number % len(PUBLISHED_HATCHES)]
    at, values = list(range(len(figure.labels))), list(series.values)
    base |= {'type': 'bar', 'x': at, 'y': values}
    if figure.kind == 'rows':
        base |= {'x': values, 'y': at, 'orientation': 'h'}
    base['marker'] = {'color': colour, 'pattern': {'shape': shape}}
    if series.errors:
        down, up = zip(*(error or (None, None) for error in series.errors), strict=True)
        base['error_y'] = {'type': 'data', 'symmetric': False, 'array': list(up), 'arrayminus': list(down)}
    return base


_WIDE, _HIGH = 0.018, 0.05
"""Approximate width of a letter and height of a line, as shares of the chart's size."""
Box = tuple[float, float, float, float]
"""Left, bottom, right and upper end."""
_MARGIN = 0.12
"""Room around the points, as a share of the chart."""


def _name_points(figure: Figure, traces: Sequence[dict[str, Any]]) -> list[list[float]]:
    """Adds names to the points where they fit; hovering and the table show the other names.

    Points are named from top to bottom; each name takes the first free side.

    Returns:
        The ranges of both axes.
    """
    pairs = [zip(series.x, series.values, strict=True) for series in figure.series]
    points = [[None if x is None or y is None else (x, y) for x, y in pair] for pair in pairs]
    placed = [point for some in points for point in some if point] or [(0.0, 0.0)]
    ranges = [_padded(axis) for axis in zip(*placed, strict=True)]
    (left, right), (bottom, top) = ranges
    at = [[p and ((p[0] - left) / (right - left), (p[1] - bottom) / (top - bottom)) for p in some] for some in points]
    taken: list[Box] = [(p[0] - 0.015, p[1] - 0.02, p[0] + 0.015, p[1] + 0.02) for some in at for p in some if p]
    for series, places, trace in zip(figure.series, at, traces, strict=True):
        if names := [escape(name) for name in short_names(figure.names_of(series))]:
            trace |= {'mode': 'markers+text', 'hovertext': names}
            trace['text'], trace['textposition'] = [''] * len(names), ['top center'] * len(names)
            for i, place in sorted(enumerate(places), key=lambda item: -(item[1] or (0, 0))[1]):
                if place and (side := _free_side(place, len(names[i]) * _WIDE / 2, taken)):
                    trace['text'][i], trace['textposition'][i] = names[i], side
    return ranges


def _padded(values: Sequence[float]) -> list[float]:
    room = _MARGIN * (max(values) - min(values) or 1)
    return [min(values) - room, max(values) + room]


def _free_side(place: tuple[float, float], half: float, taken: list[Box]) -> str:
    """Returns the first side of a point where a name fits, and marks it as taken; '' if no side fits.

    ``half`` is half of the width of the name.
    """
    x, y = place
    for side, left, bottom in (
        ('top center', x - half, y + 0.02),
        ('middle left', x - 0.02 - 2 * half, y - _HIGH / 2),
        ('middle right', x + 0.02, y - _HIGH / 2),
        ('bottom center', x - half, y - 0.02 - _HIGH),
    ):
        box = left, bottom, left + 2 * half, bottom + _HIGH
        if left >= 0 and box[2] <= 1 and bottom >= 0 and box[3] <= 1 and not any(_overlap(box, o) for o in taken):
            taken.append(box)
            return side
    return ''


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _difference(series: Series) -> dict[str, Any]:
    down, up = zip(*(error or (None, None) for error in series.errors), strict=True) if series.errors else ((), ())
    return {
        'type': 'scatter',
        'mode': 'markers',
        'name': escape(series.name),
        'x': list(series.values),
        'y': list(range(len(series.values))),
        'marker': {'color': COLOURS[0], 'size': 9},
        'error_x': {
            'type': 'data',
            'symmetric': False,
            'array': list(up),
            'arrayminus': list(down),
            'color': COLOURS[0],
        },
    }
