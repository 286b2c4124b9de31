"""Counts errata of published data by kind, for every benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Protocol


class Erratum(Protocol):
    """One fault of published data."""

    @property
    def kind(self) -> str:
        """The kind of fault, one of those of its benchmark."""


def count_kinds(errata: Collection[Erratum], kinds: Sequence[str]) -> dict[str, int]:
    """Counts errata: kind -> number, in the order of ``kinds``."""
    counts = Counter(erratum.kind for erratum in errata)
    return {kind: counts[kind] for kind in kinds}


def errata_in_words(errata: Collection[Erratum], kinds: Sequence[str]) -> str:
    """Formats counts: ``5 errata (blank 4, placeholder 1)``, or ``0 errata``."""
    if not errata:
        return '0 errata'
    counted = ', '.join(f'{kind} {count}' for kind, count in count_kinds(errata, kinds).items() if count)
    return f'{len(errata)} errata ({counted})'
