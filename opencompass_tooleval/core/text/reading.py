"""Parses a model's text to a Python value safely, and records the parse method. All benchmarks use it.

No code is evaluated: :func:`ast.literal_eval` accepts only literals. :mod:`~opencompass_tooleval.core.text.jsonable`
limits the size of texts and values.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from opencompass_tooleval.core.text.jsonable import MAX_CHARS, TOO_LONG, beyond_bounds

BUDGET = 100_000
"""Maximum cost of all tries. The cost of a try is the number of characters, commas, brackets and signs in its text; a
unit takes at most a third of a microsecond. Trying every parse method on the longest published UltraTool answer would
use a quarter of the budget (usage), or nine tenths with the longest list of parse methods (creation)."""

TOO_COSTLY = 'parse:too_long'
NOT_JSON = 'parse:not_json'
NO_BRACKETS = 'parse:no_brackets'

READ_ERRORS = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
"""Errors that :func:`ast.literal_eval` and :func:`json.loads` raise for an unreadable text."""


@dataclass(frozen=True)
class Parsed:
    """A value parsed from text.

    Attributes:
        value: The value; None if ``parse_method`` is ``none``.
        parse_method: How the text was parsed: ``literal``, ``json``, ``quotes`` (JSON with single quotes replaced by
            double quotes), ``value`` (it was not a text), or ``none``.
        reason: Why the text could not be parsed, as ``parse:code``; ``''`` if it was.
    """

    value: Any
    parse_method: str
    reason: str = ''

    @property
    def ok(self) -> bool:
        """True if a value was parsed."""
        return self.parse_method != 'none'


def literal(text: str) -> Any:
    """Parses a Python literal; raises one of ``READ_ERRORS``."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # '\d' in an answer should not warn on the user's terminal
        return ast.literal_eval(text)


def _quotes(text: str) -> Any:
    return json.loads(text.replace("'", '"'))


# Literal first, as in the published code: JSON turns "\/" into "/", Python keeps both characters.
_PARSE_METHODS: tuple[tuple[str, Callable[[str], Any]], ...] = (
    ('literal', literal),
    ('json', json.loads),
    ('quotes', _quotes),
)


def unread(reason: str) -> Parsed:
    """Returns a result without a value, with its reason."""
    return Parsed(None, 'none', reason)


def bounded(value: Any, parse_method: str) -> Parsed:
    """Returns ``value`` as a result, unless it exceeds the limits."""
    excess = beyond_bounds(value)
    return unread(excess) if excess else Parsed(value, parse_method)


def cost(text: str) -> int:
    """Returns the cost of parsing ``text`` as a Python literal."""
    signs = text.count('+') + text.count('-')  # 1+1+1+... is rejected only after it is parsed completely
    return len(text) + 2 * cost_of_json(text) + 8 * signs


def cost_of_json(text: str) -> int:
    """Returns the cost of parsing ``text`` as JSON, where characters are cheap and values are not."""
    return 8 * sum(text.count(mark) for mark in ',[{(')


def read_first_possible(tries: Iterable[tuple[str, Callable[[], Any], int]], budget: int = BUDGET) -> Parsed:
    """Returns the result of the first try that succeeds.

    Args:
        tries: Name of the parse method, its parser (which may raise one of ``READ_ERRORS``), and its cost, for each.
        budget: Maximum cost of all tries.
    """
    spent = 0
    for parse_method, read, price in tries:
        spent += price
        if spent > budget:
            return unread(TOO_COSTLY)
        try:
            return bounded(read(), parse_method)
        except READ_ERRORS:
            continue
    return unread(NOT_JSON)


def parse_literal(text: str) -> Parsed:
    """Parses ``text`` as one Python literal or JSON value.

    Args:
        text: At most ``MAX_CHARS`` characters; longer text gets the reason ``answer:too_long``.

    Returns:
        The value and its parse method; Python literals are tried before JSON, as in T-Eval's ``format_load``.
    """
    if len(text) > MAX_CHARS:
        return unread(TOO_LONG)
    return read_first_possible((parse_method, partial(read, text), 0) for parse_method, read in _PARSE_METHODS)


def json_values(text: str, openings: str, most: int) -> Iterator[Any]:
    """Yields the outermost JSON values in prose, in order.

    Args:
        text: The prose.
        openings: Characters with which a value may begin, such as ``[{``.
        most: Maximum number of openings to try.
    """
    decoder, position = json.JSONDecoder(), 0
    # 4,000 tries of '[' * 4_000 take 60 times as long as 32 of '[' * 20_000: each reaches the recursion limit.
    for _ in range(most):
        starts = [start for opening in openings if (start := text.find(opening, position)) >= 0]
        if not starts:
            return
        try:
            value, position = decoder.raw_decode(text, min(starts))
        except READ_ERRORS:
            # '[see below] ["a"]': the first bracket does not begin a value, the second does.
            position = min(starts) + 1
        else:
            yield value


def parse_enclosed(text: Any, start: str = '', end: str = '') -> Parsed:
    """Parses the value between the first ``start`` and the last ``end``, after a ```` ```json ```` fence if there is
    one.

    Args:
        text: The answer. A value that is not a string is returned unchanged (recorded answers may be parsed already).
        start: Opening character, or ``''`` for the beginning of the text.
        end: Closing character, or ``''`` for the end of the text.

    Returns:
        The result of :func:`parse_literal` for this part; ``parse:no_brackets`` if ``start`` is missing.
    """
    if not isinstance(text, str):
        return Parsed(text, 'value')
    if len(text) > MAX_CHARS:
        return unread(TOO_LONG)
    _, fence, rest = text.partition('```json')
    if fence:
        text = rest.strip('`')
    if start:
        first = text.find(start)
        if first < 0:
            return unread(NO_BRACKETS)
        text = text[first:]
    if end:
        # For '[1, 2' rfind is -1, and nothing is left.
        text = text[: text.rfind(end) + len(end)]
    return parse_literal(text) if text else unread(NOT_JSON if start else NO_BRACKETS)
