"""core/aggregate: means and standard errors against numpy, None, reasons, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.core.scoring.aggregate import Aggregate, aggregate
from opencompass_tooleval.core.scoring.result import SampleScore

UNIT = st.floats(0, 1)
REASONS = st.sampled_from(['ok', 'parse:not_json', 'args:wrong', 'infra:timeout', 'infra:server', 'infrared:no'])


def scores_of(*values: float | None) -> list[SampleScore]:
    return [SampleScore(str(index), {'m': value}, 'ok') for index, value in enumerate(values)]


def test_exact() -> None:
    scores = [
        SampleScore('a', {'x': 1.0, 'y': None}, 'ok'),
        SampleScore('b', {'x': 0.0, 'y': 0.25}, 'parse:not_json'),
        SampleScore('c', {'x': 0.5, 'y': None}, 'infra:timeout'),
        SampleScore('d', {'x': 0.5, 'y': None}, 'ok'),
    ]
    near: Any = pytest.approx  # stands in for a float
    assert aggregate(scores, ['y', 'x', 'z'][:2]) == Aggregate(
        metrics={'y': 25.0, 'x': 50.0},
        standard_errors={'y': None, 'x': near(100 * math.sqrt(0.5 / 3 / 4))},
        reasons={'ok': 2, 'infra:timeout': 1, 'parse:not_json': 1},
        samples=4,
        infra=1,
    )
    assert list(aggregate(scores, ['y', 'x']).metrics) == ['y', 'x']
    assert list(aggregate(scores, ['x']).reasons) == ['ok', 'infra:timeout', 'parse:not_json']


@given(st.lists(UNIT | st.none(), min_size=1, max_size=30), st.integers(1, 4))
def test_mean_and_standard_error_are_those_of_numpy(values: list[float | None], runs: int) -> None:
    """Without the samples that a metric does not apply to; the samples of one record are clustered."""
    total = aggregate(scores_of(*values) * runs, ['m'])
    rest = [value for value in values if value is not None]
    assert total.samples == len(values) * runs
    if not rest:
        assert (total.metrics, total.standard_errors) == ({'m': None}, {'m': None})
        return
    error = 100 * np.std(rest, ddof=1) / np.sqrt(len(rest)) if len(rest) > 1 else None
    assert total.metrics['m'] == pytest.approx(100 * np.mean(rest), abs=1e-9)
    assert total.standard_errors['m'] == (None if error is None else pytest.approx(error, abs=1e-9))


@given(st.lists(REASONS, min_size=1, max_size=40))
def test_reasons_add_up(reasons: list[str]) -> None:
    total = aggregate([SampleScore(str(i), {'m': 0.0}, reason) for i, reason in enumerate(reasons)], ['m'])
    assert sum(total.reasons.values()) == total.samples == len(reasons)
    assert total.reasons == {reason: reasons.count(reason) for reason in set(reasons)}
    assert total.infra == reasons.count('infra:timeout') + reasons.count('infra:server')
    ranks = [(-count, reason) for reason, count in total.reasons.items()]
    assert ranks == sorted(ranks)


def test_full_marks_are_exactly_100_and_what_is_missing_is_named() -> None:
    total = aggregate(scores_of(*[1.0] * 7), ['m'])
    assert (total.metrics, total.standard_errors) == ({'m': 100.0}, {'m': 0.0})
    with pytest.raises(ValueError, match=r'^no samples to aggregate$'):
        aggregate([], ['m'])
    scores = [SampleScore('a', {'m': 1.0}, 'ok'), SampleScore('b', {'n': 1.0}, 'ok')]
    with pytest.raises(ValueError, match=r"^metric 'm' is missing in record 'b'$"):
        aggregate(scores, ['m'])
