"""Figures of EasyTool's variants only: candidates, retrieval, and the paper's tables (arXiv 2401.06201)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opencompass_tooleval.report.figure import Figure, Series, Table
from opencompass_tooleval.report.published import published
from opencompass_tooleval.report.read import Material

SECTION = 'easytool'
"""The page of these figures."""

_SELECTION = re.compile(r'tooleval-toolbench-selection_(\d+)(-easytool)?')


def selection_figure(material: Material) -> Figure:
    """Builds the chart of ToolBench's selection accuracy by number of candidates (Figure 3)."""
    points: dict[str, list[tuple[int, float]]] = {}
    for entry in material.scored:
        match, value = _SELECTION.fullmatch(entry.dataset), entry.number('accuracy')
        if match and value is not None:
            side = 'instructions' if match[2] else 'documentation'
            points.setdefault(f'{entry.model}, {side}', []).append((int(match[1]), value))
    series = []
    for name, candidates in points.items():
        x, y = zip(*sorted(candidates), strict=True)
        series.append(Series(name, y, x=x))
    return Figure(
        'toolbench-selection',
        SECTION,
        'Selection accuracy against the number of candidates',
        'lines',
        (),
        tuple(series),
        x_title='candidates',
        y_title='accuracy',
    )


def retrieval_figure(results: Sequence[Mapping[str, Any]]) -> Figure:
    """Builds the chart of NDCG from all results of ``tooleval easytool retrieval --json``."""
    labels = tuple(
        f'{result.get("subset")} {metric}' for result in results for metric in result['documentation']['metrics']
    )
    series = []
    for side in ('documentation', 'instructions'):
        values = [
            (result[side]['metrics'][metric] if side in result else None)
            for result in results
            for metric in result['documentation']['metrics']
        ]
        series.append(Series(side, tuple(values)))
    note = 'Searches the tools of the file with complete requests; not comparable with Table 5, which searches all.'
    return Figure('toolbench-retrieval', SECTION, 'Retrieval NDCG', 'bars', labels, tuple(series), '', 'NDCG', note)


def easytool_published() -> Iterator[Table]:
    """Yields the tables of the paper."""
    for name in ('tokens', 'toolbench', 'retrieval'):
        table = published(f'easytool_{name}')
        rows = (
            (model, *('' if value is None else f'{value:g}' for value in scores.values()))
            for model, scores in table.rows.items()
        )
        yield Table(f'published-{name}', f'Published: {table.source}', ('', *table.columns), tuple(rows))
