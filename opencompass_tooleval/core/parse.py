"""Model text -> Python value, safely, and which repair it took.

Nothing here evaluates code: :func:`ast.literal_eval` reads literals only. What it and :mod:`json` cannot bound
themselves is bounded here: length by ``MAX_CHARS``, depth by ``MAX_DEPTH``, integers by ``MAX_BITS``.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.answer import MAX_CHARS

MAX_DEPTH = 100
MAX_BITS = 10_000


@dataclass(frozen=True)
class Parsed:
    """A value read from text.

    Attributes:
        value: The value; None if ``rung`` is ``none``.
        rung: Which reading succeeded: ``literal``, ``json``, ``quotes`` (JSON once every single quote is made a double
            one), ``value`` (it was no text to begin with), or ``none``.
        reason: ``''`` or why nothing could be read, as ``parse:code``.
    """

    value: Any
    rung: str
    reason: str = ''

    @property
    def ok(self) -> bool:
        """Whether a value was read."""
        return self.rung != 'none'


def _literal(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # '\d' in an answer is no concern of the user's terminal
        return ast.literal_eval(text)


def _quotes(text: str) -> Any:
    return json.loads(text.replace("'", '"'))


_LADDER: tuple[tuple[str, Callable[[str], Any]], ...] = (
    ('literal', _literal),
    ('json', json.loads),
    ('quotes', _quotes),
)


def beyond_bounds(value: Any) -> str:
    """Why ``value`` is too much to work with (``parse:code``), or ``''``; walks level by level, without recursion."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                below.extend(node)
                below.extend(node.values())
            elif isinstance(node, (list, tuple, set)):
                below.extend(node)
            elif isinstance(node, int) and node.bit_length() > MAX_BITS:
                return 'parse:huge_number'  # 0xfff...: Python reads it, but refuses to write it in decimal
        if not below:
            return ''
        level = below
    return 'parse:too_deep'


def parse_literal(text: str) -> Parsed:
    """Reads one Python literal or JSON value that is the whole of ``text``.

    Args:
        text: At most ``MAX_CHARS`` characters are read; longer text is ``parse:too_long``.

    Returns:
        The value and its rung: Python literal before JSON, as T-Eval's ``format_load`` has it.
    """
    if len(text) > MAX_CHARS:
        return Parsed(None, 'none', 'parse:too_long')
    for rung, read in _LADDER:
        try:
            value = read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        excess = beyond_bounds(value)
        return Parsed(None, 'none', excess) if excess else Parsed(value, rung)
    return Parsed(None, 'none', 'parse:not_json')


def parse_enclosed(text: Any, start: str = '', end: str = '') -> Parsed:
    """Reads the value between the first ``start`` and the last ``end``, after a ```` ```json ```` fence if there is
    one.

    Args:
        text: The answer. A value that is no string is returned as it is (recorded answers may be parsed already).
        start: Opening character, or ``''`` for the beginning of the text.
        end: Closing character, or ``''`` for the end of the text.

    Returns:
        What :func:`parse_literal` makes of that part; ``parse:no_brackets`` if there is no such part.
    """
    if not isinstance(text, str):
        return Parsed(text, 'value')
    if len(text) > MAX_CHARS:
        return Parsed(None, 'none', 'parse:too_long')
    _, fence, rest = text.partition('```json')
    if fence:
        text = rest.strip('`')
    if start:
        first = text.find(start)
        if first < 0:
            return Parsed(None, 'none', 'parse:no_brackets')
        text = text[first:]
    if end:
        text = text[: text.rfind(end) + len(end)]
    return parse_literal(text) if text else Parsed(None, 'none', 'parse:no_brackets')
