"""Data as a script file, so that a page opened from disk can load it: nothing in it can be anything but data."""

from __future__ import annotations

import json
from typing import Any


def to_script(call: str, *arguments: Any) -> str:
    """``call(...)`` with JSON arguments, in ASCII.

    Non-ASCII, so also U+2028, U+2029 and lone surrogates, is escaped; so are ``<``, ``>`` and ``&``, and no text can
    end a script or begin a comment.

    Args:
        call: A name of our own.
        arguments: JSON values.
    """
    texts = [
        json.dumps(value, separators=(',', ':')).replace('<', '\\u003c').replace('>', '\\u003e').replace('&', '\\u0026')
        for value in arguments
    ]
    return f'{call}({",".join(texts)});\n'
