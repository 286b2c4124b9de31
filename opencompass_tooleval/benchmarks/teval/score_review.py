"""Scores review: a choice out of five on whether the tool's response reached the goal (T-Eval, App. C.6).

Strict scoring finds a choice as a person does: ``The answer is B.``, ``Option B``, a boxed B, ``答案是B。``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from opencompass_tooleval.benchmarks.teval.protocol import Protocol
from opencompass_tooleval.benchmarks.teval.records import CHOICES, Record, ReviewGold
from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.core.scoring.similarity import Similarity
from opencompass_tooleval.core.text.reading import Parsed

_OPEN, _CLOSE = r'[\s*_`"\'“‘(\[（【「{$]', r'[\s*_`"\'”’)\]）】」}$]'
# 'Better results' begins with a B, but is not a choice.
_LETTER = rf'{_OPEN}{{0,9}}(?:\\text\{{)?([A-E])(?![A-Za-z0-9_])'
_NOT_EITHER = rf'(?!{_CLOSE}{{0,9}}(?:or\b|and\b|[/、,，&]|或|和|还是){_OPEN}{{0,9}}[A-E](?![A-Za-z]))'
"""``A or B`` is not a choice."""
_CHOSEN = rf'{_LETTER}{_NOT_EITHER}'
_REASON_FOLLOWS = r'(?i:because|since|as|for|is\s(?:the\s)?(?:correct|right|best))\b'
_ENDS = rf'(?={_CLOSE}{{0,9}}(?:\Z|[.。,，;；:：!！?？)\-–—\n]|{_REASON_FOLLOWS}))'
"""Text after a chosen letter: ``A tool failed`` begins with an article, ``Option B is wrong`` rejects a choice."""

_BOXED = re.compile(rf'\\boxed\{{{_CHOSEN}')
_LINK = r'(?i:\s|[*_"：:]|is|was|would|should|must|be|the|option|choice|应该|应当|应|是|为|选项|选)'
_STATED = re.compile(rf'(?i:answer|choice|答案|选项|选择){_LINK}{{1,12}}{_CHOSEN}')
_BEGINS = re.compile(rf'(?:[^:：]*[:：])?(?:{_OPEN}{{0,9}}([B-E])(?![A-Za-z0-9_]){_NOT_EITHER}|{_CHOSEN}{_ENDS})')
_IS = r'(?i:\s(?:is|would\sbe|should\sbe)[:：]?)'
_OPTION = re.compile(rf'(?i:\b(?:option|choice|choose|pick|select)|选项|选择|选){_IS}?\s?{_CHOSEN}{_ENDS}')
_LISTED = re.compile(r'^[ \t]{0,9}[*(（]{0,3}([A-E])[*)）]{0,3}[ \t]{0,3}[:：.]', re.MULTILINE)
"""A line per option: answers that repeat the options (``A: Success``, ...) make no choice."""
_FEW = 3
_HALF_WIDTH = str.maketrans('ＡＢＣＤＥ', 'ABCDE')


def strict_choice(text: str) -> str:
    """Returns the choice, A to E, that a person would find in an answer; ``''`` for no choice or several.

    In this order: the last boxed letter, the last letter called the answer, a letter at the start of the text or after
    its first colon, the only option that is named.
    """
    text = text.strip().translate(_HALF_WIDTH)
    for pattern in (_BOXED, _STATED):
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


Values = dict[str, float | None]


def read(record: Record, text: str, protocol: Protocol) -> Parsed:
    """Parses the choice: the first character after the first colon, or of a text without a colon.

    The official code knows only the ASCII colon, so that ``Answer：B`` gives A, the first letter of ``Answer``, and
    takes any word for its first letter (``Because ...`` is B). Strict parsing finds what a person would.
    """
    choice = strict_choice(text) if protocol.strict else text[text.find(':') + 1 :].strip()[:1]
    return Parsed(choice, 'text') if choice in CHOICES else Parsed(None, 'none', 'parse:no_choice')


def texts(record: Record, parsed: Parsed, protocol: Protocol) -> Iterator[str]:
    """Yields nothing: no texts are compared by embedding."""
    return iter(())


def score(record: Record, parsed: Parsed, protocol: Protocol, similarity: Similarity) -> tuple[Values, str]:
    """Returns parse rate and correctness of the choice, 0-1, and the reason."""
    if not parsed.ok:
        return {'parse_rate': 0.0, 'review_quality': 0.0}, parsed.reason
    right = parsed.value == cast(ReviewGold, record.gold).answer
    return {'parse_rate': 1.0, 'review_quality': float(right)}, OK if right else 'review:wrong'


def show(record: Record, choice: Any) -> tuple[Any, str]:
    """Returns the choice and the correct choice; the gold thought was not requested."""
    return choice, cast(ReviewGold, record.gold).answer
