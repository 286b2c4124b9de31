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
        The text after the last ``</think>``, whether or not its ``<think>`` is there (chat templates often put the
        opening tag into the prompt). Text in front of a closed ``<think>`` stays. An unclosed ``<think>`` leaves an
        empty answer with reason ``answer:truncated_reasoning``.
    """
    head, closed, tail = text.rpartition(_CLOSE)
    if closed:
        before = head.partition(_OPEN)[0] if _OPEN in head else ''
        text = before + tail
    if _OPEN in text:
        before = text.partition(_OPEN)[0]
        return Answer(before, None) if before.strip() else Answer('', TRUNCATED_REASONING)
    return Answer(text)


def cut_at(text: str, marks: tuple[str, ...]) -> str:
    """Returns ``text`` up to the first occurrence of any of ``marks``."""
    for mark in marks:
        text = text.partition(mark)[0]
    return text


_FENCE = re.compile(r'```[\w-]*\n?')


def unfence(text: str) -> str:
    """Returns the inside of the first fenced block, or ``text`` without one; an unclosed fence runs to the end."""
    opening = _FENCE.search(text)
    if opening is None:
        return text
    return text[opening.end() :].partition('```')[0]
