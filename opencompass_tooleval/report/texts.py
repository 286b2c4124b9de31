"""Texts that others wrote, for a page: bounded."""

from __future__ import annotations

import json
from typing import Any

LONGEST = 100_000
"""Characters of a text; what is longer is cut, and says so."""


def cut(text: str, most: int = LONGEST) -> str:
    """A text of bounded length."""
    return text if len(text) <= most else f'{text[:most]}\n[cut: {len(text)} characters]'


def as_text(value: Any) -> str:
    """An answer as text: some methods keep several."""
    return cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1))
