"""Prints text. All output goes through this module, which escapes control characters in untrusted text.

Otherwise an escape sequence could clear the screen, set the window's title, or hide a line.
"""

from __future__ import annotations

import logging
import sys
from io import TextIOWrapper
from typing import Any

from rich.console import Console
from rich.text import Text

from opencompass_tooleval.core.text.jsonable import clean_text, printable

_HIGH_CONTROLS = {code: f'\\u{code:04x}' for code in range(0x80, 0xA0)}


def escape_unknown() -> None:
    """Makes standard output escape characters that its encoding lacks, instead of raising an error."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors='backslashreplace')


def say(text: object, err: bool = False) -> None:
    """Prints a text, with control characters shown as text."""
    print(clean_text(printable(str(text))), file=sys.stderr if err else sys.stdout, flush=True)


def say_json(text: str) -> None:
    """Prints JSON, and escapes the control characters that JSON need not escape (U+007F to U+009F)."""
    print(clean_text(printable(text.replace('\x7f', '\\u007f').translate(_HIGH_CONTROLS))), end='')


class Screen(Console):
    """Rich's console for tables and lines. Text is never markup, and control characters are shown as text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Converts a line, a title or a cell before it is measured and wrapped."""
        return super().render_str(clean_text(printable(text)), **options)


class PrintableRecords(logging.Filter):
    """A filter that shows control characters in log messages and tracebacks as text."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Changes the record, and keeps it."""
        record.msg, record.args = printable(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = printable(logging.Formatter().formatException(record.exc_info))
        return True


def keep_printable(logger: logging.Logger) -> None:
    """Adds :class:`PrintableRecords` to all handlers of a logger."""
    for handler in logger.handlers:
        if not any(isinstance(one, PrintableRecords) for one in handler.filters):
            handler.addFilter(PrintableRecords())
