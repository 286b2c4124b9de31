"""One-line results at the end of an answer, parsed and compared by their form. Pure.

As in GAIA's scorer, numbers are compared by value, lists item by item, and texts without case and surrounding marks. In
addition there are dates, sets and pairs, units, and rounded decimals.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

from opencompass_tooleval.core.text.reading import parse_literal

NUMBER, TEXT, DATE, LIST, SET, PAIRS, NONE = 'number', 'text', 'date', 'list', 'set', 'pairs', 'none'
FORMS = (NUMBER, TEXT, DATE, LIST, SET, PAIRS, NONE)
"""Forms of a result; ``none`` for a request without a one-line result."""

MAX_RESULT = 2_000
"""Maximum number of characters of a result; a longer result is unreadable."""
_MAX_ITEMS = 200
_MAX_VALUE = 200

_THOUSANDS = re.compile(r'(?<=\d),(?=\d{3}(?!\d))')
_WHOLE = re.compile(r'(?<![\w.])(\d+)\.0+(?!\w|\.\d)')
"""A whole number with decimals, such as ``3.0``; not a version or an address, such as ``v3.0`` or ``10.0.0.1``."""
_SPACE = re.compile(r'\s+')

_LABEL = re.compile(
    r'(?:^[ \t*_#>`-]{0,10}|[.!?。！？][ *_]{0,4})(?:final )?(?:result|结果)[ \t*_`]{0,5}[:\N{FULLWIDTH COLON}]',
    re.IGNORECASE | re.MULTILINE,
)
_SAYS = re.compile(r'(?:answer|result|total|答案|结果)\s?(?:is|are|was|=|:|是|为)\s?(?=\S)', re.IGNORECASE)
_BOXED = '\\boxed{'
_WRAPPED = re.compile(r'\$\$?([^$]*)\$\$?|\\[(\[]([^\\]*)\\[)\]]|\\(?:text|mathrm|mathbf){([^{}]*)}')
_CLOCK = re.compile(r'(?<![\d:.])0(?=\d:[0-5]\d(?!\d))')
_SPACED = re.compile(r"(?<![\d.,])(\d{1,3})((?:[ '’]\d{3}){1,6})(?![\d])")
_AROUND = ' \t*_`"\'.,;:!?。，；：！？“”‘’「」'
_ARTICLE = re.compile(r'^(?:the|an?) (?=\S)')

_NUMBER = re.compile(r'(-?)\s?[$€£¥]?\s?(-?)((?:\d{1,20}(?:\.\d{1,20})?|\.\d{1,20})(?:e[+-]?\d{1,3})?)(?!\d)')
_UNIT = re.compile(r'\s?(?:[%°$€£¥][^\W\d_]?|[^\W\d_][\w/^]{0,20})?(?:[ /][^\W\d_][\w/^]{0,20}){0,2}')
_SCALES = {
    'hundred',
    'thousand',
    'million',
    'billion',
    'trillion',
    'dozen',
    'k',
    'mn',
    'bn',
    'lakh',
    'crore',
    'of',
    'or',
}
_CHINESE_SCALES = set('十百千万亿兆')

_MONTHS = (
    'january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november',
    'december',
)  # fmt: skip
_WEEKDAY = r'(?:[a-z]{3,9}(?:day|\.)?,? )?'
_TIME = r'(?:[t ,]\s?(?:at )?\d{1,2}:\d{2}\S{0,20}(?: ?[a-z+]\S{0,9})?)?'
_DAY = r'(?P<day>\d{1,2})(?:st|nd|rd|th)?'
_MONTH, _YEAR = r'(?P<month>\d{1,2})', r'(?P<year>\d{4})'
_DATES = tuple(
    re.compile(f'{_WEEKDAY}{pattern}{_TIME}')
    for pattern in (
        rf'{_YEAR}[-/.]{_MONTH}[-/.]{_DAY}',
        rf'{_YEAR} ?年 ?{_MONTH} ?月 ?{_DAY} ?日?',
        rf'{_DAY}[ -](?:of )?(?P<named>[a-z]{{3,9}})\.?,?[ -]{_YEAR}',
        rf'(?P<named>[a-z]{{3,9}})\.? {_DAY},? {_YEAR}',
        rf'(?P<first>\d{{1,2}})[-/.](?P<second>\d{{1,2}})[-/.]{_YEAR}',
    )
)

_BULLET = re.compile(r'^\s{0,9}(?:[-*•]|\d{1,3}[.)])\s+')
_SEMICOLON = re.compile(r'[;；]')
_COMMA = re.compile(r',(?!\d{3}(?!\d))|，|、')
_COLON = re.compile(r': |：|=|:')


def plain_text(text: str) -> str:
    """Prepares a text for comparisons.

    Case, compatibility forms, spaces, minus signs and thousands separators are unified; ``3.0`` becomes ``3``.
    """
    plain = _SPACE.sub(' ', unicodedata.normalize('NFKC', text).casefold()).replace('\N{MINUS SIGN}', '-')
    return _WHOLE.sub(r'\1', _THOUSANDS.sub('', plain)).strip()


def find_result(answer: str) -> str:
    """Finds the result in an answer: the text after the last ``Result:``, or else the last box, or else the last line.

    If nothing follows on the line of ``Result:``, it is the rest of the answer, such as a list with a line per item. In
    a line such as "The answer is 42.", it is the text after the verb. LaTeX marks around the result are removed.
    """
    marks = list(_LABEL.finditer(answer))
    if marks:
        rest = answer[marks[-1].end() :].strip(' \t*_`')
        line, _, below = rest.partition('\n')
        found = line.strip() or below.strip()
    elif _BOXED in answer:
        found = _BOXED + answer.rpartition(_BOXED)[2]
    else:
        found = next((line.strip() for line in reversed(answer.splitlines()) if line.strip()), '')
        if len(found) <= MAX_RESULT and (says := list(_SAYS.finditer(found))):
            found = found[says[-1].end() :]
    return _unwrapped(found) if len(found) <= MAX_RESULT else found


def _unwrapped(text: str) -> str:
    """Returns a result without LaTeX marks around all of it."""
    head, box, rest = text.partition(_BOXED)
    if box and not head.strip(' $\\([*'):
        depth = 1
        for place, letter in enumerate(rest):
            depth += (letter == '{') - (letter == '}')
            if not depth:
                text = rest[:place]
                break
    match = _WRAPPED.fullmatch(text.strip().rstrip('.'))
    return _unwrapped(next(filter(None, match.groups()), '')) if match else text.strip()


@dataclass(frozen=True)
class _Number:
    value: Fraction
    places: int
    unit: str


@dataclass(frozen=True)
class _Item:
    """One value as text, and also as a number or a date if possible."""

    text: str
    number: _Number | None
    date: date | None


def read_result(form: str, text: str) -> Any:
    """Parses a result.

    Args:
        form: One of :data:`FORMS`, except ``none``.
        text: The result as written in an answer.

    Returns:
        A value for :func:`same_results`; None if the text does not have this form.
    """
    text = text.strip().rstrip('.。' if text.strip()[:1] in ('[', '{') else '')
    return _READERS[form](text) if 0 < len(text) <= MAX_RESULT else None


def same_results(form: str, one: Any, other: Any) -> bool:
    """Tests if two results of :func:`read_result` are equal; an unreadable result equals nothing."""
    return one is not None and other is not None and _SAME[form](one, other)


def is_same(form: str, one: str, other: str) -> bool:
    """Tests if two texts are equal results."""
    return same_results(form, read_result(form, one), read_result(form, other))


def _text(text: str) -> str | None:
    plain = _CLOCK.sub('', plain_text(text).translate(_QUOTES).strip(_AROUND))
    return _ARTICLE.sub('', plain) or None


_QUOTES = str.maketrans('‘’“”–—', '\'\'""--')


def _number(text: str) -> _Number | None:
    """Parses a single number; a unit may follow, but not a word such as million."""
    plain = plain_text(text).rstrip(_AROUND).lstrip(_AROUND.replace('.', ''))
    plain = _SPACED.sub(lambda spaced: ''.join(filter(str.isdigit, spaced[0])), plain[: _MAX_VALUE + 1])
    match = _NUMBER.match(plain) if len(plain) <= _MAX_VALUE else None
    unit = _UNIT.fullmatch(plain, match.end()) if match else None
    if match is None or unit is None:
        return None
    words = unit[0].split()
    if _SCALES.intersection(words) or _CHINESE_SCALES.intersection(unit[0]):
        return None
    value = Fraction(match[3])
    places = len(match[3].partition('e')[0].partition('.')[2])
    return _Number(-value if match[1] or match[2] else value, places, ' '.join(words).removesuffix('s'))


def _same_numbers(one: _Number, other: _Number) -> bool:
    """Compares by value; with two or more decimals in both, one number may be the other one rounded."""
    if one.unit and other.unit and one.unit != other.unit:
        return False
    places = min(one.places, other.places)
    is_rounded = places >= 2 and abs(one.value - other.value) * 2 * 10**places <= 1
    return one.value == other.value or is_rounded


def _date(text: str) -> date | None:
    """Parses a date and ignores the time of day; returns None for an ambiguous date such as 10/11/2023."""
    plain = plain_text(text).strip(_AROUND)
    found = (pattern.fullmatch(plain) for pattern in _DATES) if len(plain) <= _MAX_VALUE else ()
    match = next(filter(None, found), None)
    if match is None:
        return None
    parts = match.groupdict()
    day, month = parts.get('day'), parts.get('month')
    if named := parts.get('named'):
        months = [number for number, name in enumerate(_MONTHS, 1) if name.startswith(named[:3])]
        is_month = months and (_MONTHS[months[0] - 1].startswith(named) or named == 'sept')
        month = months[0] if is_month else 0
    elif first := parts.get('first'):
        month, day = sorted((int(first), int(parts['second'])))
        if month != day <= len(_MONTHS):
            return None
    try:
        return date(int(parts['year']), int(month or 0), int(day or 0))
    except ValueError:
        return None


def _item(text: str) -> _Item | None:
    plain = _text(text)
    return None if plain is None else _Item(plain, _number(text), _date(text))


def _same_items(one: _Item, other: _Item) -> bool:
    if one.number and other.number:
        return _same_numbers(one.number, other.number)
    return one.text == other.text or (one.date is not None and one.date == other.date)


def items_of(text: str) -> list[str]:
    """Splits a list into items: JSON, or items separated by semicolons, or by lines, or else by commas."""
    read = parse_literal(text) if text[:1] == '[' else None
    if read is not None and isinstance(read.value, (list, tuple)):
        parts: Iterable[str] = map(str, read.value)
    else:
        lines = [_BULLET.sub('', line) for line in text.splitlines() if line.strip()]
        separator = _SEMICOLON if _SEMICOLON.search(text) else _COMMA if len(lines) == 1 else None
        parts = [part for line in lines for part in separator.split(line)] if separator else lines
    return [part.strip() for part in parts if part.strip()]


def _list(text: str) -> Sequence[_Item] | None:
    parts = items_of(text)
    items = [item for part in parts if (item := _item(part))] if len(parts) <= _MAX_ITEMS else []
    return items or None


def _same_lists(one: Sequence[_Item], other: Sequence[_Item]) -> bool:
    return len(one) == len(other) and all(map(_same_items, one, other))


def _same_sets(one: Sequence[_Item], other: Sequence[_Item]) -> bool:
    return all(
        any(_same_items(item, candidate) for candidate in candidates)
        for items, candidates in ((one, other), (other, one))
        for item in items
    )


def pairs_of(text: str) -> list[tuple[str, str]]:
    """Splits pairs of names and values, written as a JSON object or as list items; empty for other texts."""
    read = parse_literal(text) if text[:1] == '{' else None
    if read is not None and isinstance(read.value, dict):
        return [(str(name), str(value)) for name, value in read.value.items()]
    pairs = []
    for part in items_of(text):
        colon = _COLON.search(part)
        if colon is None:
            return []
        pairs.append((part[: colon.start()].strip(), part[colon.end() :].strip()))
    return pairs


def _pairs(text: str) -> Mapping[str, _Item] | None:
    """Parses pairs; a repeated name makes them unreadable."""
    pairs = pairs_of(text)
    items = {name: item for key, value in pairs if (name := _text(key)) and (item := _item(value))}
    return items if items and len(items) == len(pairs) <= _MAX_ITEMS else None


def _same_pairs(one: Mapping[str, _Item], other: Mapping[str, _Item]) -> bool:
    return one.keys() == other.keys() and all(_same_items(item, other[name]) for name, item in one.items())


def _equal(one: object, other: object) -> bool:
    return one == other


_READERS: Mapping[str, Callable[[str], Any]] = {
    NUMBER: _number,
    TEXT: _text,
    DATE: _date,
    LIST: _list,
    SET: _list,
    PAIRS: _pairs,
}
_SAME: Mapping[str, Callable[[Any, Any], bool]] = {
    NUMBER: _same_numbers,
    TEXT: _equal,
    DATE: _equal,
    LIST: _same_lists,
    SET: _same_sets,
    PAIRS: _same_pairs,
}
