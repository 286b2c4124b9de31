"""A script of ``tools/serve_model.py``."""

from __future__ import annotations

import json
from typing import Any


def echo(messages: list[dict[str, Any]], request: dict[str, Any]) -> str:
    """Answers with the request itself."""
    return json.dumps(request)
