"""Yes-or-no questions to a judge: parses a reply, and converts it to points."""

from __future__ import annotations

import re
from typing import Any

from opencompass_tooleval.core.calls.answer import strip_reasoning, unfence
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, bounded_text
from opencompass_tooleval.core.text.reading import parse_enclosed
from opencompass_tooleval.judging.judgement import UNREAD, Opinion, Unread, unread_reply

YES, NO = 'yes', 'no'
NAME = 'success'
NOT_SUCCESSFUL = 'judge:no'

_CHOICE = re.compile(r'["\']choice["\']\s*:\s*["\']\s*(yes|no)\b', re.IGNORECASE)
_REASON = re.compile(r'["\']reason["\']\s*:', re.IGNORECASE)


def _decision(value: Any) -> str:
    word = value.strip().strip('.!').casefold() if isinstance(value, str) else ''
    return word if word in (YES, NO) else ''


def read_reply(reply: str) -> Opinion | Unread:
    """Parses a judge's reply; never raises.

    Returns:
        ``Choice`` in the reply's JSON object, or in invalid JSON if all its choices agree, or the reply itself if it is
        a bare yes or no. Otherwise why the opinion is missing: this never counts as a no.
    """
    if len(reply) > MAX_CHARS:
        return Unread('too_long')
    text = unfence(strip_reasoning(reply).text).strip()
    bare = _decision(text)
    if bare:
        return Opinion(bare, NAME)
    parsed = parse_enclosed(text, '{', '}')
    if isinstance(parsed.value, dict):
        fields = {str(key).strip().casefold(): value for key, value in parsed.value.items()}
        choice = _decision(fields.get('choice'))
        return Opinion(choice, NAME, bounded_text(fields.get('reason'))) if choice else Unread(UNREAD)
    choices = list(_CHOICE.finditer(text))
    words = {match.group(1).casefold() for match in choices}
    if len(words) != 1:
        return unread_reply(reply)
    return Opinion(words.pop(), NAME, _reason_before(text, choices[0].start()))


def _reason_before(text: str, end: int) -> str:
    """Returns the reason before a choice in invalid JSON."""
    label = _REASON.search(text, 0, end)
    return bounded_text(text[label.end() : end].strip(' \t\r\n,"\'')) if label else ''


def points(opinion: Opinion | None) -> float | None:
    """Returns 1 for a yes, 0 for a no; None without an opinion."""
    return {YES: 1.0, NO: 0.0}.get(opinion.value if opinion else '')
