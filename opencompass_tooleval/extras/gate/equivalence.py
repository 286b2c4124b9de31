"""Tests whether two systems are equivalent, that is, whether their scores differ by less than a margin."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import replace

from opencompass_tooleval.core.statistics.intervals import ALPHA, Effect, interval_of
from opencompass_tooleval.extras.gate.drop_test import drop_p_value

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
