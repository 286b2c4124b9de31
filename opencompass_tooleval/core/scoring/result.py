"""The score of one sample, with the reason for a lost point.

A reason is ``area:code``. The areas are

* ``ok``: every metric of the sample has its maximum,
* ``parse``: the answer cannot be parsed,
* ``call``, ``format``, ``name``, ``args``, ``thought``, ``plan``, ``review``, ``step``, ``tool``, ``awareness``,
  ``judge``, ``id``, ``retrieval``: the answer was parsed, and this part is wrong,
* ``finish``, ``limit``, ``loop``: an agent did not finish (``loop`` has no code),
* ``calls``: an agent's calls differ from the gold calls,
* ``goal``: an agent did not reach the goal of a task that was made from a user's tools,
* ``gold``: the answer is correct by the published gold answer, and wrong by the corrected one,
* ``answer``: no text is left to parse (see :mod:`opencompass_tooleval.core.calls.answer`),
* ``serving``: not a reason of a lost point; it says why the server's answer differs from the text that the model wrote,
  and is stored in addition to the sample's reason,
* ``infra``: an infrastructure failure left no answer; with the name of an auxiliary model if that model failed,
  ``infra:simulator:timeout``.

:data:`opencompass_tooleval.catalogue.labels.REASONS` has a name and a sentence for each reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from opencompass_tooleval.core.text.jsonable import to_jsonable

OK = 'ok'
INFRA = 'infra:'
TRUNCATED = 'infra:truncated'
"""Reason if the prompt is longer than the model's context."""
EMPTY = 'infra:empty'
"""Reason if the server returned an empty answer: by its fault, or the model's."""
OVER_BUDGET = 'infra:budget'
"""Reason if a request was not sent because it could exceed the model's budget."""
_MOST_INFRA = 0.005


@dataclass(frozen=True)
class SampleScore:
    """The score of one sample.

    Attributes:
        id: Id of the record in the data file.
        values: Metric name -> value in 0-1, or None if the metric does not apply to this sample.
        reason: ``ok``, or the first cause of a lost point, as ``area:code``.
        parsed: The value parsed from the answer; None if it cannot be parsed.
        parse_method: How the answer was parsed, for example ``literal`` or ``json``; ``none`` if it was not.
        gold: The part of the gold answer that was compared, in the format of ``parsed``; None if there is none.
        query: The query of the record, the same in all datasets that ask it; ``''`` if no other record asks it.
    """

    id: str
    values: Mapping[str, float | None]
    reason: str
    parsed: Any = None
    parse_method: str = 'none'
    gold: Any = field(default=None)
    query: str = ''

    @property
    def cluster(self) -> str:
        """Identifies the samples that are correlated with this one: all samples of its query."""
        return self.query or self.id

    def to_detail(self) -> dict[str, Any]:
        """Returns the sample as JSON values, the row in OpenCompass's ``details``."""
        return {
            'id': self.id,
            **({'query': self.query} if self.query else {}),
            'values': dict(self.values),
            'reason': self.reason,
            'parsed': to_jsonable(self.parsed),
            'parse_method': self.parse_method,
            'gold': to_jsonable(self.gold),
        }


def many_failed(samples: Mapping[str, Any]) -> bool:
    """Tests if more than 0.5% of the samples failed for infrastructure reasons, so that tables must say so.

    Args:
        samples: The counts ``samples`` of a result.
    """
    count = samples.get('all')
    return isinstance(count, int) and samples.get('infra', 0) > _MOST_INFRA * count


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
