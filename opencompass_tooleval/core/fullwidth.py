"""JSON as a Chinese keyboard writes it, and text as an editor of Windows saves it."""

from __future__ import annotations

import re
from collections.abc import Callable

from opencompass_tooleval.core.reading import Parsed

PARSE_METHOD = 'fullwidth'
"""Way of reading: full-width punctuation is taken for ASCII."""

# str.strip() alone leaves a byte order mark and blanks of no width.
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
    """The text without a byte order mark and blanks around it, with line feeds alone as ends of lines."""
    return text.replace('\r\n', '\n').strip(_AROUND)


def _ascii_token(match: re.Match[str]) -> str:
    if match['string'] is not None:
        return match['string']  # a colon within a text is the text's own
    inside = match['curly'] if match['curly'] is not None else match['wide']
    if inside is None:
        return match[0].translate(_ASCII)
    # “say \"hi\"”: escaping what is escaped already would end the text at its first quote.
    return '"' + inside.replace('\\"', '"').replace('"', '\\"') + '"'


def ascii_punctuation(text: str) -> str:
    """Brackets, colons, commas and quotes of JSON in ASCII; what stands within quotes stays as it is."""
    return _TOKEN.sub(_ascii_token, text)


def has_full_width(text: str) -> bool:
    """Whether :func:`ascii_punctuation` may change anything."""
    return _MARK.search(text) is not None


def read_either(text: str, read: Callable[[str], Parsed]) -> Parsed:
    """What ``read`` makes of a text, or else, under the parse method ``fullwidth``, of its
    :func:`ascii_punctuation`.
    """
    parsed = read(text)
    if parsed.ok or not has_full_width(text):
        return parsed
    ascii_parsed = read(ascii_punctuation(text))
    return Parsed(ascii_parsed.value, PARSE_METHOD) if ascii_parsed.ok else parsed
