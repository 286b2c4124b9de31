"""Replaces values that are verbatim in a request and in its gold by others of the same type and length.

A value stays if the gold could depend on it in another form: a relative date, a number from which another gold value is
computed, a value inside another one, an option of the documentation, a place whose coordinates are in the gold; or if
the record has it in another form, such as the name of its file alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from typing import Any

from opencompass_tooleval.twins.translation import AFTER_VALUE, BEFORE_VALUE, Translation
from opencompass_tooleval.twins.twin import LeftOutError, words_of

NO_VALUE = 'no value stands verbatim in request and gold'

_DATE = re.compile(r'(\d{4})([-/.年])(\d{1,2})([-/.月])(\d{1,2})(日?)')
_NUMBER = re.compile(r'-?\d{1,15}(?:\.\d{1,9})?')
_STANDING = re.compile(rf'{BEFORE_VALUE}{_NUMBER.pattern}{AFTER_VALUE}')
_TIME = re.compile(r"(?<!\d)(?:\d{1,2}:\d{2}(?!\d)|\d{1,2}\s?(?:[ap]\.?m\b|o'clock|[点时]))", re.IGNORECASE)
_PLAIN_WORD = re.compile(r'\b[a-z]{2,}')
"""Matches a word in lower case. A text with such words, like ``50 sets of pens``, is neither a name nor a code."""
_CODE = re.compile(r'[A-Z]{1,5}|\d{1,2}(?:st|nd|rd|th)')
"""Matches a day of a month, and a stock symbol, since the request may also contain the name of its company."""
_TOKEN = re.compile(r'[A-Za-z0-9]{3,60}')
_NAME = re.compile(r"[A-Z][A-Za-z]{2,30}(?:[ .'-][A-Z][A-Za-z]{0,30}){0,4}")
_ADDRESS = re.compile(r'[\w.+-]{1,60}@[\w.-]{1,60}|[\w/\\:. -]{0,120}\.[A-Za-z0-9]{2,4}', re.ASCII)
_RELATIVE = re.compile(
    r'\b(?:today|tonight|tomorrow|yesterday|now|(?:next|last|this|following|past) (?:\w{3,9})|'
    r'(?:mon|tues|wednes|thurs|fri|satur|sun)day|days?|weeks?|months?|nights?|years? (?:later|before|after))\b|'
    r'[今明昨后前][天日年晚]|[上下本这]个?[周月年]|'
    r'周[一二三四五六日末]|星期|礼拜|[天晚夜]后|\d[天晚周]',
    re.IGNORECASE,
)
_QUOTES = ('"', '"'), ("'", "'"), ('“', '”'), ('‘', '’'), ('《', '》'), ('「', '」'), ('"', '"'), ('`', '`')
_COORDINATE = re.compile(r'(?<![\d.])-?\d{1,3}\.\d{3,15}(?![\d.])')
_COMMA = re.compile(r'(?<=\d)[,，](?=\d{3}(?!\d))')
_WORDS = re.compile(r'\d{1,30}(?:\.\d{1,15})?|[\u4e00-\u9fff]|[^\W\d_\u4e00-\u9fff]{1,60}')
_ENDING = re.compile(r'\.[A-Za-z0-9]{2,4}$')
_KEPT_WORDS = frozenset(words_of('com org net www http https the of and for'))
_WORD = re.compile(r'[A-Za-z]+')
_ORDINARY = frozenset(
    words_of(
        'monday tuesday wednesday thursday friday saturday sunday january february march april may june july august '
        'september october november december english chinese french german japanese spanish true false none null '
        'yes no python java usd cny eur gbp celsius fahrenheit male female economy business first today tomorrow'
    )
)
_VOWELS, _CONSONANTS = 'aeiou', 'bcdfghjklmnprstvz'
_CHARACTERS = '安柏晨川丹枫谷海禾江景康兰岭梅宁平青秋然沙山石松桐云文溪夏星雪岩洋宜雨源远月泽舟竹子'
_CHARACTER = re.compile(r'[\u4e00-\u9fff]')
_DIGITS = re.compile(r'(?<![A-Za-z0-9])[0-9](?=[A-Za-z])|(?<=[A-Za-z])[0-9](?![0-9])|[0-9]{2,30}')
"""Matches a number in a text, but not a single digit between blanks, which numbers a step."""
_VOWEL_FIRST = 0.2
_SMALL, _MANY_DIGITS, _TRIES, _MOST_VALUES = 100, 5, 40, 200
_YEARS = range(1950, 2030)


@dataclass(frozen=True)
class Material:
    """Texts of a record that decide which of its values may be replaced.

    Attributes:
        request: The request.
        golds: The values of the gold, at any depth.
        documentation: Texts that stay. A value in them is an option, and is not replaced.
        calls: Number of calls in the gold of each tool.
        more: Further texts with the same values, such as the steps of a plan.
    """

    request: str
    golds: Sequence[Any]
    documentation: str
    calls: Sequence[int] = ()
    more: str = ''


def leaves(value: Any) -> Iterator[Any]:
    """Yields the strings and numbers in data."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield value


