"""Samples of a dataset: whole queries, the same for all models and variants; larger samples contain smaller ones."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

LOOKS = 6
"""Maximum number of looks of ``tooleval run --within``; the last one uses all records."""
SEED, DRAW, LOOK, UNSEEN = 'sample_seed', 'sample_draw', 'sample_look', 'sample_unseen'
"""Keys of the provenance: the seed, the drawn units, the number of the look, and the number of :func:`unseen`
records."""
TWIN, WITHOUT_TWIN = 'twin', 'sampled_without_twin'
"""Keys of the provenance of a twin: its kind, and the number of sampled records that have no twin."""

_LAST_RATIO = 4.0
_FEWEST_OF_KEY = 20
"""Values of a key with fewer queries are merged into one."""


def unseen(queries: Sequence[str], drawn: Sequence[int]) -> int:
    """Counts the records of large queries that a sample says nothing about.

    This is the larger of two numbers: the records of all undrawn queries that are larger than every drawn one, and
    those of the largest undrawn query if it is larger than the average drawn one.

    Args:
        queries: Query of each record.
        drawn: Places of the drawn records.
    """
    sizes, seen = Counter(queries), Counter(queries[place] for place in drawn)
    others = [size for query, size in sizes.items() if query not in seen]
    largest, most = max(others, default=0), max(seen.values(), default=0)
    return max(largest if largest * len(seen) > len(drawn) else 0, sum(size for size in others if size > most))


@dataclass(frozen=True)
class Sample:
    """A sample of a dataset, as in its config: ``sample=dict(n=100)``.

    Attributes:
        n: Number of records, rounded up to a whole query; with ``look``, the number in the first look.
        seed: Seed for the order of the queries.
        look: Number of the look at a growing sample, 1 to :data:`LOOKS`; None for a fixed sample.
    """

    n: int
    seed: int = 0
    look: int | None = None

    @classmethod
    def of(cls, settings: Any) -> Sample:
        """Reads the setting in a config.

        Raises:
            ValueError: The setting is invalid.
        """
        if isinstance(settings, Mapping) and settings.keys() <= {'n', 'seed', 'look'} and 'n' in settings:
            sample = cls(**settings)
            numbers = [sample.n, sample.seed, *([] if sample.look is None else [sample.look])]
            if (
                all(type(number) is int for number in numbers)
                and sample.n > 0
                and sample.look in (None, *range(1, LOOKS + 1))
            ):
                return sample
        raise ValueError(f'sample={str(settings)[:60]}: give dict(n=100), or dict(n=100, seed=1)')

    def size(self, records: int) -> int:
        """Returns the sample size for a number of records.

        From look to look, the ratio of sampled to other records grows by a constant factor, up to 80% of the records in
        the last look but one.
        """
        if self.look in (None, 1) or records <= self.n:
            return min(self.n, records)
        first = self.n / (records - self.n)
        if self.look == LOOKS or first >= _LAST_RATIO:
            return records
        ratio = first * math.pow(_LAST_RATIO / first, (self.look - 1) / (LOOKS - 2))
        return round(records * ratio / (1 + ratio))

    def next_look(self, half: float, points: float, records: int) -> int:
        """Returns the next look at which an interval should be narrow enough.

        Args:
            half: Half of the interval's width in the present look.
            points: The wanted half width.
            records: Number of all records.
        """
        now = self.size(records)
        for look in range((self.look or 1) + 1, LOOKS):
            size = replace(self, look=look).size(records)
            if now < records and half * math.sqrt((1 / size - 1 / records) / (1 / now - 1 / records)) <= points:
                return look
        return LOOKS

    def draw(self, queries: Sequence[str], keys: Sequence[str] = ()) -> list[int]:
        """Draws whole queries until there are enough records; returns the sorted indices of their records.

        With ``keys``, each value has the same share of the sample as of all queries, rounded up or down at random.

        Args:
            queries: Query of each record.
            keys: Value of each record, such as its domain, or empty. A query has the value of its first record.
        """
        places: dict[str, list[int]] = {}
        for place, query in enumerate(queries):
            places.setdefault(query, []).append(place)
        wanted, drawn = self.size(len(queries)), list[int]()
        for query in self._in_order({query: keys[of[0]] if keys else '' for query, of in places.items()}):
            if len(drawn) >= wanted:
                break
            drawn += places[query]
        return sorted(drawn)

    def _in_order(self, key_of: Mapping[str, str]) -> Iterator[str]:
        counts = Counter(key_of.values())
        by_key: dict[str, list[str]] = {}
        for query, key in key_of.items():
            by_key.setdefault(key if counts[key] >= _FEWEST_OF_KEY else '', []).append(query)
        turns = []
        for alike in by_key.values():
            alike.sort(key=self._fraction)
            offset = self._fraction(f'{alike[0]}/offset')  # not from the key's name, which depends on the language
            turns += [((number + offset) / len(alike), query) for number, query in enumerate(alike)]
        yield from (query for _, query in sorted(turns))

    def _fraction(self, text: str) -> float:
        digest = hashlib.sha256(f'{self.seed}/{text}'.encode('utf-8', 'surrogatepass')).digest()
        return int.from_bytes(digest[:6], 'big') / (1 << 48)
