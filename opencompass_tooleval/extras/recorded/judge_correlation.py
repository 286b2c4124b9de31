"""Agreement of two judges: Pearson's correlation per dimension (UltraTool, Figure 6)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opencompass_tooleval.benchmarks.ultratool.data import Subset
from opencompass_tooleval.benchmarks.ultratool.judge import Judged, dimensions


@dataclass(frozen=True)
class Agreement:
    """Comparison of two sets of judgements.

    Attributes:
        compared: Number of plans or created tools that both judged.
        only_first: Number that only the first judged; unreadable and missing judgements do not count.
        only_second: Number that only the second judged.
        correlations: Dimension -> -1 to 1, over items that both judged; None if undefined: for fewer than two items, or
            if a judge gave the same score to all.
        other_answers: Items whose two judgements are known to belong to different answers, and so cannot show
            agreement.
        unnamed: Number of items for which at least one judgement does not identify its answer.
        means: Dimension -> the mean scores, 0-10, of the first and the second judge over items that both judged; None
            without such items. Two judges may agree in order but not in level.
    """

    compared: int
    only_first: int
    only_second: int
    correlations: Mapping[str, float | None]
    means: Mapping[str, tuple[float, float] | None]
    other_answers: Sequence[tuple[str, str]] = ()
    unnamed: int = 0


def pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Returns Pearson's correlation of two series; None for fewer than two values or a constant series."""
    if min(len(set(first)), len(set(second))) < 2:  # by value: after rounding, a constant 7.3 has some variance
        return None
    return max(-1.0, min(1.0, statistics.correlation(first, second)))


def agree(subset: Subset, first: Sequence[Judged], second: Sequence[Judged]) -> Agreement:
    """Compares two sets of judgements over the items, by record and step, that both judged.

    Args:
        subset: Planning or tool creation.
        first: Judgements, in any order, at most one per item.
        second: Judgements of the other judge.
    """
    first_by_id, second_by_id = (
        {(judged.id, judged.step): (judged.found.scores, judged.answer_digest) for judged in judgements if judged.found}
        for judgements in (first, second)
    )
    both = [key for key in first_by_id if key in second_by_id]
    answers = {key: (first_by_id[key][1], second_by_id[key][1]) for key in both}
    pairs = {
        name: ([first_by_id[key][0][name] for key in both], [second_by_id[key][0][name] for key in both])
        for name in dimensions(subset)
    }
    return Agreement(
        compared=len(both),
        only_first=len(first_by_id) - len(both),
        only_second=len(second_by_id) - len(both),
        correlations={name: pearson(*pair) for name, pair in pairs.items()},
        means={
            name: (statistics.fmean(pair[0]), statistics.fmean(pair[1])) if both else None
            for name, pair in pairs.items()
        },
        other_answers=[key for key, digests in answers.items() if all(digests) and digests[0] != digests[1]],
        unnamed=sum(not all(digests) for digests in answers.values()),
    )
