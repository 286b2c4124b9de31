"""Tries at reading a text, the first that succeeds: no code is evaluated, and the cost is bounded.

A try is paid for by the characters and the commas, brackets and signs in its text, about a third of a microsecond per
unit at worst, and no more is tried once the budget is spent. The longest published answers, tried on
every rung, would cost a quarter of :data:`BUDGET` (usage) and nine tenths of the longer ladder's (creation).
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from opencompass_tooleval.core.parse import Parsed, beyond_bounds

BUDGET = 100_000

READ_ERRORS = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
"""What :func:`ast.literal_eval` and :func:`json.loads` raise for a text that they cannot read."""


def cost(text: str) -> int:
    """What reading ``text`` as a Python literal costs."""
    signs = text.count('+') + text.count('-')  # 1+1+1+... is refused, but only once all of it has been parsed
    return len(text) + 2 * cost_of_json(text) + 8 * signs


def cost_of_json(text: str) -> int:
    """What reading ``text`` as JSON costs: characters are cheap, values are not."""
    return 8 * sum(text.count(mark) for mark in ',[{(')


def literal(text: str) -> Any:
    """Reads a Python literal."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # '\d' in an answer is no concern of the user's terminal
        return ast.literal_eval(text)


def bounded(value: Any, rung: str) -> Parsed:
    """``value``, unless it is too deep or has a huge number."""
    excess = beyond_bounds(value)
    return Parsed(None, 'none', excess) if excess else Parsed(value, rung)


def climb(tries: Iterable[tuple[str, Callable[[], Any], int]], budget: int = BUDGET) -> Parsed:
    """The first try that succeeds; a try is its name, what reads it, and what it costs."""
    spent = 0
    for rung, read, price in tries:
        spent += price
        if spent > budget:
            return Parsed(None, 'none', 'parse:too_long')
        try:
            return bounded(read(), rung)
        except READ_ERRORS:
            continue
    return Parsed(None, 'none', 'parse:not_json')
