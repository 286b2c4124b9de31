"""EasyTool: documentation beside instructions (arXiv 2401.06201, Tables 3 and 5, Figure 3)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opencompass_tooleval.core.benchmark import find_variant
from opencompass_tooleval.core.intervals import RESAMPLES
from opencompass_tooleval.core.variants import Comparison, compare
from opencompass_tooleval.core.words import words_of_metric
from opencompass_tooleval.report.figure import Figure, Series, Table
from opencompass_tooleval.report.names import title_of
from opencompass_tooleval.report.published import published
from opencompass_tooleval.report.read import Material

EASYTOOL = find_variant('easytool')
_SELECTION = re.compile(r'tooleval-toolbench-selection_(\d+)(-easytool)?')


def comparisons(material: Material) -> Iterator[tuple[str, Comparison]]:
    """Model and score, with documentation and with instructions. Reads the samples of both."""
    scored = material.by_pair()
    for model in material.models:
        pairs, _ = EASYTOOL.pair_up([dataset for dataset in material.datasets if (model, dataset) in scored])
        for first, second in pairs:
            before, after = (
                scored[model, name].run.result(scored[model, name].folder, name) for name in (first, second)
            )
            if before is not None and after is not None:
                yield from ((model, comparison) for comparison in compare(first, before, after))


def easytool_table(compared: Sequence[tuple[str, Comparison]], tokens: Mapping[tuple[str, str], float]) -> Table:
    """Every comparison with its interval.

    Args:
        compared: What :func:`comparisons` gives.
        tokens: Model and data set -> mean estimated tokens of its prompts.
    """
    rows = []
    for model, comparison in compared:
        names = comparison.dataset, comparison.dataset + EASYTOOL.suffix
        lengths = (tokens.get((model, name)) for name in names)
        rows.append(tuple(EASYTOOL.row(model, comparison, *lengths).values()))
    return Table(
        'easytool', f'Differences in points, 95% interval of {RESAMPLES} resamples', EASYTOOL.columns, tuple(rows)
    )


def easytool_figures(
    compared: Sequence[tuple[str, Comparison]], tokens: Mapping[tuple[str, str], float], material: Material
) -> Iterator[Figure]:
    """Differences, tokens and the number of candidates; see :func:`easytool_table`."""
    for number, model in enumerate(dict.fromkeys(model for model, _ in compared)):
        # Reversed, so that the first metric of each data set is what stays.
        firsts = {comparison.dataset: comparison for who, comparison in reversed(compared) if who == model}
        names = tuple(sorted(firsts))
        labels = tuple(f'{title_of(name)}, {words_of_metric(firsts[name].metric).name}' for name in names)
        deltas = tuple(firsts[name].delta for name in names)
        intervals = [firsts[name].interval for name in names]
        errors = tuple(
            (delta - interval.low, interval.high - delta) if interval else None
            for delta, interval in zip(deltas, intervals, strict=True)
        )
        yield Figure(
            f'easytool-differences-{number}',
            'easytool',
            'What instructions gain',
            'differences',
            labels,
            (Series('difference', deltas, errors=errors),),
            x_title='points gained with instructions',
            note='The first metric of each data set; the table has all. '
            f'Bars reach over the 95% interval (paired bootstrap, {RESAMPLES} resamples).',
            choice=model,
            top=None,
        )
        yield _tokens(number, model, names, tokens)
    yield _selection(material)


def _tokens(number: int, model: str, names: Sequence[str], tokens: Mapping[tuple[str, str], float]) -> Figure:
    both = [name for name in names if (model, name) in tokens and (model, name + EASYTOOL.suffix) in tokens]
    labels = tuple(title_of(name) for name in both)
    series = (
        Series('documentation', tuple(tokens[model, name] for name in both)),
        Series('instructions', tuple(tokens[model, name + EASYTOOL.suffix] for name in both)),
    )
    note = 'Estimated: words, signs and Chinese characters of a whole prompt.'
    title = 'Tokens before and after'
    name = f'easytool-tokens-{number}'
    return Figure(name, 'easytool', title, 'bars', labels, series, '', 'mean tokens', note, choice=model, top=None)


def _selection(material: Material) -> Figure:
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
        'easytool',
        'Selection accuracy against the number of candidates',
        'lines',
        (),
        tuple(series),
        x_title='candidates',
        y_title='accuracy',
    )


def retrieval_figure(results: Sequence[Mapping[str, Any]]) -> Figure:
    """NDCG of every ``tooleval easytool retrieval --json`` at hand."""
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
    note = 'Whole requests among the tools of the file: not comparable with Table 5, which searches all of ToolBench.'
    return Figure('toolbench-retrieval', 'easytool', 'Retrieval NDCG', 'bars', labels, tuple(series), '', 'NDCG', note)


def easytool_published() -> Iterator[Table]:
    """The paper's own tables."""
    for name in ('tokens', 'toolbench', 'retrieval'):
        table = published(f'easytool_{name}')
        rows = (
            (model, *('' if value is None else f'{value:g}' for value in scores.values()))
            for model, scores in table.rows.items()
        )
        yield Table(f'published-{name}', f'Published: {table.source}', ('', *table.columns), tuple(rows))
