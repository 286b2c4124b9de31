"""core/statistics/ratio: the share of points that a score keeps, and how often its interval holds the true share."""

from __future__ import annotations

import random

import pytest

from opencompass_tooleval.core.statistics.intervals import Pairs, compare_column
from opencompass_tooleval.core.statistics.ratio import Share, share_kept

SCORE = ('d', 'm')


def pairs_of(a: list[float], b: list[float], queries: list[str] | None = None) -> Pairs:
    ones = (1.0,) * len(a)
    ids = tuple(map(str, range(len(a))))
    return Pairs(ids, tuple(a), tuple(b), ones, ones, queries=tuple(queries or ()))


def share_of(pairs: Pairs) -> Share | None:
    return share_kept(pairs, compare_column({SCORE: 1.0}, {SCORE: pairs}))


def test_the_share_and_what_has_none() -> None:
    share = share_of(pairs_of([100.0] * 50 + [0.0] * 50, [100.0] * 40 + [0.0] * 60))
    assert share is not None and share.kept == pytest.approx(80) and share.low < 80 < share.high < 100
    assert share_of(pairs_of([100.0] * 9 + [0.0] * 91, [0.0] * 100)) is None  # below the floor
    assert share_of(pairs_of([100.0] + [0.0] * 3, [0.0] * 4)) is None  # no larger than its error
    share = share_of(pairs_of([100.0] * 20, [100.0] * 20))
    assert share is not None and share.kept == 100 and share.low < 90 and share.high > 110


def test_records_of_a_query_are_one_cluster() -> None:
    a, b = [100.0, 0.0] * 40, [100.0, 0.0, 0.0, 0.0] * 20
    alone = share_of(pairs_of(a, b))
    together = share_of(pairs_of(a, b, [str(number // 8) for number in range(80)]))
    apart = share_of(pairs_of([100.0] * 40 + [0.0] * 40, [100.0] * 20 + [0.0] * 60, [str(n // 10) for n in range(80)]))
    assert alone is not None and together is not None and apart is not None
    assert apart.high - apart.low > alone.high - alone.low


@pytest.mark.parametrize(('right', 'kept', 'records', 'size'), [(0.6, 0.7, 60, 1), (0.3, 0.9, 120, 3)])
def test_the_interval_holds_the_true_share(right: float, kept: float, records: int, size: int) -> None:
    """In at least 93 of 100 draws; the records of a query are right together."""
    rng, held, measured = random.Random(f'{right}{kept}{size}'), 0, 0
    queries = [str(number // size) for number in range(records)] if size > 1 else None
    for _ in range(400):
        before = [rng.random() < right for _ in range(records // size)]
        after = [is_right and rng.random() < kept for is_right in before]
        a, b = ([100.0 * is_right for is_right in side for _ in range(size)] for side in (before, after))
        share = share_of(pairs_of(a, b, queries))
        if share is not None:
            measured += 1
            held += share.low <= 100 * kept <= share.high
    assert measured > 350 and held / measured >= 0.93
