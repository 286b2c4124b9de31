"""core/match: against scipy, against brute force, and results that depend on rounding."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from opencompass_tooleval.benchmarks.teval.scoring import TIE, best_matching, f1, is_ambiguous, longest_increasing_run

Matrix = NDArray[np.float64]

SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 6))
MATRICES: st.SearchStrategy[Matrix] = SHAPES.flatmap(lambda shape: arrays(np.float64, shape, elements=st.floats(0, 1)))
# few distinct values, so that ties are common
COARSE: st.SearchStrategy[Matrix] = SHAPES.flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.6, 0.75, 0.9, 1.0]))
)


def best_weight(weights: Matrix, threshold: float) -> float:
    gains = np.where(weights > threshold, weights, 0.0)
    return float(gains[linear_sum_assignment(gains, maximize=True)].sum())


def brute_force_run(matching: dict[int, int]) -> int:
    columns = [matching[row] for row in sorted(matching)]
    for length in range(len(columns), 0, -1):
        for part in combinations(columns, length):
            if all(a < b for a, b in pairwise(part)):
                return length
    return 0


@given(MATRICES | COARSE, st.sampled_from([0.0, 0.5, 0.7, 0.8]), st.sampled_from([0, 1, -1]))
def test_weight_is_that_of_scipy(weights: Matrix, threshold: float, order: int) -> None:
    matching = best_matching(weights, threshold, order)
    assert len(set(matching.values())) == len(matching)
    assert all(weights[row, column] > threshold for row, column in matching.items())
    total = sum(weights[row, column] for row, column in matching.items())
    # `order` may give up as much as ties are rounded by, per matched pair
    slack = 1e-9 if order == 0 else TIE * min(weights.shape)
    assert total == pytest.approx(best_weight(weights, threshold), abs=slack)


def test_threshold() -> None:
    for weight, expected in ((0.69, {}), (0.7, {}), (np.nextafter(0.7, 1), {0: 0})):
        assert best_matching(np.array([[weight]]), 0.7) == expected


def test_the_largest_sum_counts_and_order_decides_between_equal_ones() -> None:
    assert best_matching(np.array([[0.95, 0.9], [0.9, 0.0]]), 0.7) == {0: 1, 1: 0}, 'not the largest pair'
    assert best_matching(np.ones((3, 3)), 0.7, 1) == {0: 0, 1: 1, 2: 2}
    assert best_matching(np.ones((3, 3)), 0.7, -1) == {0: 2, 1: 1, 2: 0}
    weights = np.array([[0.9, 0.9 + 20 * TIE], [0.9 + 20 * TIE, 0.9]])
    assert best_matching(weights, 0.7, 1) == best_matching(weights, 0.7, -1) == {0: 1, 1: 0}


BOUNDARY = 0.80005
"""Where rounding to 10 x TIE tips over."""


def hidden_tie(at: float) -> Matrix:
    """Rows 0 and 2 differ by rounding only, around ``at``; row 1 is another.

    Row 1 takes column 0, and whether row 0 or row 2 takes column 1 decides whether one step or two are in order.
    """
    return np.array([[0.75, at - 1e-8], [0.95, at - 1e-8], [0.75, at + 1e-8]])


@pytest.mark.parametrize(('weights', 'expected'), [
    pytest.param([[1.0, 0.1], [0.2, 1.0]], False, id='clear'),
    pytest.param([[0.9], [0.9]], False, id='equal rows, one column: one step in order either way'),
    pytest.param([[0.0, 0.9], [0.9, 0.0], [0.0, 0.9]], True, id='equal rows before and after'),
    pytest.param([[0.0, 0.9], [0.9, 0.0], [0.0, 0.9 + 1e-7]], True, id='equal up to rounding'),
    pytest.param([[0.0, 0.9], [0.9, 0.0], [0.0, 0.9 + 1e-3]], False, id='not equal'),
    pytest.param([[0.0, 0.9, 0.0], [0.9, 0.0, 0.9]], True, id='equal columns before and after'),
    pytest.param([[0.7 + 1e-7, 0.1], [0.2, 1.0]], True, id='on the threshold'),
    pytest.param([[0.0, 0.6], [0.9, 0.0], [0.0, 0.6]], False, id='equal rows below the threshold'),
    pytest.param(hidden_tie(0.8), True, id='equal up to rounding, inside a bin'),
    pytest.param(hidden_tie(BOUNDARY), True, id='equal up to rounding, across the edge of a bin'),
])  # fmt: skip
def test_is_ambiguous(weights: list[list[float]], expected: bool) -> None:
    assert is_ambiguous(np.array(weights), 0.7) is expected


@given(st.permutations(range(7)), st.sets(st.integers(0, 6)))
def test_longest_increasing_run_is_that_of_brute_force(columns: list[int], dropped: set[int]) -> None:
    matching = {row: column for row, column in enumerate(columns) if row not in dropped}
    backwards = dict(reversed(matching.items()))
    assert longest_increasing_run(matching) == brute_force_run(matching)
    assert longest_increasing_run(backwards) == brute_force_run(matching)


def test_f1() -> None:
    for precision, recall, expected in ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.5, 1.0, 2 / 3)):
        assert f1(precision, recall) == pytest.approx(expected, abs=1e-15)
