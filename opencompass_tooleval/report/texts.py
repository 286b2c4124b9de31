"""Bounds texts from models and files for a page."""

from __future__ import annotations

import json
from typing import Any

LONGEST = 100_000
"""Maximum number of characters of a text; longer ones are cut, with a note."""


def cut(text: str, most: int = LONGEST) -> str:
    """Cuts a text to a maximum length."""
    return text if len(text) <= most else f'{text[:most]}\n[cut: {len(text)} characters]'


def as_text(value: Any) -> str:
    """Converts an answer to text; some methods store several."""
    return cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1))
