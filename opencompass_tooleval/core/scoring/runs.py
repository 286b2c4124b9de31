"""Separates several runs of a dataset by record ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar('T')


def with_runs(rows: Iterable[T], id_of: Callable[[T], str]) -> Iterator[tuple[tuple[str, int], T]]:
    """Yields each row with its record id and run (the number of earlier rows of the same record)."""
    seen: Counter[str] = Counter()
    for row in rows:
        record_id = id_of(row)
        yield (record_id, seen[record_id]), row
        seen[record_id] += 1


def split_runs(record_ids: Sequence[str], runs: int) -> list[list[int]]:
    """Finds the positions of each run's records.

    Args:
        record_ids: Record ids of the rows of a repeated dataset.
        runs: Number of runs, at least 1: ``n`` in the dataset's config.

    Returns:
        One list of positions per run, each in the data's order.

    Raises:
        ValueError: A record does not occur once per run.
    """
    if runs == 1:
        return [list(range(len(record_ids)))]
    counts = Counter(record_ids)
    other = [record_id for record_id, count in counts.items() if count != runs]
    if other:
        raise ValueError(
            f'n={runs} asks for every record {runs} times, but {len(other)} of {len(counts)} are not '
            f'repeated {runs} times ({other[0]!r}: {counts[other[0]]})'
        )
    positions: list[list[int]] = [[] for _ in range(runs)]
    for (_, run), position in with_runs(range(len(record_ids)), record_ids.__getitem__):
        positions[run].append(position)
    return positions
