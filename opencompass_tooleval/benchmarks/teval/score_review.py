"""Scores review: a choice out of five on whether the tool's response reached the goal (T-Eval, App. C.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from opencompass_tooleval.benchmarks.teval.choice import strict_choice
from opencompass_tooleval.benchmarks.teval.protocol import Protocol
from opencompass_tooleval.benchmarks.teval.records import CHOICES, Record, ReviewGold
from opencompass_tooleval.core.reading import Parsed
from opencompass_tooleval.core.result import OK
from opencompass_tooleval.core.similarity import Similarity

Values = dict[str, float | None]


def read(record: Record, text: str, protocol: Protocol) -> Parsed:
    """Reads the choice: the first character after the first colon, or of the text without one.

    The official code knows only the ASCII colon, so that ``Answer：B`` reads as A, the first letter of ``Answer``, and
    takes any word for its first letter (``Because ...`` is B). Strict reads as a person would.
    """
    choice = strict_choice(text) if protocol.strict else text[text.find(':') + 1 :].strip()[:1]
    return Parsed(choice, 'text') if choice in CHOICES else Parsed(None, 'none', 'parse:no_choice')


def texts(record: Record, parsed: Parsed, protocol: Protocol) -> Iterator[str]:
    """Yields nothing: no strings are compared by embedding."""
    return iter(())


def score(record: Record, parsed: Parsed, protocol: Protocol, similarity: Similarity) -> tuple[Values, str]:
    """Computes parse rate and correctness of the choice, 0-1, and the reason."""
    if not parsed.ok:
        return {'parse_rate': 0.0, 'review_quality': 0.0}, parsed.reason
    right = parsed.value == cast(ReviewGold, record.gold).answer
    return {'parse_rate': 1.0, 'review_quality': float(right)}, OK if right else 'review:wrong'


def show(record: Record, choice: Any) -> tuple[Any, str]:
    """Returns the choice and the correct choice; the gold thought is not requested."""
    return choice, cast(ReviewGold, record.gold).answer
