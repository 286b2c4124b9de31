"""Chances and quantiles of Student's t distribution, without SciPy."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

_MOST_FREEDOM = 10_000


def t_chance(value: float, freedom: int) -> float:
    """Computes the chance that Student's t is at most ``value``.

    Formulas 26.7.3 and 26.7.4 of Abramowitz and Stegun (1964), which are exact for whole degrees of freedom.

    Args:
        value: The value.
        freedom: Degrees of freedom, at least 1; above 10,000 counts as that.
    """
    freedom = min(freedom, _MOST_FREEDOM)
    angle = math.atan(value / math.sqrt(freedom))
    cosine = math.cos(angle)
    term, total = (cosine, 0.0) if freedom % 2 else (1.0, 0.0)
    for i in range(3 if freedom % 2 else 2, freedom + 1, 2):
        total += term
        term *= cosine**2 * (i - 1) / i
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if freedom % 2 else math.sin(angle) * total
    return min(1.0, max(0.0, (1 + inside) / 2))


@cache
def t_quantile(chance: float, freedom: int) -> float:
    """Returns the value that t is at most with this chance, above 0.5.

    By the expansion 26.7.5 of Abramowitz and Stegun (1964) from 30 degrees of freedom on, else by bisection.
    """
    if freedom >= 30:
        z = NormalDist().inv_cdf(chance)
        return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    low, high = 0.0, 1.0
    while t_chance(high, freedom) < chance:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_chance(middle, freedom) < chance else (low, middle)
    return high
