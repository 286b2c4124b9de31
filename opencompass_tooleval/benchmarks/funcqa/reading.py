"""Parses the number at the end of an answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from opencompass_tooleval.core.calls.answer import EMPTY, strip_reasoning
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, TOO_LONG

NO_NUMBER = 'answer:no_number'
TOO_LARGE = 'parse:huge_number'

_MAX_DIGITS = 400
_MARK = re.compile(r'\banswer[\s*_]*(?::|is\b)', re.IGNORECASE)
_NUMBER = re.compile(
    r"""
    (?<![A-Za-z0-9_^.]) (?<!\^[{-])                       # not in a word, and no exponent: cm^2, x1, 10^-5
    (?P<sign>(?<![)\]])-)? \$?
    (?P<figures>(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)
    (?:[eE](?P<e>[+-]?[0-9]{1,3})(?![0-9])
      |\s?(?:[x\u00d7*]|\\times)\s?10\s?\^\s?\{?(?P<ten>[+-]?[0-9]{1,3}))?
    (?:\s?/\s?(?P<below>[0-9]+(?:\.[0-9]+)?))?
    \s?\\?(?P<percent>%)?
    """,
    re.VERBOSE,
)


_FIGURES = re.compile(r'-?[0-9][0-9,]*(?:\.[0-9]+)?')
_MAX_FLOAT_DIGITS = 300
"""Maximum number of digits in a comparison; no gold answer is as large, and a float has up to 309."""

_FRACTION = re.compile(r'\\[dt]?frac\s?\{([0-9.]{1,400})\}\s?\{([0-9.]{1,400})\}')
_POWER = re.compile(r'(?<=10)[\u207b\u207a]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,3}')
_GROUPING = re.compile(r'(?<=[0-9])[\u00a0\u2009\u202f](?=[0-9]{3}(?![0-9]))')
_PLAIN = str.maketrans('\u207b\u207a\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079', '-+0123456789')


def _plain(text: str) -> str:
    """Converts typeset fractions, powers of ten, minus signs and grouped digits to plain text."""
    text = _GROUPING.sub('', text.replace('\u2212', '-'))
    text = _POWER.sub(lambda match: '^' + match[0].translate(_PLAIN), text)
    return _FRACTION.sub(r'\1/\2', text)


@dataclass(frozen=True)
class Number:
    """The number at the end of an answer.

    Attributes:
        value: The number; None if the answer has no number.
        percent: True if a percent sign follows.
        reason: Why the number is missing, as ``answer:code``, or ``''``.
    """

    value: Fraction | None
    percent: bool = False
    reason: str = ''


def read_number(text: str) -> Number:
    """Parses the final answer.

    The answer is the last number in the first line that has one after the last ``answer:`` or ``answer is``. Otherwise
    it is the last number in the text. Signs, thousands separators, ``$``, ``1.2e-5``, ``1.2 x 10^-5``, fractions
    (``91/20349``, also in LaTeX) and percent signs are understood; exponents (``cm^2``) and digits in words (``x1``)
    are skipped.
    """
    visible = strip_reasoning(text)
    answer = visible.text
    if not answer.strip():
        return Number(None, reason=visible.reason or EMPTY)
    if len(answer) > MAX_CHARS:
        return Number(None, reason=TOO_LONG)
    plain = _plain(answer)
    marks = list(_MARK.finditer(plain))
    lines = plain[marks[-1].end() :].splitlines() if marks else []
    for part in (*lines, plain):
        numbers = list(_NUMBER.finditer(part))
        if numbers:
            return _number(numbers[-1])
    return Number(None, reason=NO_NUMBER)


def read_numbers(text: str) -> list[Fraction]:
    """Returns the distinct numbers in an answer, such as ``-3.5`` and ``1,234``, as FuncQA's published labels do."""
    answer = strip_reasoning(text).text
    if len(answer) > MAX_CHARS:
        return []
    texts = dict.fromkeys(figures.replace(',', '') for figures in _FIGURES.findall(answer))
    return [Fraction(figures) for figures in texts if len(figures) <= _MAX_FLOAT_DIGITS]


def _number(match: re.Match[str]) -> Number:
    figures, below = match['figures'].replace(',', ''), match['below'] or '1'
    if len(figures) + len(below) > _MAX_DIGITS:
        return Number(None, reason=TOO_LARGE)
    value = Fraction(figures) * Fraction(10) ** int(match['e'] or match['ten'] or 0)
    value = value / Fraction(below) if Fraction(below) else value
    return Number(-value if match['sign'] else value, bool(match['percent']))
