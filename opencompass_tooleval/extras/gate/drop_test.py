"""Tests whether scores dropped; the chance of a false alarm is bounded for all scores together."""

from __future__ import annotations

from collections.abc import Sequence

from opencompass_tooleval.core.statistics.intervals import ALPHA, NOISE, Effect, t_chance


def drop_p_value(effect: Effect, max_drop: float, lower_is_better: bool = False) -> float:
    """Returns the p-value of a drop: the chance of a drop at least as large if the true drop is ``max_drop``.

    It is the p-value of a one-sided paired t test, but at least that of an exact sign test: otherwise, two records that
    both got worse would be proof. The promise is at most 5% false alarms. :data:`~.intervals.ALPHA` is half of that;
    the other half covers the errors of the t approximation (``tools/gate_false_alarms.py``).

    Args:
        effect: The difference.
        max_drop: Number of points that the score may drop, at least 0.
        lower_is_better: True if a rise of the score is a drop in quality.
    """
    gain = (-effect.delta if lower_is_better else effect.delta) + max_drop
    p_value = 0.0 if gain < -NOISE else 1.0
    if effect.error:
        p_value = t_chance(gain / effect.error, effect.freedom)
    return max(p_value, effect.sign_chance)


def can_drop(queries: Sequence[int]) -> list[bool]:
    """Tests for each score of a gate if any result could count as a drop, even if all queries got worse.

    Args:
        queries: Number of queries of each score. Scores that could show a drop alone are tested together.
    """
    alone = [0.5**number for number in queries]
    together = iter(holm([p_value for p_value in alone if p_value <= ALPHA]))
    return [p_value <= ALPHA and next(together) <= ALPHA for p_value in alone]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusts p-values so that the chance of any false one among those up to ``alpha`` is at most ``alpha``.

    Method of Holm (1979), Scandinavian Journal of Statistics 6:65-70. The scores may be correlated.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, largest = [1.0] * len(p_values), 0.0
    for rank, position in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[position]))
        adjusted[position] = largest
    return adjusted
