"""Writes data as a script file, which a page opened from disk can load; it can hold nothing but data."""

from __future__ import annotations

import json
from typing import Any

from opencompass_tooleval.core.text.jsonable import to_jsonable


def to_script(call: str, *arguments: Any) -> str:
    """Formats ``call(...)`` with JSON arguments, in ASCII.

    Each argument is a text for ``JSON.parse``: as a literal of the script, a key ``__proto__`` would set a prototype.
    Non-ASCII characters (also U+2028, U+2029 and lone surrogates), ``<``, ``>`` and ``&`` are escaped, so that no text
    can end a script or begin a comment.

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
        value: JSON values; a number that is not finite becomes text.
    """
    try:
        text = json.dumps(value, separators=(',', ':'), allow_nan=False)
    except ValueError:  # a result from elsewhere may hold NaN
        text = json.dumps(to_jsonable(value), separators=(',', ':'))
    for sign in '<>&':
        text = text.replace(sign, f'\\u{ord(sign):04x}')
    return text
