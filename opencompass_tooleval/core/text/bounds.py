"""Limits for untrusted texts and values: length, depth, and size of numbers."""

from __future__ import annotations

from typing import Any, TypeGuard

MAX_CHARS = 200_000
"""Maximum number of characters in an answer: about 50,000 tokens, a hundred times the official limit of 512."""

TOO_LONG = 'answer:too_long'

MAX_DEPTH = 100
MAX_BITS = 10_000
_LARGEST = 1e100


def is_number(value: Any) -> TypeGuard[int | float]:
    """Tests if a value from a file is a usable number: not a boolean, not NaN, infinite, or above 1e100."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _LARGEST


def beyond_bounds(value: Any) -> str:
    """Returns why ``value`` exceeds the limits (``parse:code``), or ``''``; does not recurse."""
    # Level by level: json accepts 980 nested brackets, which would exceed the recursion limit here.
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
                return 'parse:huge_number'  # Python parses 0xfff..., but cannot write it in decimal
        if not below:
            return ''
        level = below
    return 'parse:too_deep'


def is_huge_power(base: float, exponent: float) -> bool:
    """Tests if a power of integers would far exceed ``MAX_BITS``. Other powers are floats, which Python limits."""
    whole = isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1
    return whole and int(base).bit_length() * exponent > 2 * MAX_BITS