def _plain(text: str) -> str:
    """Returns the words and numbers of a text, without letter case, punctuation, and commas in numbers."""
    return f' {" ".join(_WORDS.findall(_COMMA.sub("", text.lower())))} '


def still_has(text: str, value: str) -> bool:
    """Tests if a text has a value, or the file name of a path, in any letter case and with any punctuation.

    Values with fewer than three letters and fewer than two digits are not looked for.
    """
    plain = _plain(text)
    forms = {value, re.split(r'[/\\]', value.rstrip('/\\"\''))[-1]}
    return any(
        f' {words} ' in plain
        for words in (_plain(form).strip() for form in forms)
        if sum(map(str.isalpha, words)) >= 3 or sum(map(str.isdigit, words)) >= 2
    )


def _places(value: str, text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(rf'{BEFORE_VALUE}{re.escape(value)}{AFTER_VALUE}', text)]


def _occurrences(value: str, text: str) -> int:
    return len(_places(value, text))


def _is_date(value: str) -> bool:
    return _DATE.fullmatch(value) is not None


def _is_number(value: str) -> bool:
    return _NUMBER.fullmatch(value) is not None


def _quotes_around(value: str, text: str) -> list[bool]:
    """Returns for each place of a value in a text if it is quoted there."""
    around = [(text[max(0, at - 1) : at], text[end : end + 1]) for at, end in _places(value, text)]
    return [pair in _QUOTES for pair in around]


def _is_quoted(value: str, text: str) -> bool:
    return any(f'{left}{value}{right}' in text for left, right in _QUOTES)


def _kind(value: str, request: str) -> str:
    """Returns the kind of a value: date, number or text; '' if it cannot be replaced."""
    if _is_date(value):
        return 'date'
    if _is_number(value):
        return 'number'
    words = {word.lower() for word in _WORD.findall(value)}
    is_part_of_time = words & _ORDINARY or _TIME.search(value) or _DATE.search(value)
    if not value.strip() or '<' in value or _CODE.fullmatch(value) or is_part_of_time:
        return ''
    if _is_quoted(value, request):
        # The request may also contain the quoted word as an ordinary one: for some food, films titled 'food'.
        return '' if value.islower() and not all(_quotes_around(value, request)) else 'text'
    if _ADDRESS.fullmatch(value) or _NAME.fullmatch(value):
        return 'text'
    is_code = any(c.isdigit() for c in value) and value.isascii()
    return 'text' if is_code and not (' ' in value and _PLAIN_WORD.search(value)) else ''


def _tokens(value: str) -> set[str]:
    return {token.lower() for token in _TOKEN.findall(value)} - _KEPT_WORDS


def _is_in_another_form(value: str, others: Sequence[str], texts: str) -> bool:
    """Tests if a value may occur in another form.

    Args:
        value: The value.
        others: Gold values that are not in the request; one may share a word with the value.
        texts: Texts that may contain the value in another letter case, or inside another word.
    """
    tokens = _tokens(value)
    if any(tokens & _tokens(other) for other in others):
        return True
    return len(re.findall(re.escape(value.lower()), texts.lower())) != _occurrences(value, texts)


def _candidates(material: Material) -> dict[str, str]:
    """Returns value -> kind of the values that may be replaced.

    Raises:
        LeftOutError: There are too many values: each is compared with the others.
    """
    golds = list(dict.fromkeys(str(value) for value in material.golds))
    if len(golds) > _MOST_VALUES:
        raise LeftOutError('its gold has too many values')
    found = {value: _occurrences(value, material.request) for value in golds}
    kinds = {value: _kind(value, material.request) for value in golds if found[value]}
    absent = [value for value in golds if not found[value]]
    derived = list(filter(_is_derived, absent))
    texts = f'{material.request}\n{material.more}'
    has_coordinates = any(map(_COORDINATE.search, absent))
    has_dates = any(map(_is_date, golds)) or bool(_TIME.search(material.request))
    blocked = set[str]()
    for value, kind in kinds.items():
        is_small = kind == 'number' and abs(float(value)) < _SMALL
        if (
            not kind
            or any(value != other and value.lower() in other.lower() for other in golds)
            or (kind == 'text' and _is_in_another_form(value, absent, texts))
            or still_has(material.documentation, value)
            or _occurrences(value, material.documentation)
            or (has_coordinates and kind == 'text' and not _ADDRESS.fullmatch(value))
            or (kind in ('number', 'date') and derived)
            or (kind == 'number' and any(_is_multiple(other, value) for other in absent))
            or (kind == 'date' and _RELATIVE.search(material.request))
            or (kind == 'number' and len(value) == 1)  # may be of a scale, such as stars
            or (is_small and (has_dates or found[value] > 1 or value in map(str, material.calls)))
            or (is_small and _RELATIVE.search(material.request))
        ):
            blocked.add(value)
    return {value: kind for value, kind in kinds.items() if value not in blocked}


