"""Parses an answer without changing any value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import json_repair

from opencompass_tooleval.core.calls.answer import unfence
from opencompass_tooleval.core.text.bounds import MAX_CHARS, TOO_LONG
from opencompass_tooleval.core.text.fullwidth import PARSE_METHOD, ascii_punctuation, has_full_width, tidy
from opencompass_tooleval.core.text.reading import (
    NO_BRACKETS,
    NOT_JSON,
    READ_ERRORS,
    Parsed,
    bounded,
    cost,
    cost_of_json,
    json_values,
    literal,
    read_first_possible,
    unread,
)

REPAIR_BUDGET = 20_000
MAX_REPAIR_CHARS = 20_000
MAX_LISTS = 32


class _Spent(Exception):
    """The repair exceeded its budget."""


class _Metered(str):
    """Text that can be read only a limited number of times.

    json_repair reads its text character by character, and texts such as ``]{]{]{...`` more often than the square of
    their length: 8,000 such characters take seconds.
    """

    left: list[int]

    def __new__(cls, text: str, left: list[int]) -> _Metered:
        metered = super().__new__(cls, text)
        metered.left = left
        return metered

    def __getitem__(self, key: Any) -> str:
        value = super().__getitem__(key)
        self.left[0] -= 1 + len(value) // 50
        if self.left[0] < 0:
            raise _Spent
        return _Metered(value, self.left) if isinstance(key, slice) else value

    def __add__(self, other: str) -> str:
        return _Metered(super().__add__(other), self.left)


def _repaired(text: str) -> Any:
    if len(text) > MAX_REPAIR_CHARS or not ('[' in text or '{' in text):
        raise ValueError(text[:20])
    try:
        return json_repair.loads(_Metered(text, [REPAIR_BUDGET]), skip_json_loads=True)
    except Exception as error:  # any library error, on any text
        raise ValueError(str(error)) from error


def _last_of_lists(text: str) -> Any:
    """Parses the last JSON list of objects in prose, with any number of other brackets around it."""
    # Only lists of objects count, since the [1] of a footnote is a list too.
    lists = [value for value in json_values(text, '[', MAX_LISTS) if isinstance(value[0] if value else None, dict)]
    if not lists:
        raise ValueError('no list')
    return lists[-1]


def _json_or_literal(text: str) -> Any:
    try:
        # JSON first: as a Python literal '"\/"' would have two characters.
        return json.loads(text)
    except READ_ERRORS:
        return literal(text)


def _full_width(text: str) -> Any:
    """Parses the list from the first bracket to the last, with full-width punctuation converted to ASCII."""
    if not has_full_width(text):
        raise ValueError('nothing is full-width')
    text = ascii_punctuation(text)
    return _json_or_literal(text[max(0, text.find('[')) : text.rfind(']') + 1])


def read_strict(answer: Any) -> Parsed:
    """Parses an answer without changing any value.

    Parse methods: ``json`` and ``literal`` (the complete answer), ``fence`` (the content of the first fenced block),
    ``prose`` (from the first bracket to the last, or the last JSON list of objects in between), ``fullwidth`` (as
    ``prose``, with full-width punctuation outside texts converted to ASCII), ``repaired`` (by json_repair).

    Args:
        answer: The answer's text; a list is used unchanged.

    Returns:
        The list of items and the parse method, or the reason why there is no list.
    """
    if not isinstance(answer, str):
        return _as_list(bounded(answer, 'value'))
    if len(answer) > MAX_CHARS:
        return unread(TOO_LONG)
    text = tidy(answer)
    inside = tidy(unfence(text))
    if '[' not in inside:  # a closing fence without an opening one
        inside = text.strip('`').strip()
    span = inside[max(0, inside.find('[')) : inside.rfind(']') + 1]
    broken = inside[max(0, inside.find('[')) :]
    tries: tuple[tuple[str, Callable[[], Any], int], ...] = (
        ('json', lambda: json.loads(text), cost_of_json(text)),
        ('literal', lambda: literal(text), cost(text)),
        ('fence', lambda: _json_or_literal(inside), cost(inside) if inside != text else 0),
        ('prose', lambda: _json_or_literal(span), cost(span) if span != inside else 0),
        ('prose', lambda: _last_of_lists(inside), 0),
        (PARSE_METHOD, lambda: _full_width(inside), cost(inside) if has_full_width(inside) else 0),
        ('repaired', lambda: _repaired(broken), 0),
    )
    parsed = read_first_possible(tries)
    if parsed.reason == NOT_JSON and '[' not in text and '［' not in text:
        return unread(NO_BRACKETS)
    return _as_list(parsed)


def _as_list(parsed: Parsed) -> Parsed:
    if not parsed.ok or isinstance(parsed.value, list):
        return parsed
    return unread('parse:not_a_list')
