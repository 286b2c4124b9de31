"""Similarity of strings, for scoring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Similarity(Protocol):
    """Similarity of many strings at once.

    Attributes:
        name: Name in results, for example ``all-mpnet-base-v2``.
    """

    name: str

    def prepare(self, texts: Iterable[str]) -> None:
        """Announces all strings, so that an encoder can batch them."""

    def matrix(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Returns similarities in 0-1, shape ``(len(left), len(right))``; equal strings have exactly equal rows."""

    def prepare_batches(self, batches: Iterable[Sequence[str]]) -> None:
        """Announces all ``left`` and ``right`` of later calls of :meth:`batch_matrix`."""

    def batch_matrix(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Returns :meth:`matrix` with the rounding of a reference implementation that encodes each list as one batch.

        Equal strings may then differ in their last bits, which can decide between equally good matchings.
        """


class ExactSimilarity:
    """A similarity of 1 for equal strings and 0 for others, for tests and for runs without an encoder."""

    name = 'exact'

    def prepare(self, texts: Iterable[str]) -> None:
        """Does nothing."""

    def matrix(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Returns 1 for equal strings and 0 for others, shape ``(len(left), len(right))``."""
        return np.array([[float(a == b) for b in right] for a in left]).reshape(len(left), len(right))

    def prepare_batches(self, batches: Iterable[Sequence[str]]) -> None:
        """Does nothing."""

    def batch_matrix(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Returns :meth:`matrix`, since nothing is rounded."""
        return self.matrix(left, right)


class Batchwise:
    """A similarity whose :meth:`matrix` rounds as :meth:`Similarity.batch_matrix` does.

    Args:
        similarity: The similarity whose ``batch_matrix`` is used.
    """

    def __init__(self, similarity: Similarity) -> None:
        self.name = similarity.name
        self.prepare = similarity.prepare
        self.prepare_batches = similarity.prepare_batches
        self.matrix = self.batch_matrix = similarity.batch_matrix