def _is_multiple(value: str, number: str) -> bool:
    """Tests if a gold value that is not in the request may be a multiple of a number in it: 100 shares of 450 yuan."""
    return value.isdecimal() and number.isdecimal() and int(number) > 1 and int(value[:30]) % int(number) == 0


def _is_derived(value: str) -> bool:
    """Tests if a gold value that is not in the request may be computed from one in it; a long number is an id."""
    if _DATE.search(value) or _TIME.search(value):
        return True
    return _is_number(value) and len(value.lstrip('-').partition('.')[0]) < _MANY_DIGITS


def _letters(value: str, rng: random.Random) -> str:
    """Replaces letters, digits and Chinese characters of a text.

    The ending of a file, some short words and the order of numbers stay.
    """
    ending = match[0] if (match := _ENDING.search(value)) else ''
    stem = value[: len(value) - len(ending)]
    stem = _WORD.sub(lambda match: _word(match[0], rng), stem)
    stem = _CHARACTER.sub(lambda match: rng.choice(_CHARACTERS), stem)
    new: dict[str, str] = {}
    for _, group in groupby(sorted(set(_DIGITS.findall(stem)), key=lambda digits: (len(digits), digits)), len):
        old = list(group)
        new |= zip(old, sorted(other_number(digits, rng) for digits in old), strict=True)
    return _DIGITS.sub(lambda match: new[match[0]], stem) + ending


def _word(word: str, rng: random.Random) -> str:
    """Returns a pronounceable word with capitals in the same places; words of :data:`_KEPT_WORDS` stay."""
    if len(word) == 1 or word.lower() in _KEPT_WORDS:
        return word
    begins = rng.random() < _VOWEL_FIRST
    new = (rng.choice(_VOWELS if (i % 2 == 0) is begins else _CONSONANTS) for i in range(len(word)))
    return ''.join(a.upper() if b.isupper() else a for a, b in zip(new, word, strict=True))


def other_number(value: str, rng: random.Random) -> str:
    """Returns another number with as many digits before and after the point; a year for a year."""
    whole, point, decimals = value.lstrip('-').partition('.')
    if len(whole) == 4 and not point and int(whole) in range(1900, 2100):
        return str(rng.choice(_YEARS))
    new = str(rng.randrange(10 ** (len(whole) - 1), 10 ** len(whole))) if whole != '0' else whole
    return ('-' if value.startswith('-') else '') + new + point + ''.join(
        rng.choice('123456789' if i == len(decimals) - 1 else '0123456789') for i in range(len(decimals))
    )  # fmt: skip


def _shifted(value: str, days: int) -> str:
    """Returns a date some days later in the same form; '' if it is not a date, or the later date has another length."""
    match = _DATE.fullmatch(value)
    if match is None:
        return ''
    year, first, month, second, day, end = match.groups()
    try:
        later = date(int(year), int(month), int(day)) + timedelta(days)
    except (ValueError, OverflowError):
        return ''
    month, day = (f'{new:0{len(old)}d}' for new, old in ((later.month, month), (later.day, day)))
    new = f'{later.year}{first}{month}{second}{day}{end}'
    return new if len(new) == len(value) else ''


def draw(material: Material, rng: random.Random) -> Translation:
    """Draws new values, and returns their translation.

    All dates move by the same number of days. Numbers keep their order, also beside the numbers that stay.

    Raises:
        LeftOutError: No value can be replaced.
    """
    kinds = _candidates(material)
    texts = (material.request, material.more, *map(str, material.golds))
    while kinds:
        new = Translation(values=_new_values(kinds, material, rng))
        text = '\n'.join(map(new.text, texts))
        left = [value for value in kinds if value not in new.values or still_has(text, value)]
        if not left:
            break
        kinds = {value: kind for value, kind in kinds.items() if value not in left}
    if not kinds:
        raise LeftOutError(NO_VALUE)
    return new


def _new_values(kinds: Mapping[str, str], material: Material, rng: random.Random) -> dict[str, str]:
    everything = '\n'.join((material.request, material.more, material.documentation, *map(str, material.golds)))
    new = _new_dates([value for value, kind in kinds.items() if kind == 'date'], everything, rng)
    stay = {match[0] for match in _STANDING.finditer(f'{material.request}\n{material.more}')} - kinds.keys()
    order = [(float(number), float(number)) for number in stay]
    for value, kind in kinds.items():
        for _ in range(_TRIES if kind != 'date' else 0):
            other = other_number(value, rng) if kind == 'number' else _letters(value, rng)
            if kind == 'number' and any((a < float(value)) != (b < float(other)) for a, b in order):
                continue
            is_new = other != value and other not in everything
            if is_new and not any(other in known or known in other for known in new.values()):
                new[value] = other
                order += [(float(value), float(other))] if kind == 'number' else []
                break
    return new


def _new_dates(dates: Sequence[str], text: str, rng: random.Random) -> dict[str, str]:
    for _ in range(_TRIES if dates else 0):
        days = rng.randrange(30, 300)
        moved = {value: _shifted(value, days) for value in dates}
        if all(other and other not in text for other in moved.values()):
            return moved
    return {}
