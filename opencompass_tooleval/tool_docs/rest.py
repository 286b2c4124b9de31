"""Names of REST functions, such as ``GET /movie/{movie_id}`` (RestBench)."""

from __future__ import annotations

import re

METHODS = ('get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace')
"""HTTP methods in the order of OpenAPI's table, in lower case as in its documents."""

_USAGE = re.compile(rf'(?:{"|".join(METHODS).upper()}) /')


def is_usage(name: str) -> bool:
    """Tests if a function's name is an HTTP method and a path."""
    return _USAGE.match(name) is not None
