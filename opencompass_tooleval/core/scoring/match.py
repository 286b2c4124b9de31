"""Matches a predicted sequence with a gold one (T-Eval, App. C.2)."""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import NDArray

TIE = 1e-5
"""Weights closer than this count as equal: encoders round to about 1e-7."""


def best_matching(weights: NDArray[np.float64], threshold: float, order: int = 0) -> dict[int, int]:
    """Matches rows with columns so that the sum of weights is maximal.

    Args:
        weights: Shape ``(rows, columns)``, in 0-1.
        threshold: Only pairs with a higher weight may match.
        order: Chooses among equally good matchings. 0: that of networkx, for edges in T-Eval's order; 1: one whose
            columns increase with the rows as far as possible; -1: one whose columns do so least.

    Returns:
        Row -> column, with each column at most once.
    """
    rows, columns = np.nonzero(weights > threshold)
    # The sum of products of ranks is largest for sorted ranks (rearrangement inequality).
    nudge = order * TIE / max(1, weights.size)
    graph = nx.Graph()
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        # Columns as text, since row 1 and column 1 would be the same node.
        graph.add_edge(row, str(column), weight=float(weights[row, column]) + nudge * row * column)
    # networkx returns (row, column) or (column, row).
    pairs = (sorted(pair, key=lambda node: isinstance(node, str)) for pair in nx.max_weight_matching(graph))
    return {row: int(column) for row, column in pairs}


def is_ambiguous(weights: NDArray[np.float64], threshold: float) -> bool:
    """Tests if the number of matched steps in order depends on rounding.

    This is the case if equally good matchings differ in order, for example if a plan repeats a step, or if sums of
    weights are equal (one API is called twice, and two gold steps have equal arguments). It is also the case if a
    weight equals the threshold.
    """
    if (np.abs(weights - threshold) < TIE).any():
        return True
    edges = weights > threshold
    if (edges.sum(axis=0) <= 1).all() and (edges.sum(axis=1) <= 1).all():
        return False
    runs = {longest_increasing_run(best_matching(weights, threshold, order)) for order in (1, -1)}
    return len(runs) > 1


def longest_increasing_run(matching: dict[int, int]) -> int:
    """Returns the length of the longest subsequence of matched rows with increasing columns; 0 without matches."""
    best: dict[int, int] = {}
    for row in sorted(matching):
        column = matching[row]
        best[column] = 1 + max((length for earlier, length in best.items() if earlier < column), default=0)
    return max(best.values(), default=0)


def f1(precision: float, recall: float) -> float:
    """Returns the harmonic mean of precision and recall; 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
