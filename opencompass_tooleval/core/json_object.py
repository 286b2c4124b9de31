"""Reads JSON files: :mod:`json` silently keeps the last of equal keys, and raises more than one class of error."""

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
        bounded: True to reject values outside :func:`~opencompass_tooleval.core.bounds.beyond_bounds`: a value that is
            written again needs more of the stack than reading does.

    Raises:
        ValueError: It is no JSON, or exceeds the bounds.
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
    """Reads JSON and finds repeated keys.

    Returns:
        The value, and the repeated keys of its outermost object.

    Raises:
        ValueError: It is no JSON, or nested too deeply.
    """
    repeated = _Repeated()
    try:
        value = json.loads(text, object_pairs_hook=repeated)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    # '[{"a": 1, "a": 2}]': the outermost object is in a list, which has no keys.
    return value, repeated.keys if isinstance(value, dict) else []
