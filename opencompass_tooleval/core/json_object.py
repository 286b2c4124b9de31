"""JSON objects whose keys must not repeat: :mod:`json` keeps the last of equal keys and says nothing."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any


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
        ValueError: It is no JSON.
    """
    repeated = _Repeated()
    value = json.loads(text, object_pairs_hook=repeated)
    return value, repeated.keys if isinstance(value, dict) else []
