"""How far two judges agree: Pearson's correlation per dimension (UltraTool, Figure 6)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opencompass_tooleval.benchmarks.ultratool.records import Subset
from opencompass_tooleval.benchmarks.ultratool.score_judged import Judged, dimensions


@dataclass(frozen=True)
class Agreement:
    """What two sets of judgements say of the same things.

    Attributes:
        compared: Plans or created tools that both judged.
        only_first: Those that only the first judged; what could not be judged, or was missing, counts as not judged.
        only_second: Those that only the second judged.
        correlations: Dimension -> -1 to 1, over what both judged; None where it is not defined: fewer than two things,
            or one judge gave every one the same score.
        other_answers: Those of what both judged that are known to be two answers to the same question: judgements of
            different answers say nothing of how far two judges agree.
        unnamed: Of how many at least one judge does not say which answer it is.
        means: Dimension -> the mean scores, 0-10, of the first and of the second over what both judged; None where
            there is nothing. Two judges may agree on the order and not on the height.
    """

    compared: int
    only_first: int
    only_second: int
    correlations: Mapping[str, float | None]
    means: Mapping[str, tuple[float, float] | None]
    other_answers: Sequence[tuple[str, str]] = ()
    unnamed: int = 0


def pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Pearson's correlation of two series of one length; None for fewer than two values or a constant series."""
    if min(len(set(first)), len(set(second))) < 2:  # by value: rounding leaves a constant 7.3 some variance
        return None
    return max(-1.0, min(1.0, statistics.correlation(first, second)))


def agree(subset: Subset, first: Sequence[Judged], second: Sequence[Judged]) -> Agreement:
    """Compares two sets of judgements over the things, by record and step, that both judged.

    Args:
        subset: Planning or tool creation.
        first: Judgements, in any order, of a thing at most one.
        second: The same of the other judge.
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
