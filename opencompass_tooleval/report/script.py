"""Formats data as script files, which a page opened from disk can load; they cannot contain code."""

from __future__ import annotations

import json
from typing import Any

from opencompass_tooleval.core.text.jsonable import to_jsonable


def to_script(call: str, *arguments: Any) -> str:
    """Formats ``call(...)`` with JSON arguments, in ASCII.

    Each argument is a string for ``JSON.parse``, since in an object literal the key ``__proto__`` sets the prototype.
    Non-ASCII characters (including U+2028, U+2029 and lone surrogates), ``<``, ``>`` and ``&`` are escaped, so that no
    text can end the script or begin a comment.

    Args:
        call: A function name of the report.
        arguments: JSON values; NaN and infinity become text.
    """
    return f'{call}({",".join(map(_parsed, arguments))});\n'


def _parsed(value: Any) -> str:
    return "JSON.parse('" + to_data(value).replace('\\', '\\\\').replace("'", "\\'") + "')"


def to_data(value: Any) -> str:
    """Returns JSON in ASCII without ``<``, ``>`` and ``&``, for a ``<script type="application/json">``.

    Args:
        value: JSON values; NaN and infinity become text.
    """
    try:
        text = json.dumps(value, separators=(',', ':'), allow_nan=False)
    except ValueError:  # results of other programs may contain NaN
        text = json.dumps(to_jsonable(value), separators=(',', ':'))
    for sign in '<>&':
        text = text.replace(sign, f'\\u{ord(sign):04x}')
    return text
