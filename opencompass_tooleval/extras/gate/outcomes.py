"""Decides if a metric dropped, and if two runs are equivalent: one-sided tests."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from opencompass_tooleval.core.statistics.intervals import ALPHA, NOISE, Effect, interval_of, t_chance


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


EQUIVALENT, DIFFERENT, UNDECIDED = 'equivalent', 'different', 'undecided'

_MOST = 10**9


def difference_p_value(effect: Effect, margin: float) -> float:
    """Returns the p-value of a difference: the chance of one at least as large if the true one is the margin.

    Args:
        effect: The difference.
        margin: The margin in points, above 0.
    """
    return min(drop_p_value(effect, margin, is_rise) for is_rise in (False, True))


def equivalence_of(effect: Effect, margin: float, p_value: float = 0.0) -> str:
    """Decides by two one-sided tests (Schuirmann 1987), using the 95% interval.

    Each end of the interval is the result of a one-sided test, which also holds if few records differ. So if the true
    difference of two systems is the margin, they count as equivalent with a chance of at most 5%
    (``tools/gate_false_alarms.py``).

    Args:
        effect: The difference.
        margin: The margin in points, above 0.
        p_value: The p-value of :func:`difference_p_value`, adjusted for all scores.

    Returns:
        :data:`EQUIVALENT` if the interval lies between minus the margin and the margin; :data:`DIFFERENT` if the whole
        interval lies beyond the margin and the p-value is at most :data:`~.intervals.ALPHA`; else :data:`UNDECIDED`.
    """
    interval = interval_of(effect)
    if -margin < interval.low and interval.high < margin:
        return EQUIVALENT
    is_beyond = interval.high < -margin or interval.low > margin
    return DIFFERENT if is_beyond and p_value <= ALPHA else UNDECIDED


def records_to_decide(effect: Effect, margin: float) -> int | None:
    """Estimates how many records would decide, if the same share of them differed by as much as now.

    Without a difference the number is exact: as many records without a difference are equivalent.

    Args:
        effect: The difference over the present records.
        margin: The margin in points, above 0.

    Returns:
        The number of records; None if no number decides, because the difference equals the margin.
    """

    def is_decided(records: int) -> bool:
        factor = records / effect.records
        scaled = replace(
            effect,
            error=effect.error / math.sqrt(factor),
            freedom=max(1, int(effect.freedom * factor)),
            differing=int(effect.differing * factor),
            step=effect.step / factor,
            largest=effect.largest / factor,
            records=records,
        )
        is_open = equivalence_of(scaled, margin, difference_p_value(scaled, margin)) == UNDECIDED
        return not is_open

    number = 1 + bisect_left(range(1, _MOST), True, key=is_decided)
    return number if number < _MOST else None
