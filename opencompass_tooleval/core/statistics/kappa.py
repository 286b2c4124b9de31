"""Cohen's kappa: how far two raters agree beyond chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Computes Cohen's kappa of two raters, unweighted.

    Source: J. Cohen, A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20(1),
    1960: (observed agreement - agreement by chance) / (1 - agreement by chance), chance from each rater's own shares.

    Args:
        first: A category per item.
        second: Those of the other rater, of the same items in the same order.

    Returns:
        -1 to 1; None where it is not defined: no item, or both raters put every item into the same category.

    Raises:
        ValueError: The lengths differ.
    """
    items = len(first)
    if items != len(second):
        raise ValueError(f'two raters of the same items have as many ratings: {items} and {len(second)}')
    counts = Counter(first), Counter(second)
    by_chance = sum(counts[0][category] * counts[1][category] for category in counts[0])  # times items ** 2
    if by_chance == items**2:
        return None
    observed = sum(a == b for a, b in zip(first, second, strict=True))
    return (observed * items - by_chance) / (items**2 - by_chance)
