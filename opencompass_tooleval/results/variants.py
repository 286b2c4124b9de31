"""Compares data sets with their variants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import fmean, stdev

from opencompass_tooleval.catalogue.metrics import lower_is_better, main_metrics
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
from opencompass_tooleval.core.statistics.sample import UNSEEN, WITHOUT_TWIN
from opencompass_tooleval.results.result_row import Results

NO_TOKENS = PromptTokens()


def reduction(before: float, after: float) -> float | None:
    """Computes the reduction from ``before`` to ``after``, in percent; None if ``before`` is 0."""
    return 100.0 * (before - after) / before if before else None


@dataclass(frozen=True)
class Gain:
    """One metric of a data set, or one column of a table, for the original and its variant.

    Attributes:
        dataset: Abbr of the original data set, or the table's name.
        metric: The metric or column.
        original: Score of the original, 0-100; with an interval, over the records that both have.
        variant: Score of the variant, over the same records.
        unshared: Number of records that only one of them has.
        better: Percentage of the shared records on which the variant is better; None without an interval.
        worse: Percentage of the shared records on which the variant is worse.
        steps: Mean number of an agent's steps per task, for the original and the variant, over the same records; None
            if unknown.
        kept: Share of the original's points that the variant keeps, in percent; None if there is no interval, or too
            few points (:func:`~opencompass_tooleval.core.statistics.ratio.share_kept`).
        pairs: Values of the shared records; None if the score is not a mean over records.
        interval: Variant minus original, in points, over the shared records; None for a column of a table, and if the
            score is not a mean over records.
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
        """Variant minus original, in points."""
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
        more, less = changed_shares(paired)
        changed = (less, more) if lower_is_better(metric) else (more, less)
        gain = Gain(dataset, metric, *scores, interval, paired.unshared, *changed, steps, kept, paired)
        gains.append(gain)
    return gains


def main_gains(compared: Iterable[Gain]) -> dict[str, Gain]:
    """Returns data set -> its comparison by the main metric, or by the first of several main metrics."""
    by_dataset: dict[str, dict[str, Gain]] = {}
    for comparison in compared:
        by_dataset.setdefault(comparison.dataset, {})[comparison.metric] = comparison
    return {name: by_metric[main_metrics(list(by_metric))[0]] for name, by_metric in by_dataset.items()}


def change_of_lead(first: Gain, second: Gain) -> Interval | None:
    """Computes how much more the second model gains by a variant than the first, over the records of all four results.

    Returns:
        Gain of the second minus gain of the first, with its interval; None if there are too few records.
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
        scores: Table -> metric -> score. Data sets are left out: :func:`gains_of` compares them.
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
        model: The model's abbr.
        gain: The gain.
        before: Tokens of the original's prompts.
        after: Tokens of the variant's prompts. The row has no reduction if another tokenizer counted them.
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
    """Yields the spread of the gains over seeds: a row for each model, variant and metric with several seeds.

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
    'twin', 'twin_seed', 'twins_version', 'left_out', UNSEEN, WITHOUT_TWIN, 'max_added_chars',
    'records_sha256', 'prompts_sha256',
)  # fmt: skip
"""Keys of the provenance that may differ between a twin and its original."""


@dataclass(frozen=True)
class Originals:
    """The results of the originals of a run's twins, under the twins' names: the baseline for a gate on twins.

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
        """Yields model and variant for every variant whose original has a result."""
        present = set(self.run.pairs())
        for model, dataset in sorted(present):
            if fnmatchcase(dataset, self.pattern) and (model, self.kind.original_of(dataset)) in present:
                yield model, dataset

    def result(self, model: str, dataset: str) -> Result | None:
        """Returns the result of a twin's original; :data:`CHANGED` keys of its provenance come from the twin."""
        twin, original = self.run.result(model, dataset), self.run.result(model, self.kind.original_of(dataset))
        if not twin or not original:
            return original
        settings = Provenance.of(twin).stored
        changed = {key: settings[key] for key in CHANGED if key in settings}
        return {**original, 'provenance': {**Provenance.of(original).stored, **changed}}
