"""Subsets: typed rows of a benchmark's table, found by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, TypeVar

from opencompass_tooleval.catalogue.labels import Metric
from opencompass_tooleval.core.errors import first_of

Row = TypeVar('Row')


@dataclass(frozen=True)
class SubsetRow:
    """Base of the rows of all tables of subsets: a name, and metrics in their fixed order."""

    name: str
    metrics: tuple[str, ...]

    METRICS: ClassVar[tuple[Metric, ...]] = ()
    """The rows of the benchmark's metrics."""

    @property
    def binary_metrics(self) -> tuple[str, ...]:
        """Names of its metrics in which a sample has 0 or 1, and 1 is correct."""
        binary = {row.name for row in self.METRICS if row.binary}
        return tuple(metric for metric in self.metrics if metric in binary)


class Table(tuple[Row, ...]):
    """A typed table of literals: rows in a fixed order, found by their ``name``."""

    benchmark: str
    what: str

    def __new__(
        cls, kind: type[Row], rows: Iterable[Mapping[str, Any]], benchmark: str, what: str = 'subset'
    ) -> Table[Row]:
        """Converts the rows; messages use ``benchmark``, its title, and ``what``, its word for a row."""
        table = super().__new__(cls, (kind(**row) for row in rows))
        table.benchmark, table.what = benchmark, what
        return table

    def find(self, name: str) -> Row:
        """Returns the row called ``name``.

        Raises:
            ValueError: No row has this name; the message lists the existing ones.
        """
        return find_row({row.name: row for row in self}, name, self.benchmark, self.what)  # type: ignore[attr-defined]


def find_row(table: Mapping[str, Row], name: str, benchmark: str, what: str = 'subset') -> Row:
    """Returns the row called ``name``.

    Raises:
        ValueError: No row has this name; the message lists the existing ones.
    """
    if name not in table:
        raise ValueError(f'{benchmark} has no {what} {name!r}; it has {nearest_first(name, table)}')
    return table[name]


def nearest_first(name: str, names: Iterable[str], most: int = 10) -> str:
    """Lists names for a message about an unknown one, the most similar first; ``none`` if there are no names.

    Args:
        name: The unknown name; wildcards (``*``, ``?``) are ignored.
        names: The existing names.
        most: Maximum number of names listed.
    """
    there = list(dict.fromkeys(names))
    near = get_close_matches(re.sub(r'[*?]', '', name), there, n=3)
    return first_of([*near, *(other for other in there if other not in near)], most) or 'none'
