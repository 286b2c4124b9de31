"""Reads a choice out of five as a person does: ``The answer is B.``, ``Option B``, a boxed B, ``答案是B。``."""

from __future__ import annotations

import re

_OPEN, _CLOSE = r'[\s*_`"\'“‘(\[（【「{$]', r'[\s*_`"\'”’)\]）】」}$]'
# 'Better results' begins with a B, and is no choice.
_LETTER = rf'{_OPEN}{{0,9}}(?:\\text\{{)?([A-E])(?![A-Za-z0-9_])'
_NOT_EITHER = rf'(?!{_CLOSE}{{0,9}}(?:or\b|and\b|[/、,，&]|或|和|还是){_OPEN}{{0,9}}[A-E](?![A-Za-z]))'
"""``A or B`` is no choice."""
_CHOSEN = rf'{_LETTER}{_NOT_EITHER}'
_REASON_FOLLOWS = r'(?i:because|since|as|for|is\s(?:the\s)?(?:correct|right|best))\b'
_ENDS = rf'(?={_CLOSE}{{0,9}}(?:\Z|[.。,，;；:：!！?？)\-–—\n]|{_REASON_FOLLOWS}))'
"""Text after a chosen letter: ``A tool failed`` begins with an article, ``Option B is wrong`` is no choice."""

_BOXED = re.compile(rf'\\boxed\{{{_CHOSEN}')
_LINK = r'(?i:\s|[*_"：:]|is|was|would|should|must|be|the|option|choice|应该|应当|应|是|为|选项|选)'
_SAID = re.compile(rf'(?i:answer|choice|答案|选项|选择){_LINK}{{1,12}}{_CHOSEN}')
_BEGINS = re.compile(rf'(?:[^:：]*[:：])?(?:{_OPEN}{{0,9}}([B-E])(?![A-Za-z0-9_]){_NOT_EITHER}|{_CHOSEN}{_ENDS})')
_IS = r'(?i:\s(?:is|would\sbe|should\sbe)[:：]?)'
_OPTION = re.compile(rf'(?i:\b(?:option|choice|choose|pick|select)|选项|选择|选){_IS}?\s?{_CHOSEN}{_ENDS}')
_LISTED = re.compile(r'^[ \t]{0,9}[*(（]{0,3}([A-E])[*)）]{0,3}[ \t]{0,3}[:：.]', re.MULTILINE)
"""A line per option, for answers that repeat the options: ``A: Success`` and so on is no choice."""
_FEW = 3
_HALF_WIDTH = str.maketrans('ＡＢＣＤＥ', 'ABCDE')


def strict_choice(text: str) -> str:
    """Returns the choice, A to E, that a person reads in an answer; ``''`` for none or more than one.

    In this order: the last boxed letter, the last letter that is called the answer, a letter at the start of the text
    or after its first colon, the only option that is named.
    """
    text = text.strip().translate(_HALF_WIDTH)
    for pattern in (_BOXED, _SAID):
        letters = pattern.findall(text)
        if letters:
            return str(letters[-1])
    if len(set(_LISTED.findall(text))) >= _FEW:
        return ''
    begins = _BEGINS.match(text)
    if begins:
        return str(begins[1] or begins[2])
    options = set(_OPTION.findall(text))
    return str(options.pop()) if len(options) == 1 else ''
