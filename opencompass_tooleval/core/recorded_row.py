"""Rows of published answers that hold the record and the answer: UltraTool's two shapes.

GPT models: ``{"data": RECORD, "init output": TEXT}``. Open models: ``{"question": RECORD, "original ans": GOLD,
"total output": {"init prompt": TEXT, "init output": [TEXT, ...]}}``, one text per sample that was drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

GPT, OPEN = 'gpt', 'open'
_ANSWER, _OPEN_ANSWERS = 'init output', 'total output'


@dataclass(frozen=True)
class RecordedRow:
    """A row.

    Attributes:
        record: The record as it stands there; None if the row has none.
        answer: The answer: text, or what was read from it already; None if the row has none.
        shape: ``gpt`` or ``open``.
    """

    record: Any
    answer: Any
    shape: str


def read_recorded_row(row: Any) -> RecordedRow | None:
    """Reads a row; None if it is of neither shape."""
    if not isinstance(row, Mapping):
        return None
    if _OPEN_ANSWERS in row:
        output = row[_OPEN_ANSWERS]
        answer = output.get(_ANSWER) if isinstance(output, Mapping) else None
        return RecordedRow(row.get('question'), _first(answer), OPEN)
    if _ANSWER in row:
        return RecordedRow(row.get('data'), _first(row[_ANSWER]), GPT)
    return None


def _first(answer: Any) -> Any:
    """The first text of a list of texts; a list of anything else is an answer that was read already."""
    return answer[0] if isinstance(answer, list) and answer and isinstance(answer[0], str) else answer
