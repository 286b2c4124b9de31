"""Figures as data for plotly, which a script draws in the page."""

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
    RIGHT_COLOUR,
    Figure,
    Series,
    short_name,
    short_names,
)


def escape(text: str) -> str:
    """Escapes the HTML that plotly interprets in texts."""
    return text.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')


def to_plotly(figure: Figure) -> dict[str, Any]:
    """Returns ``data`` and ``layout`` of a chart, without the colours of the page."""
    layout: dict[str, Any] = {
        'margin': {'t': 10, 'r': 20, 'b': 40},
        'legend': {'orientation': 'h', 'y': 1.05, 'yanchor': 'bottom'},
    }
    if figure.kind == 'heat':
        # Numbered, like the bars below; the first model is at the top.
        layout['xaxis'] = _names(figure.labels)
        layout['yaxis'] = _names([series.name for series in figure.series]) | {'autorange': 'reversed'}
        return {'data': [_heat(figure)], 'layout': layout}
    if figure.kind == 'differences':
        # One under the other, the first at the top, around a line at 0.
        layout['xaxis'] = {'title': {'text': escape(figure.x_title)}, 'zeroline': True, 'zerolinewidth': 2}
        layout['yaxis'] = _names(figure.labels) | {'autorange': 'reversed'}
        layout['showlegend'] = False
        return {'data': [_difference(series) for series in figure.series], 'layout': layout}
    if figure.kind == 'radar':
        radial = {'range': [0, figure.top], 'angle': 90, 'tickangle': 90}
        layout['polar'] = {'radialaxis': radial, 'angularaxis': {'type': 'category'}}
    else:
        layout['xaxis'] = {'title': {'text': escape(short_name(figure.x_title))}, 'automargin': True}
        layout['yaxis'] = {'title': {'text': escape(short_name(figure.y_title))}, 'automargin': True}
        if figure.top is not None:
            layout['yaxis']['range'] = [0, 1.02 * max(figure.top, _reach(figure))]  # errors reach above the best score
    if figure.kind in ('bars', 'stacked'):
        layout['legend']['traceorder'] = 'normal'
        layout['barmode'] = 'stack' if figure.kind == 'stacked' else 'group'
        layout['showlegend'] = figure.kind == 'stacked' or len(figure.series) > 1  # a single part has a name too
        # Without a range plotly leaves out the last names if they have no values.
        layout['xaxis'] |= _names(figure.labels) | {'range': [-0.5, len(figure.labels) - 0.5]}
    names = short_names([series.name for series in figure.series])
    traces = [_trace(figure, series, i, names[i]) for i, series in enumerate(figure.series)]
    return {'data': traces, 'layout': layout}


def _reach(figure: Figure) -> float:
    """Returns the upper end of the highest error bar."""
    ends = (
        value + error[1]
        for series in figure.series
        for value, error in zip(series.values, series.errors, strict=False)
        if value is not None and error is not None
    )
    return max(ends, default=0.0)


def _told(name: str) -> str:
    """Returns the name for people of a metric or an ability; any other text unchanged."""
    words = words_of_metric(name)
    return words.name if words.sentence else name


def _names(labels: Sequence[str]) -> dict[str, Any]:
    """Builds an axis of numbered categories: plotly merges equal names, and takes some for numbers."""
    ticks = [escape(name) for name in short_names([_told(label) for label in labels])]
    return {'automargin': True, 'tickvals': list(range(len(ticks))), 'ticktext': ticks}


def _trace(figure: Figure, series: Series, number: int, name: str) -> dict[str, Any]:
    colour = PUBLISHED_COLOUR if series.published else COLOURS[number % len(COLOURS)]
    if figure.kind == 'stacked' and series.name == OK:
        colour = RIGHT_COLOUR
    dash = 'dot' if series.published else DASHES[number // len(COLOURS) % len(DASHES)]
    marker = {'color': colour, 'symbol': 'x' if series.published else MARKERS[number % len(MARKERS)]}
    base: dict[str, Any] = {'name': escape(name), 'hoverinfo': 'all'}
    if figure.kind == 'radar':
        closed = [*series.values, series.values[0]]
        theta = [escape(_told(label)) for label in short_names((*figure.labels, figure.labels[0]))]
        line = {'color': colour, 'dash': dash}
        return base | {'type': 'scatterpolar', 'r': closed, 'theta': theta, 'line': line, 'marker': marker}
    if figure.kind in ('points', 'lines'):
        mode = 'markers' if figure.kind == 'points' else 'lines+markers'
        base |= {'type': 'scatter', 'mode': mode, 'x': list(series.x), 'y': list(series.values)}
        base |= {'line': {'color': colour, 'dash': dash}, 'marker': {**marker, 'size': 10}}
        if points := figure.names_of(series):
            names = [escape(label) for label in short_names(points)]
            texts, places = _labels(series, names)
            base |= {'mode': 'markers+text', 'text': texts, 'hovertext': names, 'textposition': places}
        return base
    pattern = {'shape': HATCHES[number // len(COLOURS) % len(HATCHES)] or ('/' if series.published else '')}
    base |= {'type': 'bar', 'x': list(range(len(figure.labels))), 'y': list(series.values)}
    base['marker'] = {'color': colour, 'pattern': pattern}
    if series.errors:
        down, up = zip(*(error or (None, None) for error in series.errors), strict=True)
        base['error_y'] = {'type': 'data', 'symmetric': False, 'array': list(up), 'arrayminus': list(down)}
    return base


_WIDE, _HIGH = 0.019, 0.055
"""Approximate width of a letter and height of a line as shares of a chart."""


def _labels(series: Series, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the names of points that fit, and their positions; hover and the table show the others.

    The highest points come first: each takes the first free side.
    """
    points = [(float(x or 0), float(y or 0)) for x, y in zip(series.x, series.values, strict=True)]
    low = [min(values) for values in zip(*points, strict=True)]
    span = [max(values) - least or 1 for values, least in zip(zip(*points, strict=True), low, strict=True)]
    at = [((x - low[0]) / span[0], (y - low[1]) / span[1]) for x, y in points]
    taken = [(x - 0.015, y - 0.02, x + 0.015, y + 0.02) for x, y in at]
    texts, places = [''] * len(names), ['top center'] * len(names)
    for i in sorted(range(len(names)), key=lambda i: -at[i][1]):
        (x, y), half = at[i], len(names[i]) * _WIDE / 2
        for place, left, bottom in (
            ('top center', x - half, y + 0.02),
            ('middle left', x - 0.02 - 2 * half, y - _HIGH / 2),
            ('middle right', x + 0.02, y - _HIGH / 2),
            ('bottom center', x - half, y - 0.02 - _HIGH),
        ):
            box = left, bottom, left + 2 * half, bottom + _HIGH
            if left > -0.1 and box[2] < 1.1 and not any(_overlap(box, other) for other in taken):
                texts[i], places[i] = names[i], place
                taken.append(box)
                break
    return texts, places


def _overlap(a: Sequence[float], b: Sequence[float]) -> bool:
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


def _heat(figure: Figure) -> dict[str, Any]:
    return {
        'type': 'heatmap',
        'x': list(range(len(figure.labels))),
        'y': list(range(len(figure.series))),
        'z': [list(series.values) for series in figure.series],
        'zmin': 0,
        'zmax': 100,
        'colorscale': 'Cividis',
    }
