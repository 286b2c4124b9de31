"""Parses JSON with full-width punctuation from Chinese keyboards, and text saved by Windows editors."""

from __future__ import annotations

import re
from collections.abc import Callable

from opencompass_tooleval.core.text.reading import Parsed

PARSE_METHOD = 'fullwidth'
"""Parse method for full-width punctuation that is read as ASCII."""

# str.strip() keeps a byte order mark and zero-width blanks.
_AROUND = '\ufeff\u200b\u2060 \t\r\n'
_ASCII = str.maketrans('｛｝［］：，', '{}[]:,')
_MARK = re.compile(r'[｛｝［］：，“”＂]')
_TOKEN = re.compile(
    r"""
    (?P<string> "[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z) | '[^'\\]*(?:\\.[^'\\]*)*(?:'|\Z))
  | [“”](?P<curly>[^“”]*)(?:[“”]|\Z)
  | ＂(?P<wide>[^＂]*)(?:＂|\Z)
  | [｛｝［］：，]
    """,
    re.VERBOSE | re.DOTALL,
)


def tidy(text: str) -> str:
    """Removes a byte order mark and surrounding blanks from a text, and converts CRLF to LF."""
    return text.replace('\r\n', '\n').strip(_AROUND)


def _ascii_token(match: re.Match[str]) -> str:
    if match['string'] is not None:
        return match['string']  # punctuation within a string stays
    inside = match['curly'] if match['curly'] is not None else match['wide']
    if inside is None:
        return match[0].translate(_ASCII)
    # “say \"hi\"”: escaping an escaped quote again would end the string.
    return '"' + inside.replace('\\"', '"').replace('"', '\\"') + '"'


def ascii_punctuation(text: str) -> str:
    """Converts brackets, colons, commas and quotes of JSON to ASCII; text within quotes stays unchanged."""
    return _TOKEN.sub(_ascii_token, text)


def has_full_width(text: str) -> bool:
    """Tests if :func:`ascii_punctuation` may change the text."""
    return _MARK.search(text) is not None


def read_either(text: str, read: Callable[[str], Parsed]) -> Parsed:
    """Calls ``read`` with a text, and if that fails, with its :func:`ascii_punctuation`.

    The parse method of the second call is ``fullwidth``.
    """
    parsed = read(text)
    if parsed.ok or not has_full_width(text):
        return parsed
    ascii_parsed = read(ascii_punctuation(text))
    return Parsed(ascii_parsed.value, PARSE_METHOD) if ascii_parsed.ok else parsed
