"""JSON from files: :mod:`json` keeps the last of equal keys and says nothing, and has an error too many."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from opencompass_tooleval.core.bounds import beyond_bounds

TOO_DEEP = 'it is nested too deeply'


def load_json(text: str | bytes, bounded: bool = False) -> Any:
    """Reads JSON; the only error is ValueError.

    Args:
        text: Text, or bytes in UTF-8, with or without a byte order mark.
        bounded: Whether to refuse what :func:`~opencompass_tooleval.core.bounds.beyond_bounds` does: what is read is
            written again, which needs more of the stack than reading.

    Raises:
        ValueError: It is no JSON, or too much of it.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    if bounded and (excess := beyond_bounds(value)):
        raise ValueError(TOO_DEEP if excess == 'parse:too_deep' else 'it holds too large a number')
    return value


class _Repeated:
    """An ``object_pairs_hook`` that keeps the repeated keys of the last object it saw: the outermost."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        unique = dict(pairs)
        self.keys = []
        if len(unique) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            self.keys = [key for key, count in counts.items() if count > 1]
        return unique


def load_object(text: str) -> tuple[Any, list[str]]:
    """Reads JSON.

    Returns:
        The value, and the keys that its outermost object holds more than once.

    Raises:
        ValueError: It is no JSON, or nested too deeply.
    """
    repeated = _Repeated()
    try:
        value = json.loads(text, object_pairs_hook=repeated)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    # '[{"a": 1, "a": 2}]': the outermost object lies in a list, which has no keys.
    return value, repeated.keys if isinstance(value, dict) else []
