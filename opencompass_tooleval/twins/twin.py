"""A twin of a record, and the change that makes the twins of a data file."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.twins.translation import SAME, Translation

_TRIES = 30


def words_of(text: str) -> list[str]:
    """Splits a list of words at its blanks."""
    return text.split()


class LeftOutError(ValueError):
    """Raised for a record that has no twin. The message is the reason; records with the same message are counted."""


@dataclass(frozen=True)
class Twin:
    """A changed record, and the translation of answers to the original into answers to it."""

    raw: Any
    translation: Translation = SAME


def in_another_order(value: Any, shuffle: Callable[[], Any]) -> Any:
    """Shuffles until the order differs; returns the value if it has only one order, such as that of a single tool."""
    before = json.dumps(value)
    return next((new for _ in range(_TRIES) if json.dumps(new := shuffle()) != before), value)


Make = Callable[[str, Any, random.Random], Twin]
"""Makes the twin of a raw record, given the id, the record and its random numbers."""


@dataclass
class Changes:
    """Makes the twins of a data file: a ``Change`` of the loaders.

    Attributes:
        open: Takes all records of the file, and returns the function that makes the twin of one record.
        kind: Kind of the twins.
        seed: Seed of the random numbers; each record has its own, independent of the other records.
        translations: Id -> translation of the answers, of the twins made so far.
        left_out: Reason -> number of records without a twin.
    """

    open: Callable[[Mapping[str, Any]], Make]
    kind: str
    seed: int = 0
    translations: dict[str, Translation] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def __call__(self, rows: Mapping[str, Any]) -> dict[str, Any]:
        """Returns id -> raw twin; records without a twin are left out.

        Raises:
            ValueError: No record has a twin.
        """
        twins: dict[str, Any] = {}
        try:
            make = self.open(rows)
        except LeftOutError as error:  # concerns all records, such as those of a file with shared names
            self.left_out[str(error)] += len(rows)
            rows = {}
        for record_id, raw in rows.items():
            try:
                twin = make(record_id, raw, random.Random(f'{self.kind}/{self.seed}/{record_id}'))
            except LeftOutError as error:
                self.left_out[str(error)] += 1
                continue
            twins[record_id], self.translations[record_id] = twin.raw, twin.translation
        if not twins:
            reasons = ', '.join(f'{reason}: {count}' for reason, count in self.left_out.items())
            raise ValueError(f'no record has a twin of the kind {self.kind!r} ({reasons})')
        return twins
