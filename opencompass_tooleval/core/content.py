"""Reads the content of a message in parts, as in OpenAI's API: ``[{"type": "text", "text": "..."}, ...]``."""

from __future__ import annotations

from typing import Any

_TEXT_TYPES = ('text', 'output_text')
_MOST_SHOWN = 40


def is_parts(content: Any) -> bool:
    """Tests if a value is a list of parts: each has a type, unlike the steps, calls and tools of an answer."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(part, dict) and isinstance(part.get('type'), str) for part in content)
    )


def joined_text(content: Any) -> Any:
    """Joins the texts of parts, or of a whole message (``{"role", "content"}``); returns other values unchanged.

    Raises:
        ValueError: A part is no text, such as an image.
    """
    if isinstance(content, dict) and isinstance(content.get('role'), str) and 'content' in content:
        content = content['content']
    if not is_parts(content):
        return content
    for part in content:
        if part['type'] not in _TEXT_TYPES or not isinstance(part.get('text'), str):
            raise ValueError(f'its answer has a part of type {part["type"][:_MOST_SHOWN]!r}, which is no text')
    return ''.join(part['text'] for part in content)
