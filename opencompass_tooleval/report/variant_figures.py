"""Data sets beside their variants: differences with intervals, and what the prompts cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from opencompass_tooleval.core.benchmark import find_variant
from opencompass_tooleval.core.intervals import RESAMPLES
from opencompass_tooleval.core.variants import Comparison, VariantKind, compare
from opencompass_tooleval.core.words import words_of_metric
from opencompass_tooleval.report.board import main_of_agents
from opencompass_tooleval.report.figure import Figure, Series, Table
from opencompass_tooleval.report.names import AGENTS, family_of, title_of
from opencompass_tooleval.report.read import Material


def comparisons(kind: VariantKind, material: Material) -> Iterator[tuple[str, Comparison]]:
    """Model and score, of the original and of its variant of a kind. Reads the samples of both."""
    scored = material.by_pair()
    for model in material.models:
        pairs, _ = kind.pair_up([dataset for dataset in material.datasets if (model, dataset) in scored])
        for first, second in pairs:
            before, after = (
                scored[model, name].run.result(scored[model, name].folder, name) for name in (first, second)
            )
            if before is not None and after is not None:
                yield from ((model, comparison) for comparison in compare(first, before, after))


def variant_table(
    name: str, compared: Sequence[tuple[str, Comparison]], tokens: Mapping[tuple[str, str], float]
) -> Table:
    """Every comparison with its interval.

    Args:
        name: Of the kind, in :data:`~opencompass_tooleval.core.benchmark.VARIANTS`.
        compared: What :func:`comparisons` gives.
        tokens: Model and data set -> mean estimated tokens of its prompts.
    """
    kind = find_variant(name)
    rows = []
    for model, comparison in compared:
        names = comparison.dataset, comparison.dataset + kind.suffix
        lengths = (tokens.get((model, name)) for name in names)
        rows.append(tuple(kind.row(model, comparison, *lengths).values()))
    return Table(name, f'Differences in points, 95% interval of {RESAMPLES} resamples', kind.columns, tuple(rows))


def variant_figures(
    name: str, compared: Sequence[tuple[str, Comparison]], tokens: Mapping[tuple[str, str], float]
) -> Iterator[Figure]:
    """Differences and tokens, per model; see :func:`variant_table`."""
    kind = find_variant(name)
    for number, model in enumerate(dict.fromkeys(model for model, _ in compared)):
        firsts = _mains([comparison for who, comparison in compared if who == model])
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
            x_title=f'points gained with {kind.title}',
            note='The main metric of each data set; the table has all. '
            f'Bars reach over the 95% interval (paired bootstrap, {RESAMPLES} resamples).',
            choice=model,
            top=None,
        )
        yield _tokens(name, number, model, datasets, tokens)


def _mains(compared: Sequence[Comparison]) -> dict[str, Comparison]:
    """Data set -> the comparison by its main metric: the first, of agents what stands for them elsewhere too."""
    by_dataset: dict[str, dict[str, Comparison]] = {}
    for comparison in compared:
        by_dataset.setdefault(comparison.dataset, {})[comparison.metric] = comparison
    return {
        name: own[main_of_agents(list(own))] if family_of(name) == AGENTS else next(iter(own.values()))
        for name, own in by_dataset.items()
    }


def _tokens(
    variant: str, number: int, model: str, names: Sequence[str], tokens: Mapping[tuple[str, str], float]
) -> Figure:
    kind = find_variant(variant)
    both = [name for name in names if (model, name) in tokens and (model, name + kind.suffix) in tokens]
    labels = tuple(title_of(name) for name in both)
    series = (
        Series(kind.original, tuple(tokens[model, name] for name in both)),
        Series(kind.variant, tuple(tokens[model, name + kind.suffix] for name in both)),
    )
    note = 'As the server says, else estimated: words, signs and Chinese characters of a whole prompt.'
    if any(family_of(name) == AGENTS for name in both):
        note += ' Of agents: of all rounds of a task, with their tools, where the server says it.'
    title = 'Tokens before and after'
    name = f'{variant}-tokens-{number}'
    return Figure(name, variant, title, 'bars', labels, series, '', 'mean tokens', note, choice=model, top=None)
