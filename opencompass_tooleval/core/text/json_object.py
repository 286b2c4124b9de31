"""Parses JSON. (:mod:`json` silently keeps the last of equal keys, and raises several classes of errors.)"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from opencompass_tooleval.core.text.jsonable import beyond_bounds

TOO_DEEP = 'it is nested too deeply'
_MOST_ITEMS, _FULL_SIZE, _BYTES_OF_ITEM = 1 << 23, 1 << 28, 16
"""A small gzip file may contain 256 MB of text whose values would take 7 GB of memory. Larger texts are not compressed,
so their limit grows with their size."""


def load_json(text: str | bytes, bounded: bool = False) -> Any:
    """Parses JSON; raises only ValueError.

    Args:
        text: Text, or bytes in UTF-8, with or without a byte order mark.
        bounded: True to reject values beyond the limits of ``beyond_bounds``: writing a value again needs more of the
            stack than parsing it.

    Raises:
        ValueError: The text is not JSON, or exceeds the limits.
    """
    check_items(text)
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    if bounded and (excess := beyond_bounds(value)):
        raise ValueError(TOO_DEEP if excess == 'parse:too_deep' else 'it holds too large a number')
    return value


def check_items(text: str | bytes) -> None:
    """Checks the number of values and lines in a text before it is parsed. Commas in strings count, too.

    Raises:
        ValueError: There are too many to keep in memory.
    """
    most = _MOST_ITEMS if len(text) <= _FULL_SIZE else len(text) // _BYTES_OF_ITEM
    if len(text) < most:
        return
    marks = (b',', b'[', b'{') if isinstance(text, bytes) else (',', '[', '{')
    lines = text.count(b'\n') if isinstance(text, bytes) else text.count('\n')
    if max(sum(map(text.count, marks)), lines) > most:  # type: ignore[arg-type]
        raise ValueError(f'it holds more than {most:,} values')


class _Repeated:
    """An ``object_pairs_hook`` that keeps the repeated keys of the outermost object, which comes last."""

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
    """Parses JSON and finds repeated keys.

    Returns:
        The value, and the repeated keys of its outermost object.

    Raises:
        ValueError: The text is not JSON, is nested too deeply, or has too many values.
    """
    check_items(text)
    repeated = _Repeated()
    try:
        value = json.loads(text, object_pairs_hook=repeated)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    # '[{"a": 1, "a": 2}]': the outermost object is in a list, which has no keys.
    return value, repeated.keys if isinstance(value, dict) else []
