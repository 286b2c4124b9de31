"""The value in an answer: read as data, whatever the text holds, and bounded."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from opencompass_tooleval.core.answer import EMPTY, MAX_CHARS, TOO_LONG, strip_reasoning, unfence
from opencompass_tooleval.core.fullwidth import read_either, tidy
from opencompass_tooleval.core.parse import Parsed, beyond_bounds, parse_literal

MAX_VALUES = 64
"""So many opening brackets in prose are tried."""

MAX_BACKTRACK = 20_000
"""Of prose so many characters from the end are searched: what is answered comes last."""


def _values(text: str) -> list[Any]:
    """The JSON objects and lists that stand in a text, outermost ones only, in their order."""
    decoder, found = json.JSONDecoder(), []
    text = text[-MAX_BACKTRACK:]
    place, tried = 0, 0
    while tried < MAX_VALUES:
        starts = [start for mark in '[{' if (start := text.find(mark, place)) >= 0]
        if not starts:
            break
        tried += 1
        try:
            value, place = decoder.raw_decode(text, min(starts))
        except (ValueError, RecursionError):
            place = min(starts) + 1
        else:
            found.append(value)
    return found


def read_value(answer: Any, accept: Callable[[Any], bool], missing: str) -> Parsed:
    """Reads the value of an answer; never raises, whatever it holds.

    Args:
        answer: Its text; a value that has been read already is taken as it is (rung ``value``).
        accept: Whether a value is of the kind that was asked for.
        missing: The reason where there is none, as ``parse:code``.

    Returns:
        The whole answer where it is such a value (rungs of :func:`~opencompass_tooleval.core.parse.parse_literal`,
        ``fullwidth`` or ``fence``), else the last one that stands in its prose (``prose``). Reasons: ``answer:empty``,
        ``answer:too_long``, ``answer:truncated_reasoning``, ``parse:...``, and what an ``infra:`` failure says.
    """
    if not isinstance(answer, str):
        excess = beyond_bounds(answer)
        if excess or not accept(answer):
            return Parsed(None, 'none', excess or missing)
        return Parsed(answer, 'value')
    if len(answer) > MAX_CHARS:
        return Parsed(None, 'none', TOO_LONG)
    reason = getattr(answer, 'reason', None)
    text = answer if reason else strip_reasoning(answer)
    reason = reason or getattr(text, 'reason', None)
    if reason or not text.strip():
        return Parsed(None, 'none', reason or EMPTY)
    inside = tidy(unfence(text))
    whole = read_either(inside, parse_literal)
    if whole.ok and accept(whole.value):
        return Parsed(whole.value, 'fence' if inside != tidy(text) else whole.rung)
    if whole.reason in ('parse:too_deep', 'parse:huge_number'):
        return whole
    for value in reversed(_values(text)):
        if accept(value):
            excess = beyond_bounds(value)
            return Parsed(None, 'none', excess) if excess else Parsed(value, 'prose')
    return Parsed(None, 'none', missing)
