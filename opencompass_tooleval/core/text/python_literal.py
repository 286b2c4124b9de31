"""Formats values for generated configs, which are Python: untrusted data becomes literals, never code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from opencompass_tooleval.core.text.jsonable import to_jsonable


def text_literal(text: str) -> str:
    """Formats a text as a Python literal.

    The literal has no double brace, since mmengine fills in ``{{ fileDirname }}`` and ``{{$NAME:default}}`` in a
    config's source before it parses it.
    """
    return repr(text).replace('{{', r'{\x7b')


def python_literal(value: Any) -> str:
    """Formats a value as a Python expression of literals.

    Args:
        value: JSON values, tuples, sets or any floats. A class becomes its full name, and any other value text.
    """
    if isinstance(value, Mapping):
        rows = (f'{_key(key)}: {python_literal(one)}' for key, one in value.items())
        return '{' + ', '.join(rows) + '}'
    if isinstance(value, tuple):
        return '(' + ''.join(f'{python_literal(one)}, ' for one in value) + ')'
    if isinstance(value, list):
        return '[' + ', '.join(python_literal(one) for one in value) + ']'
    if isinstance(value, (set, frozenset)):
        return f'set({python_literal(list(value))})'
    if isinstance(value, str):
        return text_literal(value)
    if isinstance(value, type):
        return text_literal(f'{value.__module__}.{value.__qualname__}')
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    plain = to_jsonable(value)  # for example, repr of a huge integer raises
    return text_literal(plain) if isinstance(plain, str) else repr(plain)


def _key(key: Any) -> str:
    return python_literal(key) if key is None or isinstance(key, (int, float, tuple)) else text_literal(str(key))
