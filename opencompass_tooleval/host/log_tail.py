"""The line of a log that says what went wrong."""

from __future__ import annotations

import re
from pathlib import Path

_TAIL = 65536
_WIDTH = 300
_ERROR = re.compile(r'^\s*[\w.]*(?:Error|Exception|Interrupt|Exit)\b|\berror:|^Killed\b', re.IGNORECASE)


def last_error_line(log: Path) -> str:
    """The last line of a log that names an error, else the last line; empty if there is none."""
    try:
        with log.open('rb') as stream:
            stream.seek(max(0, log.stat().st_size - _TAIL))
            text = stream.read().decode('utf-8', errors='replace')
    except FileNotFoundError:
        return ''
    lines = [line.strip()[:_WIDTH] for line in re.split(r'[\r\n]+', text) if line.strip()]
    return next((line for line in reversed(lines) if _ERROR.search(line)), lines[-1] if lines else '')
