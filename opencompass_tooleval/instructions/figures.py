"""More charts of EasyTool's instructions: candidates and retrieval (arXiv 2401.06201)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import is_number
from opencompass_tooleval.plugin import offered
from opencompass_tooleval.report.board import Board
from opencompass_tooleval.report.figure import Figure, Series
from opencompass_tooleval.results.table import Material
from opencompass_tooleval.work_dir.data_files import read_plain

SECTION = 'easytool'
"""Page of these charts."""

_SELECTION = re.compile(r'tooleval-toolbench-selection_(\d+)(-easytool)?')


def figures(_: Sequence[Board], material: Material) -> Iterator[Figure]:
    """Yields the charts of selection and, from files of ``tooleval easytool retrieval --json``, of retrieval."""
    yield selection_figure(material)
    if retrievals := list(_retrievals(material)):
        yield retrieval_figure(retrievals)


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
    note = 'Complete requests, searched in the file only; not comparable with Table 5, which searches all tools.'
    return Figure('toolbench-retrieval', SECTION, 'Retrieval NDCG', 'bars', labels, tuple(series), '', 'NDCG', note)


def _retrievals(material: Material) -> Iterator[dict[str, Any]]:
    """Yields the results in ``WORK_DIR/retrieval*.json``, which ``tooleval easytool retrieval --json`` wrote."""
    for file in (file for run in material.runs for file in sorted(run.path.glob('retrieval*.json'))):
        try:
            result = load_json(read_plain(file), bounded=True)
            values = [value for series in retrieval_figure([result]).series for value in series.values]
            if not all(value is None or is_number(value) for value in values):
                raise TypeError('a metric is not a number')
        except (OSError, ValueError, LookupError, TypeError) as error:
            fix = offered('tooleval easytool retrieval ... --json FILE')
            raise DataError(file, f'it is not a result of a retrieval ({error})', fix=fix) from error
        yield result
