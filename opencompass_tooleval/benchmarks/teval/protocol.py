"""Scoring rules: T-Eval's two protocols, and official or strict scoring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from opencompass_tooleval.benchmarks.teval.records import Subset
from opencompass_tooleval.core.text.fullwidth import read_either
from opencompass_tooleval.core.text.reading import Parsed

PLAN_THRESHOLD = {'v1': 0.7, 'v2': 0.8}
"""Similarity above which steps match. v1: as in arXiv 2312.14033 and OpenCompass 0.5.4; v2: the authors' later code."""

PROTOCOLS = ('v1', 'v2')
SCORINGS = ('official', 'strict')


@dataclass(frozen=True)
class Protocol:
    """The rules for a run.

    Attributes:
        name: ``v1`` compares arguments by embedding, ``v2`` by equality and with a higher threshold for plans.
        scoring: ``official`` keeps the published behaviour with its quirks, ``strict`` fixes them (see
            docs/explanation/teval.md).

    Raises:
        ValueError: A name is unknown.
    """

    name: str = 'v1'
    scoring: str = 'official'

    def __post_init__(self) -> None:
        if self.name not in PROTOCOLS:
            raise ValueError(f'protocol {self.name!r} is not one of {", ".join(PROTOCOLS)}')
        if self.scoring not in SCORINGS:
            raise ValueError(f'scoring {self.scoring!r} is not one of {", ".join(SCORINGS)}')

    @property
    def strict(self) -> bool:
        """True if the quirks of the published code are fixed."""
        return self.scoring == 'strict'

    @property
    def plan_threshold(self) -> float:
        """Similarity above which two steps of a plan may match."""
        return PLAN_THRESHOLD[self.name]

    def parse(self, text: str, read: Callable[[str], Parsed]) -> Parsed:
        """Parses a text with ``read``; strict scoring also accepts full-width punctuation."""
        return read_either(text, read) if self.strict else read(text)

    def needs_encoder(self, subset: Subset) -> bool:
        """Tests if scoring ``subset`` compares texts by embedding."""
        return self.name in subset.encoder


def protocol_of_version(version: str) -> str:
    """Returns the protocol of a data version: ``v2_subset`` -> ``v2``."""
    return version.partition('_')[0]
