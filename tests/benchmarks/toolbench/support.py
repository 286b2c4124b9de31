"""Shared by ToolBench's tests: the demo, the real data if it exists, and records made by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from opencompass_tooleval.benchmarks.toolbench.data import Data, find_file, load_data
from tests.benchmarks.support import write_rows as write_rows
from tests.instructions.shared_data import DEMO as ALL_DEMOS
from tests.instructions.shared_data import real

DEMO = ALL_DEMOS / 'toolbench'


@cache
def demo(name: str) -> Data:
    return load_data(DEMO / find_file(name).file, name)


@cache
def published(name: str) -> Data:
    return load_data(real(f'toolbench/{find_file(name).file}'), name)


class Words:
    """Similarity of texts as the share of words that they have in common: an encoder that needs no model."""

    name = 'words'

    def prepare(self, texts: Iterable[str]) -> None:
        """Nothing to prepare."""

    def matrix(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Shared words over all words."""
        sets = [[set(text.casefold().split()) for text in texts] for texts in (left, right)]
        return np.array([[len(a & b) / len(a | b) for b in sets[1]] for a in sets[0]])

    def prepare_batches(self, batches: Iterable[Sequence[str]]) -> None:
        """Nothing to prepare."""

    def batch_matrix(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """The same as :meth:`matrix`."""
        return self.matrix(left, right)
