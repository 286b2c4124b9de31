"""Extracts the first sentence of a documentation text, without markup, links and ids."""

from __future__ import annotations

import html
import re

MAX_CHARS = 5_000
"""Maximum number of characters of a description to search for its first sentence."""

# '[a](https://x.org/b_(c))': a search up to the first closing bracket would leave a ')'.
_LINK = re.compile(r'!?\[([^\]\[]*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)')
# A full stop after a link ends the sentence and is not part of the link: 'see https://x.org/a.'
_BARE_LINK = re.compile(r'<?(?:https?://|\bwww\.)[^\s<>()，。；！？]*[^\s<>()，。；！？.,;:!?]>?')
# 'a < b and c > d' contains no tag.
_TAG = re.compile(r'</?[A-Za-z][^<>]*>')
_HEADING = re.compile(r'^\s*#{1,6}\s+', re.MULTILINE)
# '2*3*4' and 'snake_case_name' contain no emphasis.
_EMPHASIS = re.compile(r'(?<![0-9A-Za-z])(\*{1,3}|_{2,3})(?=\S)(.{1,200}?)(?<=\S)\1(?![0-9A-Za-z])')
# An id has both letters and digits: 'internationalization' is as long as an id.
_ID = re.compile(
    r'\b(?:api_)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b'  # api_b04d269d-c7dd-4b84-8e17-6fba24d64d3d
    r'|\b(?=[0-9A-Za-z]*[0-9])(?=[0-9A-Za-z]*[A-Za-z])[0-9A-Za-z]{16,}\b'  # 4iV5W9uYEdYUVa79Axb7Rh
)
_EMPTY = re.compile(r'\(\s*\)|\[\s*\]|``|""|\'\'')
_SPACE_BEFORE = re.compile(r'\s+([,.;:!?])')
_BLOCK = re.compile(r'\n\s*\n|\n\s*(?=[-*|•]\s|\|)')
_END = re.compile(r'[。！？]["”’）)]*|[.!?]+["”’)]*(?=\s|$)')
_LONGEST = 12
"""Number of characters to search for an abbreviation: the longest one and the space before it fit."""

_ABBREVIATION = re.compile(
    r'(?:^|[\s(])(?:e\.g|i\.e|etc|cf|vs|no|nr|incl|excl|approx|dr|mr|mrs|ms|prof|st|fig|eq|sec|ver|v|u\.s|u\.k|[A-Za-z])\.$',
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """Returns a text without HTML, Markdown, links and ids; paragraphs stay separate."""
    text = _TAG.sub(' ', html.unescape(text[:MAX_CHARS]))
    text = _HEADING.sub('', _BARE_LINK.sub('', _LINK.sub(r'\1', text)))
    return _ID.sub('', _EMPHASIS.sub(r'\2', text))


def first_sentence(text: str) -> str:
    """Returns the first sentence of ``text``, English or Chinese, on one line; ``''`` without text.

    A paragraph, a list or a table also ends it. Abbreviations (``e.g.``), versions (``v1.2``) and decimals do not.
    """
    for block in _BLOCK.split(plain(text)):
        line = _SPACE_BEFORE.sub(r'\1', ' '.join(_EMPTY.sub('', block).split()))
        if not any(character.isalnum() for character in line):
            continue
        for end in _END.finditer(line):
            head = line[: end.end()]
            if any(character.isalnum() for character in head) and not _continues(head, line[end.end() :]):
                return head
        return line
    return ''


def _continues(head: str, rest: str) -> bool:
    """Tests if the full stop at the end of ``head`` belongs to an abbreviation."""
    return bool(rest.strip()) and _ABBREVIATION.search(head[-_LONGEST:]) is not None
