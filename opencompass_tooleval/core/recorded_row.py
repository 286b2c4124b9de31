"""Reads rows of published answers with the record and the answer: UltraTool's two formats.

GPT models: ``{"data": RECORD, "init output": TEXT}``. Open models: ``{"question": RECORD, "original ans": GOLD,
"total output": {"init prompt": TEXT, "init output": [TEXT, ...]}}``, one text per sample.
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
        record: The record in the row; None if the row has none.
        answer: The answer: text, or a value that was already read; None if the row has none.
        shape: ``gpt`` or ``open``.
    """

    record: Any
    answer: Any
    shape: str


def read_recorded_row(row: Any) -> RecordedRow | None:
    """Reads a row; None for other formats."""
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
    """Returns the first text of a list of texts; a list of anything else is an answer that was already read."""
    return answer[0] if isinstance(answer, list) and answer and isinstance(answer[0], str) else answer
