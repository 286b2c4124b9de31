"""Functions of REST services are called ``GET /movie/{movie_id}`` (RestBench)."""

from __future__ import annotations

import re

METHODS = ('get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace')
"""In the order of OpenAPI's table, in lower case as its documents write them."""

_USAGE = re.compile(rf'(?:{"|".join(METHODS).upper()}) /')


def is_usage(name: str) -> bool:
    """Whether a function's name is an HTTP method and a path."""
    return _USAGE.match(name) is not None
