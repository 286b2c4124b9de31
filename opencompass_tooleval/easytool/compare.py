"""The same benchmark with documentation and with instructions, side by side.

A data set and its instructed variant are a pair by name: ``X`` and ``X-easytool``. Their records are paired by id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opencompass_tooleval.core.bootstrap import Interval
from opencompass_tooleval.core.paired import Result, interval_of, metrics_of
from opencompass_tooleval.easytool.tokens import reduction

SUFFIX = '-easytool'
"""What the abbr of an instructed variant ends in."""

COLUMNS = (
    'model',
    'dataset',
    'metric',
    'documentation',
    'instructions',
    'delta',
    'low',
    'high',
    'records',
    'tokens_documentation',
    'tokens_instructions',
    'reduction',
)


@dataclass(frozen=True)
class Comparison:
    """One metric of one data set, or one column of a table, with documentation and with instructions.

    Attributes:
        dataset: Abbr of the data set with documentation, or the table's name.
        metric: Its metric.
        documentation: Score with documentation, 0-100.
        instructions: Score with instructions, 0-100.
        interval: Their difference in points over the records that both have; None for a column that is a mean of
            several data sets, and where the score is no mean over records.
    """

    dataset: str
    metric: str
    documentation: float
    instructions: float
    interval: Interval | None

    @property
    def delta(self) -> float:
        """What instructions gain, in points."""
        return self.interval.delta if self.interval else self.instructions - self.documentation


def pair_up(abbrs: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Pairs of abbrs, with documentation and with instructions, in their order; and the variants without a partner."""
    known = dict.fromkeys(abbrs)
    variants = [abbr for abbr in known if abbr.endswith(SUFFIX)]
    pairs = [(abbr.removesuffix(SUFFIX), abbr) for abbr in variants]
    return [pair for pair in pairs if pair[0] in known], [variant for first, variant in pairs if first not in known]


def compare(dataset: str, documented: Result, instructed: Result, samples: int, seed: int) -> list[Comparison]:
    """Sets two results side by side, metric by metric.

    Args:
        dataset: Abbr of the data set with documentation.
        documented: Its result, with ``details``.
        instructed: The result of its variant, with ``details``.
        samples: Number of resamples of the bootstrap.
        seed: Its seed.
    """
    return [
        Comparison(
            dataset,
            metric,
            documented[metric],
            instructed[metric],
            interval_of(documented, instructed, metric, samples, seed),
        )
        for metric in metrics_of(documented)
        if metric in metrics_of(instructed)
    ]


def compare_groups(scores: Mapping[str, Mapping[str, float]]) -> list[Comparison]:
    """Sets the tables of one model side by side.

    Args:
        scores: Table or data set -> metric -> score. Of data sets, which :func:`compare` takes, none is given.
    """
    pairs, _ = pair_up(list(scores))
    return [
        Comparison(name, metric, score, scores[variant][metric], None)
        for name, variant in pairs
        for metric, score in scores[name].items()
        if metric in scores[variant]
    ]


def row(model: str, comparison: Comparison, before: float | None = None, after: float | None = None) -> dict[str, str]:
    """A line of the table: column -> text, ``''`` where there is nothing to say.

    Args:
        model: Its abbr.
        comparison: What is compared.
        before: Mean tokens of the prompts with documentation.
        after: The same with instructions.
    """
    interval = comparison.interval
    numbers: dict[str, float | None] = {
        'documentation': comparison.documentation,
        'instructions': comparison.instructions,
        'delta': comparison.delta,
        'low': interval.low if interval else None,
        'high': interval.high if interval else None,
        'tokens_documentation': before,
        'tokens_instructions': after,
        'reduction': None if before is None or after is None else reduction(before, after),
    }
    texts = {
        'model': model,
        'dataset': comparison.dataset,
        'metric': comparison.metric,
        'records': str(interval.pairs) if interval else '',
        **{name: '' if value is None else f'{round(value, 2) + 0.0:.2f}' for name, value in numbers.items()},
    }
    return {column: texts[column] for column in COLUMNS}
