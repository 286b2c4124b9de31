"""Limits the length of texts from models and files, for pages."""

from __future__ import annotations

import json
from typing import Any

LONGEST = 100_000
"""Maximum number of characters of a text; longer ones are cut, with a note."""


def cut(text: str, most: int = LONGEST) -> str:
    """Cuts a text to a maximum number of characters, and adds a note."""
    return text if len(text) <= most else f'{text[:most]}\n[cut: {len(text)} characters]'


def as_text(value: Any) -> str:
    """Converts an answer to text; a list of answers, which some methods store, becomes JSON."""
    return cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1))
