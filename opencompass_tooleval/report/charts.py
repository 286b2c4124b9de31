"""Figures as plotly has them: plain data, drawn by its script in the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencompass_tooleval.core.result import OK
from opencompass_tooleval.report.figure import FEW, Figure, Series, short_name, short_names
from opencompass_tooleval.report.palette import COLOURS, DASHES, HATCHES, MARKERS, PUBLISHED, RIGHT


def escape(text: str) -> str:
    """A text that plotly shows as it is: it reads a little HTML in texts."""
    return text.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')


def to_plotly(figure: Figure) -> dict[str, Any]:
    """``data`` and ``layout`` of a chart, without the colours of the page."""
    layout: dict[str, Any] = {
        'margin': {'t': 40, 'r': 20},
        'legend': {'orientation': 'h', 'y': 1.08, 'yanchor': 'bottom'},
    }
    if figure.kind == 'heat':
        # Numbered, as the bars below; the first model is at the top.
        layout['xaxis'] = _names(figure.labels)
        layout['yaxis'] = _names([series.name for series in figure.series]) | {'autorange': 'reversed'}
        return {'data': [_heat(figure)], 'layout': layout}
    if figure.kind == 'radar':
        radial = {'range': [0, figure.top], 'angle': 90, 'tickangle': 90}
        layout['polar'] = {'radialaxis': radial, 'angularaxis': {'type': 'category'}}
    else:
        layout['xaxis'] = {'title': {'text': escape(short_name(figure.x_title))}, 'automargin': True}
        layout['yaxis'] = {'title': {'text': escape(short_name(figure.y_title))}, 'automargin': True}
        if figure.top is not None:
            layout['yaxis']['range'] = [0, figure.top]
    if figure.kind in ('bars', 'stacked'):
        layout['legend']['traceorder'] = 'normal'
        layout['barmode'] = 'stack' if figure.kind == 'stacked' else 'group'
        layout['xaxis'] |= _names(figure.labels)
    names = short_names([series.name for series in figure.series])
    traces = [_trace(figure, series, i, names[i]) for i, series in enumerate(figure.series)]
    return {'data': traces, 'layout': layout}


def _names(labels: Sequence[str]) -> dict[str, Any]:
    """An axis of categories, which are numbered: plotly takes the same names for one, and some for numbers."""
    ticks = [escape(name) for name in short_names(labels)]
    return {'automargin': True, 'tickvals': list(range(len(ticks))), 'ticktext': ticks}


def _trace(figure: Figure, series: Series, number: int, name: str) -> dict[str, Any]:
    colour = PUBLISHED if series.published else COLOURS[number % len(COLOURS)]
    if figure.kind == 'stacked' and series.name == OK:
        colour = RIGHT
    dash = 'dot' if series.published else DASHES[number // len(COLOURS) % len(DASHES)]
    marker = {'color': colour, 'symbol': 'x' if series.published else MARKERS[number % len(MARKERS)]}
    base: dict[str, Any] = {'name': escape(name), 'hoverinfo': 'all'}
    if figure.kind == 'radar':
        closed = [*series.values, series.values[0]]
        theta = [escape(label) for label in short_names((*figure.labels, figure.labels[0]))]
        line = {'color': colour, 'dash': dash}
        return base | {'type': 'scatterpolar', 'r': closed, 'theta': theta, 'line': line, 'marker': marker}
    if figure.kind in ('points', 'lines'):
        mode = 'markers' if figure.kind == 'points' else 'lines+markers'
        base |= {'type': 'scatter', 'mode': mode, 'x': list(series.x), 'y': list(series.values)}
        base |= {'line': {'color': colour, 'dash': dash}, 'marker': {**marker, 'size': 10}}
        if points := figure.names_of(series):
            base['text'] = [escape(label) for label in short_names(points)]
            base |= {'mode': 'markers+text', 'textposition': 'top center'} if len(points) <= FEW else {}
        return base
    pattern = {'shape': HATCHES[number // len(COLOURS) % len(HATCHES)] or ('/' if series.published else '')}
    base |= {'type': 'bar', 'x': list(range(len(figure.labels))), 'y': list(series.values)}
    base['marker'] = {'color': colour, 'pattern': pattern}
    if series.errors:
        down, up = zip(*(error or (None, None) for error in series.errors), strict=True)
        base['error_y'] = {'type': 'data', 'symmetric': False, 'array': list(up), 'arrayminus': list(down)}
    return base


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
