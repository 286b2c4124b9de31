"""The text that is scored, cut from what the model said."""

from __future__ import annotations

import re

TRUNCATED_REASONING = 'answer:truncated_reasoning'
EMPTY = 'answer:empty'
TOO_LONG = 'answer:too_long'

MAX_CHARS = 200_000
"""Longer answers are not read: about 50,000 tokens, a hundred times the official limit of 512."""

_OPEN, _CLOSE = '<think>', '</think>'


class Answer(str):
    """A string that knows why it is empty.

    Postprocessors of OpenCompass map a string to a string; the reason travels as an attribute.
    """

    reason: str | None = None

    def __new__(cls, text: str, reason: str | None = None) -> Answer:
        answer = super().__new__(cls, text)
        answer.reason = reason
        return answer


def strip_reasoning(text: str) -> Answer:
    """Drops a reasoning model's thoughts.

    Args:
        text: Raw model output.

    Returns:
        The text in front of the first ``<think>`` and the text after the last ``</think>``. A closing tag that comes
        first closes thoughts that the prompt opened (chat templates do so), and nothing in front of it stays. Thoughts
        that never end are cut off; if nothing else is left, the answer is empty, with reason
        ``answer:truncated_reasoning``.
    """
    opened, closed = text.find(_OPEN), text.find(_CLOSE)
    if closed < 0:
        before, tail = '', text
    else:
        before = text[:opened] if 0 <= opened < closed else ''
        tail = text[text.rfind(_CLOSE) + len(_CLOSE) :]
    answer, unclosed, _ = tail.partition(_OPEN)
    answer = before + answer
    return Answer('', TRUNCATED_REASONING) if unclosed and not answer.strip() else Answer(answer)


def cut_at(text: str, marks: tuple[str, ...]) -> str:
    """Returns ``text`` up to the first occurrence of any of ``marks``."""
    for mark in marks:
        text = text.partition(mark)[0]
    return text


_FENCE = re.compile(r'```(?:json\b\n?|[\w+-]*\n)?')


def unfence(text: str) -> str:
    """Returns the inside of the first fenced block, or ``text`` without one; an unclosed fence runs to the end."""
    opening = _FENCE.search(text)
    if opening is None:
        return text
    return text[opening.end() :].partition('```')[0]
