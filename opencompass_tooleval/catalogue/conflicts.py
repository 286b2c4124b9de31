"""Conflicts of interest: results of a model on data that it had a part in.

An extra names them; rankings are shown without such results, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from opencompass_tooleval import plugin


@dataclass(frozen=True)
class Conflict:
    """A kind of conflicts.

    Attributes:
        key: Key of the provenance, which is true where the model has one.
        sign: Marks its scores on the screen.
        legend: Explanation of the sign.
        tag: Short mark of a model in reports.
        note: A clause on one result.
        others: The models with a conflict, after ``without``.
        files: Part of the names of files and tables without them.
        caveats: Yields what else limits a result on such data in reports, by its provenance; also without a conflict.
        notes: Yields what of it the screen says, with what to do about it.
    """

    key: str
    sign: str
    legend: str
    tag: str
    note: str
    others: str
    files: str
    caveats: Callable[[Mapping[str, Any]], Iterator[str]]
    notes: Callable[[Mapping[str, Any]], Iterator[str]]


@cache
def _known(entry: str) -> Conflict:
    conflict: Conflict = plugin.load(entry)
    return conflict


def known_conflict() -> Conflict | None:
    """Returns the kind of conflicts that an extra has registered."""
    return _known(plugin.CONFLICT) if plugin.CONFLICT else None


def conflict_of(result: Mapping[str, Any]) -> Conflict | None:
    """Returns the conflict of a result; None without one."""
    conflict, about = known_conflict(), result.get('provenance')
    if conflict is None:
        return None
    runs: Sequence[Any] = about if isinstance(about, list) else [about]
    return conflict if any(isinstance(run, Mapping) and run.get(conflict.key) is True for run in runs) else None


def caveats_of_data(provenance: Any) -> Iterator[str]:
    """Yields what limits every result on data that conflicts are known of."""
    conflict = known_conflict()
    if conflict is not None and isinstance(provenance, Mapping):
        yield from conflict.caveats(provenance)
