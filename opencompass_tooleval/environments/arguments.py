"""Compares the arguments of two calls; never with ``str()``, which keeps the order of keys and the format of numbers.

These are equal: objects with keys in any order; 1 and 1.0; texts that differ only in whitespace; JSON text and its
value; null, ``""`` and ``{}``. These are not: the number 1, the text "1" and true; texts that differ in case; lists in
different order.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, beyond_bounds

MAX_VALUES = 20_000
"""Maximum number of values in a call's arguments that can be compared."""

_UNFOLDINGS = 2
"""Models write ``"{\\"a\\": 1}"`` for ``{"a": 1}``: JSON text of JSON text."""


class _TooMuchError(ValueError):
    """The arguments are too large to compare."""


def read_arguments(arguments: Any) -> Any:
    """Parses arguments: JSON text becomes its value, and no arguments become ``{}``.

    Anything else is returned unchanged.
    """
    for _ in range(_UNFOLDINGS):
        if not isinstance(arguments, str) or len(arguments) > MAX_CHARS:
            break
        if not arguments.strip():
            return {}
        try:
            arguments = load_json(arguments, bounded=True)
        except ValueError:
            break
    return {} if arguments is None else arguments


def canonical_arguments(arguments: Any) -> str | None:
    """Returns one text for all equal arguments; None if they are too large or too deep to compare.

    Args:
        arguments: A value, or JSON text, from a model, a server or a file.
    """
    value = read_arguments(arguments)
    if beyond_bounds(value):
        return None
    try:
        form = _canonical(value, [MAX_VALUES, MAX_CHARS])
    except _TooMuchError:
        return None
    return json.dumps(form, ensure_ascii=True, sort_keys=True, separators=(',', ':'))


def arguments_key(arguments: Any) -> bytes | None:
    """Returns 16 bytes that identify :func:`canonical_arguments`; None if these are None."""
    canonical = canonical_arguments(arguments)
    return None if canonical is None else hashlib.blake2b(canonical.encode(), digest_size=16).digest()


def _canonical(value: Any, left: list[int]) -> Any:
    """Converts to JSON values; an object becomes a sorted list of its pairs, marked so that it equals no list."""
    left[0] -= 1
    if isinstance(value, str):
        left[1] -= len(value)
    if min(left) < 0:
        raise _TooMuchError
    if isinstance(value, str):
        return ' '.join(value.split())
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return {'float': repr(value)}
        # 1e22 is a whole number too, and int() converts it exactly.
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        pairs = [[_canonical(key, left), _canonical(item, left)] for key, item in value.items()]
        # {"a": 1, " a": 2}: keys that only differ in spaces are ordered by the text of their values.
        return {'object': sorted(pairs, key=lambda pair: json.dumps(pair, sort_keys=True))}
    if isinstance(value, (list, tuple)):
        return [_canonical(item, left) for item in value]
    return {type(value).__name__: ' '.join(repr(value)[:MAX_CHARS].split())}
