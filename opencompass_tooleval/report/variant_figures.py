"""Charts that compare data sets with their variants: differences with intervals, and prompt tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from opencompass_tooleval.catalogue.metrics import lower_is_better, words_of_metric
from opencompass_tooleval.catalogue.variants import VariantKind, find_variant
from opencompass_tooleval.core.scoring.usage_summary import PromptTokens
from opencompass_tooleval.report.figure import Figure, Series, Table
from opencompass_tooleval.report.names import title_of
from opencompass_tooleval.results.table import Material
from opencompass_tooleval.results.variants import (
    NO_TOKENS,
    SPREAD,
    Gain,
    change_of_lead,
    gains_of,
    main_gains,
    row_of,
    spread_rows,
)

_MOST_PAIRS = 100


def comparisons(kind: VariantKind, material: Material) -> Iterator[tuple[str, Gain]]:
    """Yields model and gain for every pair of an original and its variant. Reads the samples of both."""
    scored = material.by_pair()
    for model in material.models:
        pairs, _ = kind.pair_up([dataset for dataset in material.datasets if (model, dataset) in scored])
        for first, second in pairs:
            before, after = (scored[model, name].whole() for name in (first, second))
            if before is not None and after is not None:
                yield from ((model, comparison) for comparison in gains_of(kind.label(first, second), before, after))


def variant_table(
    name: str, compared: Sequence[tuple[str, Gain]], tokens: Mapping[tuple[str, str], PromptTokens]
) -> Table:
    """Builds a table of all comparisons with their intervals.

    Args:
        name: Name of the kind of variants, in :data:`~opencompass_tooleval.plugin.VARIANTS`.
        compared: The results of :func:`comparisons`.
        tokens: Model and data set -> prompt tokens.
    """
    kind = find_variant(name)
    rows = []
    for model, comparison in compared:
        lengths = (tokens.get((model, side), NO_TOKENS) for side in kind.sides(comparison.dataset))
        row = row_of(kind, model, comparison, *lengths)
        lower = ' (lower is better)' if lower_is_better(comparison.metric) else ''
        row |= {'dataset': title_of(comparison.dataset), 'metric': words_of_metric(comparison.metric).name + lower}
        rows.append(tuple(row.values()))
    kept = [i for i in range(len(kind.columns)) if any(row[i] for row in rows)]
    columns = tuple(kind.columns[i].replace('_', ' ') for i in kept)
    texts = tuple(tuple(row[i] for i in kept) for row in rows)
    title = (
        f'Differences in points ({kind.variant} minus {kind.original}), 95% interval; better, worse: % of the records'
    )
    return Table(name, title, columns, texts)


def spread_table(name: str, compared: Sequence[tuple[str, Gain]]) -> Table:
    """Builds a table of the spread over seeds; it has no rows if no variant has several seeds.

    Args:
        name: Name of the kind of variants.
        compared: The results of :func:`comparisons`.
    """
    rows = tuple(
        (model, title_of(dataset), words_of_metric(metric).name, *numbers)
        for model, dataset, metric, *numbers in spread_rows(find_variant(name), compared)
    )
    return Table(
        f'{name}-seeds', 'Spread of the differences over seeds', (*(c.replace('_', ' ') for c in SPREAD),), rows
    )


def rankings_table(name: str, compared: Sequence[tuple[str, Gain]]) -> Table | None:
    """Builds a table of model pairs whose difference changes significantly in a variant; None without two models.

    Args:
        name: Name of the kind of variants.
        compared: The results of :func:`comparisons`.
    """
    models = tuple(dict.fromkeys(model for model, _ in compared))
    mains = {model: main_gains([gain for who, gain in compared if who == model]) for model in models}
    rows = []
    for a, b in combinations(models, 2):
        for label in mains[a].keys() & mains[b].keys():
            first, second = mains[a][label], mains[b][label]
            interval = change_of_lead(first, second)
            if interval is not None and (interval.low > 0 or interval.high < 0):
                before, after = second.original - first.original, second.variant - first.variant
                numbers = (before, after, interval.delta, interval.low, interval.high)
                texts = (f'{round(number, 2) + 0.0:.2f}' for number in numbers)
                rows.append((title_of(label), words_of_metric(first.metric).name, a, b, *texts))
    columns = ('data set', 'metric', 'A', 'B', 'B - A', 'B - A in the twin', 'change', 'low', 'high')
    title = 'Pairs of models whose difference changes, 95% interval of the change'
    return Table(f'{name}-rankings', title, columns, tuple(sorted(rows)[:_MOST_PAIRS])) if len(models) > 1 else None


def variant_figures(
    name: str, compared: Sequence[tuple[str, Gain]], tokens: Mapping[tuple[str, str], PromptTokens]
) -> Iterator[Figure]:
    """Yields charts of differences and tokens, per model. The arguments are those of :func:`variant_table`."""
    kind = find_variant(name)
    if kind.several:
        yield _kept_figure(name, kind, compared)
    for number, model in enumerate(dict.fromkeys(model for model, _ in compared)):
        firsts = main_gains([comparison for who, comparison in compared if who == model])
        datasets = tuple(sorted(firsts))
        labels = tuple(f'{title_of(dataset)}, {words_of_metric(firsts[dataset].metric).name}' for dataset in datasets)
        deltas = tuple(firsts[dataset].delta for dataset in datasets)
        intervals = [firsts[dataset].interval for dataset in datasets]
        errors = tuple(
            (delta - interval.low, interval.high - delta) if interval else None
            for delta, interval in zip(deltas, intervals, strict=True)
        )
        yield Figure(
            f'{name}-differences-{number}',
            name,
            kind.question.capitalize(),
            'differences',
            labels,
            (Series('difference', deltas, errors=errors),),
            x_title='points gained',
            note='The main metric of each data set; the table has all. Error bars show the paired 95% interval.',
            choice=model,
            top=None,
        )
        lengths = {
            dataset: [tokens.get((model, side), NO_TOKENS) for side in kind.sides(dataset)] for dataset in datasets
        }
        first = {dataset: (sides[0].first, sides[1].first) for dataset, sides in lengths.items()}
        whole = {dataset: (sides[0].task, sides[1].task) for dataset, sides in lengths.items()}
        by = ', '.join(
            dict.fromkeys(tokens.counted_by for sides in lengths.values() for tokens in sides if tokens.counted_by)
        )
        yield _tokens(name, f'tokens-{number}', model, 'Tokens of the first prompt', first, by)
        if whole != first:
            yield _tokens(name, f'task-tokens-{number}', model, 'Tokens of all prompts of a task', whole, by)


def _kept_figure(name: str, kind: VariantKind, compared: Sequence[tuple[str, Gain]]) -> Figure:
    """Builds the chart of each data set's main score against the share of its points that a variant keeps."""
    points: dict[str, list[tuple[float, float]]] = {}
    for model in dict.fromkeys(model for model, _ in compared):
        for label, gain in main_gains([gain for who, gain in compared if who == model]).items():
            if gain.kept:
                variant = kind.titled(label)[1]
                points.setdefault(f'{model}, {variant}', []).append((gain.original, gain.kept.kept))
    series = [Series(who, tuple(y for _, y in pairs), x=tuple(x for x, _ in pairs)) for who, pairs in points.items()]
    note = 'The main metric of each data set; scores below 10 points are left out. Intervals are in the table.'
    titles = 'score of the original', 'points kept, %'
    return Figure(f'{name}-kept', name, 'Score and share kept', 'points', (), tuple(series), *titles, note, top=None)


def _tokens(
    variant: str,
    stem: str,
    model: str,
    title: str,
    lengths: Mapping[str, tuple[float | None, float | None]],
    by: str,
) -> Figure:
    """Builds the chart of mean tokens, for data sets whose numbers are known for both sides."""
    kind = find_variant(variant)
    both = {dataset: sides for dataset, sides in lengths.items() if None not in sides}
    series = (
        Series(kind.original, tuple(sides[0] for sides in both.values())),
        Series(kind.variant, tuple(sides[1] for sides in both.values())),
    )
    labels = tuple(map(title_of, both))
    note = f'Mean over the tasks, with the tools that are offered; {by}.'
    name = f'{variant}-{stem}'
    return Figure(name, variant, title, 'rows', labels, series, 'mean tokens', '', note, choice=model, top=None)
