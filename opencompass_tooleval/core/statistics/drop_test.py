"""Tests whether scores dropped, with a bounded chance of a false alarm for all scores together."""

from __future__ import annotations

from collections.abc import Sequence

from opencompass_tooleval.core.statistics.intervals import ALPHA, NOISE, Effect, t_chance


def drop_p_value(effect: Effect, max_drop: float, lower_is_better: bool = False) -> float:
    """Computes the chance of so large a drop, or a larger one, of a system whose true drop is ``max_drop``.

    It is that of a one-sided paired t test, and at least that of an exact test by signs: otherwise, two records that
    both got worse would be proof. At most 5% false alarms are promised; :data:`~.intervals.ALPHA` is half of that, and
    the other half is for what the t distribution approximates (``tools/gate_false_alarms.py``).

    Args:
        effect: The difference.
        max_drop: Points that the score may drop, not negative.
        lower_is_better: True if a rise of the score is a drop in quality.
    """
    gain = (-effect.delta if lower_is_better else effect.delta) + max_drop
    p_value = 0.0 if gain < -NOISE else 1.0
    if effect.error:
        p_value = t_chance(gain / effect.error, effect.freedom)
    return max(p_value, effect.sign_chance)


def can_drop(queries: Sequence[int]) -> list[bool]:
    """Tests for each score of a gate if any result could be a drop, even one in which all queries got worse.

    Args:
        queries: Numbers of queries of the scores. Those that could be a drop alone are tested together.
    """
    alone = [0.5**number for number in queries]
    together = iter(holm([p_value for p_value in alone if p_value <= ALPHA]))
    return [p_value <= ALPHA and next(together) <= ALPHA for p_value in alone]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusts p-values so that all of those at most ``alpha`` together hold a false one with at most that chance.

    Method of Holm (1979), Scandinavian Journal of Statistics 6:65-70. The scores may be correlated.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, largest = [1.0] * len(p_values), 0.0
    for rank, position in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[position]))
        adjusted[position] = largest
    return adjusted
