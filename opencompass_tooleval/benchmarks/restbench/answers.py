"""Parses the path in an answer; the text is only data, and its size is limited."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from opencompass_tooleval.benchmarks.restbench.paths import normalise
from opencompass_tooleval.core.calls.answer import Answer, as_answer, unfence, visible_text
from opencompass_tooleval.core.calls.one_call import why_no_call
from opencompass_tooleval.core.text.fullwidth import read_either, tidy
from opencompass_tooleval.core.text.reading import (
    NO_BRACKETS,
    NOT_JSON,
    Parsed,
    bounded,
    json_values,
    parse_literal,
    unread,
)

MAX_STEPS = 100
"""Maximum number of steps. The longest gold path has four; repeating the whole list of tools is not a path."""

MAX_LISTS = 32
"""Maximum number of opening brackets to try in prose."""

_BULLET = re.compile(r'(?:[-*•]|\(?\d{1,3}[.):]|step \d{1,3}[.):])\s+', re.IGNORECASE)
_ARROW = re.compile(r'->|→|=>')


def _whole(text: str) -> Parsed:
    """Parses an answer that is a list, as a Python literal or JSON, perhaps in a code fence."""
    inside = tidy(unfence(text))
    parsed = read_either(inside, parse_literal)
    if parsed.ok and inside != text:
        return Parsed(parsed.value, 'fence')
    return parsed


def _prose(text: str) -> Parsed:
    """Parses the last list of texts in prose; without one, the text from the first bracket to the last."""
    lists = json_values(text, '[', MAX_LISTS)
    paths = [value for value in lists if value and all(isinstance(item, str) for item in value)]
    if paths:
        return Parsed(paths[-1], 'prose')
    span = text[text.find('[') : text.rfind(']') + 1] if '[' in text else ''
    parsed = parse_literal(span) if span else unread(NOT_JSON)
    return Parsed(parsed.value, 'prose') if isinstance(parsed.value, list) else unread(NOT_JSON)


def _arrows(text: str) -> Parsed:
    """Parses the last line of the form ``GET /a -> GET /b``."""
    for line in reversed(text.splitlines()):
        steps = [step.strip() for step in _ARROW.split(line)]
        if len(steps) > 1 and normalise(steps[-1]).path:
            return Parsed([_unbulleted(steps[0]), *steps[1:]], 'arrows')
    return unread(NOT_JSON)


def _unbulleted(line: str) -> str:
    line = line.strip()
    bullet = _BULLET.match(line)
    return line[bullet.end() :] if bullet else line


def _lines(text: str) -> Parsed:
    """Parses lines that begin with a step, perhaps after a number or a bullet; skips other lines."""
    steps = [line for line in map(_unbulleted, text.splitlines()) if normalise(line).path]
    return Parsed(steps, 'lines') if steps else unread(NOT_JSON)


_PARSE_METHODS: tuple[Callable[[str], Parsed], ...] = (_whole, _prose, _arrows, _lines)


def _as_path(parsed: Parsed) -> Parsed:
    """Checks that the parsed value is a path."""
    if not isinstance(parsed.value, list):
        return unread('parse:not_a_list')
    if len(parsed.value) > MAX_STEPS:
        return unread('parse:too_many_calls')
    if not all(isinstance(item, str) for item in parsed.value):
        return unread('parse:not_text')
    return parsed


def read_calls(answer: Answer) -> Parsed:
    """Returns the names of an answer's native calls, in order (parse method ``calls``). Its text is ignored.

    Reasons: ``call:none``, ``parse:too_many_calls``, ``answer:truncated_reasoning``, and ``infra:`` reasons.
    """
    names = [call.name for call in answer.calls]
    return _as_path(Parsed(names, 'calls')) if names else unread(why_no_call(answer))


def read_path(answer: Any) -> Parsed:
    """Parses the ordered list of tools in an answer; never raises.

    Args:
        answer: The answer's text; a parsed list is used unchanged (parse method ``value``).

    Returns:
        The list of texts, not yet normalised. Parse methods: ``literal``, ``json``, ``quotes`` (see
        :func:`~opencompass_tooleval.core.text.reading.parse_literal`), ``fence``, ``prose``, ``arrows``, ``lines``;
        full-width punctuation is treated like ASCII (``fullwidth``). Reasons: ``answer:empty``, ``answer:too_long``,
        ``answer:truncated_reasoning``, ``parse:no_brackets``, ``parse:not_json``, ``parse:not_a_list``,
        ``parse:not_text``, ``parse:too_many_calls``, ``parse:too_deep``, and ``infra:`` reasons.
    """
    if not isinstance(answer, (Answer, str)):
        parsed = bounded(answer, 'value')
        return _as_path(parsed) if parsed.ok else parsed
    visible = visible_text(as_answer(answer))
    if visible.reason:
        return unread(visible.reason)
    why = ''
    for read in _PARSE_METHODS:
        parsed = read(tidy(visible.text))
        if isinstance(parsed.value, list):
            return _as_path(parsed)
        reason = 'parse:not_a_list' if parsed.ok else parsed.reason
        why = why or (reason if reason != NOT_JSON else '')
    return unread(why or (NOT_JSON if '[' in visible.text else NO_BRACKETS))
