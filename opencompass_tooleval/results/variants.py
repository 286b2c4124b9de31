"""Compares a data set with a variant of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import fmean, stdev

from opencompass_tooleval.catalogue.provenance import Provenance
from opencompass_tooleval.catalogue.variants import KEPT, VariantKind
from opencompass_tooleval.core.scoring.usage_summary import PromptTokens
from opencompass_tooleval.core.statistics.intervals import FEWEST, Interval, Pairs, compare_column, intervals_of
from opencompass_tooleval.core.statistics.paired import (
    Result,
    changed_shares,
    mean_steps,
    metrics_of,
    over_shared,
    pairs_of,
)
from opencompass_tooleval.core.statistics.ratio import Share, share_kept
from opencompass_tooleval.core.statistics.sample import WITHOUT_TWIN
from opencompass_tooleval.results.result_row import Results

NO_TOKENS = PromptTokens()


def reduction(before: float, after: float) -> float | None:
    """Computes by how many percent ``after`` is less than ``before``; None if ``before`` is 0."""
    return 100.0 * (before - after) / before if before else None


@dataclass(frozen=True)
class Gain:
    """One metric of one data set, or one column of a table, of the original and of its variant.

    Attributes:
        dataset: Abbr of the original data set, or the table's name.
        metric: Its metric.
        original: Score of the original, 0-100; with an interval, over the records that both have.
        variant: Score of the variant, over the same records.
        unshared: Number of records that only one of them has.
        better: Percentage of the records of both with a better value of the variant; None without an interval.
        worse: Percentage of these with a worse value.
        steps: Mean number of an agent's steps per task, of the original and of the variant, over the same records; None
            if there are none.
        kept: Share of the original's points that the variant keeps, in percent; None if there is no interval, or too
            few points (:func:`~opencompass_tooleval.core.statistics.ratio.share_kept`).
        pairs: Values of the records of both; None if the score is no mean over records.
        interval: Their difference in points over the records that both have; None for a column that is a mean of
            several data sets, and if the score is no mean over records.
    """

    dataset: str
    metric: str
    original: float
    variant: float
    interval: Interval | None
    unshared: int = 0
    better: float | None = None
    worse: float | None = None
    steps: tuple[float | None, float | None] = (None, None)
    kept: Share | None = None
    pairs: Pairs | None = field(default=None, repr=False)

    @property
    def delta(self) -> float:
        """Gain of the variant, in points."""
        return self.interval.delta if self.interval else self.variant - self.original


def gains_of(dataset: str, original: Result, variant: Result) -> list[Gain]:
    """Compares two results, metric by metric.

    Args:
        dataset: Abbr of the original data set.
        original: Its result, with ``details``.
        variant: The result of its variant, with ``details``.
    """
    metrics = [metric for metric in metrics_of(original) if metric in metrics_of(variant)]
    pairs = {(dataset, metric): paired for metric in metrics if (paired := pairs_of(original, variant, metric))}
    intervals = intervals_of(pairs)
    gains = []
    for metric in metrics:
        paired = pairs.get((dataset, metric))
        scores, _ = over_shared(paired, (original[metric], variant[metric]), (None, None))
        interval = intervals.get((dataset, metric))
        if paired is None:
            gains.append(Gain(dataset, metric, *scores, interval))
            continue
        steps = mean_steps(original, set(paired.ids)), mean_steps(variant, set(paired.ids))
        kept = share_kept(paired, interval) if interval else None
        gain = Gain(dataset, metric, *scores, interval, paired.unshared, *changed_shares(paired), steps, kept, paired)
        gains.append(gain)
    return gains


def change_of_lead(first: Gain, second: Gain) -> Interval | None:
    """Computes how much more one model gains by a variant than another, over the records of all four results.

    Returns:
        The difference of the differences, second minus first, with its interval; None with too few records.
    """
    if first.pairs is None or second.pairs is None:
        return None
    sides = [{record: i for i, record in enumerate(pairs.ids)} for pairs in (first.pairs, second.pairs)]
    shared = [record for record in sides[0] if record in sides[1]]
    if len(shared) < FEWEST:
        return None
    gains, further = (
        tuple(pairs.b[places[record]] - pairs.a[places[record]] for record in shared)
        for pairs, places in zip((first.pairs, second.pairs), sides, strict=True)
    )
    places = [sides[0][record] for record in shared]
    weights = tuple(first.pairs.weights_a[i] for i in places)
    queries = tuple(first.pairs.queries[i] for i in places) if first.pairs.queries else ()
    score = first.dataset, first.metric
    return compare_column(
        {score: 1.0}, {score: Pairs(tuple(shared), gains, further, weights, weights, queries=queries)}
    )


def table_gains(kind: VariantKind, scores: Mapping[str, Mapping[str, float]]) -> list[Gain]:
    """Compares the tables of one model.

    Args:
        kind: The kind of variants.
        scores: Table -> metric -> score, without data sets, which :func:`gains_of` compares.
    """
    pairs, _ = kind.pair_up(list(scores))
    return [
        Gain(name, metric, score, scores[variant][metric], None)
        for name, variant in pairs
        for metric, score in scores[name].items()
        if metric in scores[variant]
    ]


def row_of(
    kind: VariantKind,
    model: str,
    gain: Gain,
    before: PromptTokens = NO_TOKENS,
    after: PromptTokens = NO_TOKENS,
) -> dict[str, str]:
    """Returns a row of the table: column -> text, ``''`` for no value.

    Args:
        kind: The kind of variants.
        model: Its abbr.
        comparison: The gain.
        before: Tokens of the prompts of the original.
        after: Tokens of the prompts of the variant. There is no reduction if another tokenizer counted them.
    """
    interval = gain.interval
    numbers: dict[str, float | None] = {
        kind.original: gain.original,
        kind.variant: gain.variant,
        'delta': gain.delta,
        'low': interval.low if interval else None,
        'high': interval.high if interval else None,
        'better': gain.better,
        'worse': gain.worse,
        **dict(zip(KEPT, (gain.kept.kept, gain.kept.low, gain.kept.high) if gain.kept else (None,) * 3, strict=True)),
        **dict(zip(kind.step_columns, gain.steps, strict=True)),
        **_tokens(kind, 'first_prompt', before.first, after.first, before.counted_by == after.counted_by),
        **_tokens(kind, 'task_prompts', before.task, after.task, before.counted_by == after.counted_by),
    }
    texts = {
        'model': model,
        'dataset': gain.dataset,
        'metric': gain.metric,
        'records': str(interval.pairs) if interval else '',
        # + 0.0: -0.001 rounds to -0.0, formatted as '-0.00'.
        **{name: '' if value is None else f'{round(value, 2) + 0.0:.2f}' for name, value in numbers.items()},
    }
    return {column: texts[column] for column in kind.columns}


def _tokens(
    kind: VariantKind, of: str, before: float | None, after: float | None, comparable: bool
) -> dict[str, float | None]:
    less = reduction(before, after) if comparable and before is not None and after is not None else None
    return dict(zip(kind.token_columns(of), (before, after, less), strict=True))


SPREAD = ('model', 'dataset', 'metric', 'seeds', 'mean_delta', 'lowest', 'highest', 'deviation')
"""Columns of :func:`spread_rows`."""


def spread_rows(kind: VariantKind, compared: Iterable[tuple[str, Gain]]) -> Iterator[tuple[str, ...]]:
    """Yields a row for each model, variant and metric with several seeds: how much the gains of the seeds differ.

    Args:
        kind: The kind of variants.
        compared: Model and gain.
    """
    deltas: dict[tuple[str, str, str], list[float]] = {}
    for model, gain in compared:
        deltas.setdefault((model, kind.without_seed(gain.dataset), gain.metric), []).append(gain.delta)
    for key, of_seeds in deltas.items():
        if len(of_seeds) > 1:
            numbers = fmean(of_seeds), min(of_seeds), max(of_seeds), stdev(of_seeds)
            yield *key, str(len(of_seeds)), *(f'{round(number, 2) + 0.0:.2f}' for number in numbers)


CHANGED = (
    'twin', 'twin_seed', 'twins_version', 'left_out', WITHOUT_TWIN, 'max_added_chars',
    'records_sha256', 'prompts_sha256',
)  # fmt: skip
"""Keys of a provenance in which a twin differs from its original."""


@dataclass(frozen=True)
class Originals:
    """The originals of a run's twins under the names of the twins: a baseline for them.

    Attributes:
        run: The run.
        kind: The kind of variants.
        pattern: Pattern of the variants' names.
    """

    run: Results
    kind: VariantKind
    pattern: str

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.run.path

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields model and variant of every pair."""
        present = set(self.run.pairs())
        for model, dataset in sorted(present):
            if fnmatchcase(dataset, self.pattern) and (model, self.kind.original_of(dataset)) in present:
                yield model, dataset

    def result(self, model: str, dataset: str) -> Result | None:
        """Returns the result of a twin's original, with the keys of the provenance that a change of records sets."""
        twin, original = self.run.result(model, dataset), self.run.result(model, self.kind.original_of(dataset))
        if not twin or not original:
            return original
        settings = Provenance.of(twin).stored
        changed = {key: settings[key] for key in CHANGED if key in settings}
        return {**original, 'provenance': {**Provenance.of(original).stored, **changed}}
