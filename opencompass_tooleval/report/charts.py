"""Figures as plotly has them: plain data, drawn by its script in the page."""

from __future__ import annotations

from typing import Any

from opencompass_tooleval.core.result import OK
from opencompass_tooleval.report.figure import Figure, Series
from opencompass_tooleval.report.palette import COLOURS, DASHES, HATCHES, MARKERS, PUBLISHED, RIGHT

_CUT = 40


def escape(text: str) -> str:
    """A text that plotly shows as it is: it reads a little HTML in texts. Long ones are cut."""
    short = text if len(text) <= _CUT else f'{text[: _CUT - 1]}…'
    return short.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')


def to_plotly(figure: Figure) -> dict[str, Any]:
    """``data`` and ``layout`` of a chart, without the colours of the page."""
    layout: dict[str, Any] = {
        'margin': {'t': 40, 'r': 20},
        'legend': {'orientation': 'h', 'y': 1.08, 'yanchor': 'bottom'},
    }
    if figure.kind == 'heat':
        return {'data': [_heat(figure)], 'layout': layout}
    if figure.kind == 'radar':
        layout['polar'] = {'radialaxis': {'range': [0, figure.top], 'angle': 90, 'tickangle': 90}}
    else:
        layout['xaxis'] = {'title': {'text': escape(figure.x_title)}, 'automargin': True}
        layout['yaxis'] = {'title': {'text': escape(figure.y_title)}, 'automargin': True}
        if figure.top is not None:
            layout['yaxis']['range'] = [0, figure.top]
    if figure.kind in ('bars', 'stacked'):
        layout['legend']['traceorder'] = 'normal'
        layout['barmode'] = 'stack' if figure.kind == 'stacked' else 'group'
        # Categories are numbered: two long names may be the same once they are cut.
        ticks = [escape(label) for label in figure.labels]
        layout['xaxis'] |= {'tickvals': list(range(len(ticks))), 'ticktext': ticks}
    return {'data': [_trace(figure, series, i) for i, series in enumerate(figure.series)], 'layout': layout}


def _trace(figure: Figure, series: Series, number: int) -> dict[str, Any]:
    colour = PUBLISHED if series.published else COLOURS[number % len(COLOURS)]
    if figure.kind == 'stacked' and series.name == OK:
        colour = RIGHT
    dash = 'dot' if series.published else DASHES[number // len(COLOURS) % len(DASHES)]
    marker = {'color': colour, 'symbol': 'x' if series.published else MARKERS[number % len(MARKERS)]}
    base: dict[str, Any] = {'name': escape(series.name), 'hoverinfo': 'all'}
    if figure.kind == 'radar':
        closed = [*series.values, series.values[0]]
        theta = [escape(label) for label in (*figure.labels, figure.labels[0])]
        line = {'color': colour, 'dash': dash}
        return base | {'type': 'scatterpolar', 'r': closed, 'theta': theta, 'line': line, 'marker': marker}
    if figure.kind in ('points', 'lines'):
        mode = 'markers' if figure.kind == 'points' else 'lines+markers'
        base |= {'type': 'scatter', 'mode': mode, 'x': list(series.x), 'y': list(series.values)}
        base |= {'line': {'color': colour, 'dash': dash}, 'marker': {**marker, 'size': 10}}
        if series.published and figure.labels:
            base['text'] = [escape(label) for label in figure.labels]
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
        'x': [escape(label) for label in figure.labels],
        'y': [escape(series.name) for series in figure.series],
        'z': [list(series.values) for series in figure.series],
        'zmin': 0,
        'zmax': 100,
        'colorscale': 'Cividis',
    }
