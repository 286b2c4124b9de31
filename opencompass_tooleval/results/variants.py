"""Compares a data set with a variant of it.

They are a pair by name: ``X`` and ``X`` with the variant's suffix. Their records are paired by id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opencompass_tooleval.catalogue.benchmark import OUR_PREFIX
from opencompass_tooleval.core.scoring.usage_summary import PromptTokens
from opencompass_tooleval.core.statistics.intervals import Interval, intervals_of
from opencompass_tooleval.core.statistics.paired import (
    Result,
    changed_shares,
    mean_steps,
    metrics_of,
    over_shared,
    pairs_of,
)

NO_TOKENS = PromptTokens()


def reduction(before: float, after: float) -> float | None:
    """Computes by how many percent ``after`` is less than ``before``; None if ``before`` is 0."""
    return 100.0 * (before - after) / before if before else None


@dataclass(frozen=True)
class Comparison:
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

    @property
    def delta(self) -> float:
        """Gain of the variant, in points."""
        return self.interval.delta if self.interval else self.variant - self.original


def compare(dataset: str, original: Result, variant: Result) -> list[Comparison]:
    """Compares two results, metric by metric.

    Args:
        dataset: Abbr of the original data set.
        original: Its result, with ``details``.
        variant: The result of its variant, with ``details``.
    """
    metrics = [metric for metric in metrics_of(original) if metric in metrics_of(variant)]
    pairs = {(dataset, metric): paired for metric in metrics if (paired := pairs_of(original, variant, metric))}
    intervals = intervals_of(pairs)
    comparisons = []
    for metric in metrics:
        paired = pairs.get((dataset, metric))
        scores, _ = over_shared(paired, (original[metric], variant[metric]), (None, None))
        interval = intervals.get((dataset, metric))
        if paired is None:
            comparisons.append(Comparison(dataset, metric, *scores, interval))
            continue
        steps = mean_steps(original, set(paired.ids)), mean_steps(variant, set(paired.ids))
        comparison = Comparison(dataset, metric, *scores, interval, paired.unshared, *changed_shares(paired), steps)
        comparisons.append(comparison)
    return comparisons


@dataclass(frozen=True)
class VariantKind:
    """A kind of variants: the pattern of their names, and their descriptions.

    Attributes:
        suffix: Ending of the abbr of a variant.
        original: Content of the original's prompts, such as ``documentation``; the name of a column.
        variant: Content of the variant's prompts instead, such as ``instructions``.
        title: Title for people, such as ``EasyTool instructions``.
        page: The name of the page that shows them, such as ``EasyTool``.
        question: Subject of the comparison, such as ``What instructions gain``.
        groups: Name of its summary groups (tables), as for ``Benchmark``.
        methods_of: Benchmarks in which the suffix names a method, not a variant.
        methods: Endings of names in which it does, unless ``partners`` has them.
        figures: Name of a function for further charts, as for ``Benchmark``.
        published: Names of the published tables that its page shows.
        partners: Ending of a variant's name -> that of its original, if it is not the name without the suffix.
    """

    suffix: str
    original: str
    variant: str
    title: str
    page: str
    question: str
    groups: tuple[str, ...] = ()
    methods_of: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    figures: str = ''
    published: tuple[str, ...] = ()
    partners: tuple[tuple[str, str], ...] = ()

    def is_variant(self, name: str) -> bool:
        """Tests by its name if a data set or a table is a variant of this kind."""
        if not name.endswith(self.suffix) or name.removeprefix(OUR_PREFIX).startswith(self.methods_of):
            return False
        return not name.endswith(self.methods) or name.endswith(tuple(end for end, _ in self.partners))

    def original_of(self, name: str) -> str:
        """Returns the name of a variant's original."""
        ends = next((ends for ends in self.partners if name.endswith(ends[0])), (self.suffix, ''))
        return name.removesuffix(ends[0]) + ends[1]

    def variant_of(self, name: str) -> str:
        """Returns the name of an original's variant."""
        ends = next((ends for ends in self.partners if name.endswith(ends[1])), (self.suffix, ''))
        return name.removesuffix(ends[1]) + ends[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table, filled by :meth:`row`."""
        scores = (self.original, self.variant, 'delta', 'low', 'high', 'records')
        tokens = (*self.token_columns('first_prompt'), *self.token_columns('task_prompts'))
        return ('model', 'dataset', 'metric', *scores, 'better', 'worse', *self.step_columns, *tokens)

    @property
    def step_columns(self) -> tuple[str, str]:
        """Columns of an agent's steps per task: of the original and of the variant."""
        return f'steps_{self.original}', f'steps_{self.variant}'

    def token_columns(self, of: str) -> tuple[str, str, str]:
        """Returns columns of tokens: of the original, of the variant, and the reduction in percent.

        Args:
            of: ``first_prompt``, the first prompt of a task, or ``task_prompts``, all prompts of a task together.
        """
        return f'{of}_{self.original}', f'{of}_{self.variant}', f'{of}_reduction'

    def pair_up(self, abbrs: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
        """Returns pairs of abbrs, original and variant, in their order; and the variants without a partner."""
        unique = dict.fromkeys(abbrs)
        variants = [abbr for abbr in unique if self.is_variant(abbr)]
        pairs = [(self.original_of(abbr), abbr) for abbr in variants]
        return [pair for pair in pairs if pair[0] in unique], [
            variant for first, variant in pairs if first not in unique
        ]

    def compare_groups(self, scores: Mapping[str, Mapping[str, float]]) -> list[Comparison]:
        """Compares the tables of one model.

        Args:
            scores: Table -> metric -> score, without data sets, which :func:`compare` compares.
        """
        pairs, _ = self.pair_up(list(scores))
        return [
            Comparison(name, metric, score, scores[variant][metric], None)
            for name, variant in pairs
            for metric, score in scores[name].items()
            if metric in scores[variant]
        ]

    def row(
        self,
        model: str,
        comparison: Comparison,
        before: PromptTokens = NO_TOKENS,
        after: PromptTokens = NO_TOKENS,
    ) -> dict[str, str]:
        """Returns a row of the table: column -> text, ``''`` for no value.

        Args:
            model: Its abbr.
            comparison: The comparison.
            before: Tokens of the prompts of the original.
            after: Tokens of the prompts of the variant. There is no reduction if another tokenizer counted them.
        """
        interval = comparison.interval
        numbers: dict[str, float | None] = {
            self.original: comparison.original,
            self.variant: comparison.variant,
            'delta': comparison.delta,
            'low': interval.low if interval else None,
            'high': interval.high if interval else None,
            'better': comparison.better,
            'worse': comparison.worse,
            **dict(zip(self.step_columns, comparison.steps, strict=True)),
            **self._tokens('first_prompt', before.first, after.first, before.counted_by == after.counted_by),
            **self._tokens('task_prompts', before.task, after.task, before.counted_by == after.counted_by),
        }
        texts = {
            'model': model,
            'dataset': comparison.dataset,
            'metric': comparison.metric,
            'records': str(interval.pairs) if interval else '',
            # + 0.0: -0.001 rounds to -0.0, formatted as '-0.00'.
            **{name: '' if value is None else f'{round(value, 2) + 0.0:.2f}' for name, value in numbers.items()},
        }
        return {column: texts[column] for column in self.columns}

    def _tokens(self, of: str, before: float | None, after: float | None, comparable: bool) -> dict[str, float | None]:
        less = reduction(before, after) if comparable and before is not None and after is not None else None
        return dict(zip(self.token_columns(of), (before, after, less), strict=True))
