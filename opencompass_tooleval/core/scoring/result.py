"""The score of one sample, with the reason for a lost point.

A reason is ``area:code``. The areas are

* ``ok``: every metric of the sample has its full value,
* ``parse``: the answer is unreadable,
* ``call``, ``format``, ``name``, ``args``, ``thought``, ``plan``, ``review``, ``step``, ``tool``, ``awareness``,
  ``judge``, ``id``, ``retrieval``: it was read, and this part is wrong,
* ``finish``, ``limit``, ``loop``: an agent did not reach an end; a loop has no code,
* ``calls``: an agent's calls are not the gold calls,
* ``goal``: an agent did not reach the goal of a task that was made from a user's tools,
* ``gold``: it is correct by the gold answer without its errata,
* ``answer``: no text is left to read (see :mod:`opencompass_tooleval.core.calls.answer`),
* ``serving``: no reason of a sample, but the cause for which its served answer is not the one that the model wrote; a
  sample has it beside its reason,
* ``infra``: an infrastructure failure left no answer; for another model of a dialogue with its name,
  ``infra:simulator:timeout``.

:data:`opencompass_tooleval.catalogue.labels.REASONS` has a name and a sentence for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.text.jsonable import to_jsonable

OK = 'ok'
INFRA = 'infra:'
TRUNCATED = 'infra:truncated'
"""Reason for a prompt that is longer than the model's limit."""
OVER_BUDGET = 'infra:budget'
"""Reason for a request that is not sent: it could exceed the budget of the model."""
_MOST_INFRA = 0.005


@dataclass(frozen=True)
class SampleScore:
    """The score of one sample.

    Attributes:
        id: Record id in the data file.
        values: Metric name -> value in 0-1, or None if the metric does not apply to this sample.
        reason: ``ok`` or the first cause of a lost point, as ``area:code``.
        parsed: The value read from the answer; None if it is unreadable.
        parse_method: The successful reader, for example ``literal`` or ``json``; ``none`` without one.
        gold: The compared part of the gold answer, in the format of ``parsed``; None if there is none.
        query: The query of the record, the same in all data sets that ask it; ``''`` if only this record has it.
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
        """The name of the samples that are correlated with this one: all of its query."""
        return self.query or self.id

    def to_detail(self) -> dict[str, Any]:
        """Returns the sample as one JSON-safe dict, the row of OpenCompass's ``details``."""
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
    """Tests if so many samples have no answer, through no fault of the model, that tables and the report say so.

    Args:
        samples: The counts ``samples`` of a result.
    """
    count = samples.get('all')
    return isinstance(count, int) and samples.get('infra', 0) > _MOST_INFRA * count
