"""Compares single values of a state: equal numbers, and values that are made anew at each run. Pure.

A text is a sequence of tokens: times, ids, words and marks. A value is *free* as a whole or in some of its tokens if
two runs of the same calls leave it different: then any other value of the same kind is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from fractions import Fraction
from typing import Any

from opencompass_tooleval.core.errors import shorten

TIME, NUMBER, ID, TEXT, WORDS = 'time', 'number', 'id', 'text', 'words'
"""Kinds of free values; ``words`` is any text that the owner of a task leaves to the agent."""
MEANT: Mapping[str, Any] = {'means': True}
"""In place of what is free: the wanted value is a text as :func:`means` compares it."""
ANYTHING: Mapping[str, Any] = {'any': True}
"""In place of what is free: any value is right, also an empty one."""

_TOKEN = re.compile(
    r'\d{4}-\d\d-\d\d(?:[T _]\d\d[:.-]?\d\d(?:[:.-]?\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?'
    r'|\d{8}[-_T]\d{4,6}Z?|\d{1,2}:\d\d(?::\d\d(?:\.\d{1,9})?)?'
    r'|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\w+|\W'
)
_TIME = re.compile(r'\d{4}-\d\d-\d\d.*|\d{8}[-_T]\d{4,6}Z?|\d{1,2}:\d\d.*')
_NUMBER = re.compile(r'-?\d{1,40}(?:\.\d{1,40})?')
_DAY = re.compile(r'(\d{4})-?(\d\d)-?(\d\d)')
_MAX_TEXT = 4_000
_DIGITS = 10
"""Significant digits of floats that are compared: numbers are equal within 1e-9."""
_SHOWN = 60
_SECONDS = {10: 1, 13: 1e3, 16: 1e6, 19: 1e9}
"""Number of digits of a Unix time -> its units in a second."""
_EARLIEST, _LATEST = 1_400_000_000, 4_000_000_000
_MAX_NUMBER = 40
_EPOCH = date(1970, 1, 1).toordinal()


def tokens(text: str) -> list[str]:
    """Splits a text into tokens, which together are the text."""
    return _TOKEN.findall(text)


def rounded(value: Any) -> Any:
    """Rounds all floats of a value to ten digits, and makes whole ones integers."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return list(map(rounded, value))
    if isinstance(value, float) and abs(value) < 1e300:
        value = float(f'{value:.{_DIGITS}g}')
        return int(value) if value.is_integer() else value
    return value


def key_of(value: Any) -> str:
    """Returns a JSON text that equal values share, whatever the order of their names and the last digits of floats."""
    return json.dumps(rounded(value), sort_keys=True, ensure_ascii=False)


def leaves(value: Any, sort: Collection[str] = (), path: str = '') -> dict[str, Any]:
    """Returns path -> single value of an object, list or value: ``{'a': [1]}`` has the leaf ``a[0]``.

    Args:
        value: JSON values.
        sort: Paths of lists whose order does not count.
        path: Path of the value.
    """
    if isinstance(value, dict) and value:
        pairs = [(f'{path}.{name}' if path else str(name), one) for name, one in value.items()]
    elif isinstance(value, list) and value:
        items = sorted(value, key=key_of) if path in sort else value
        pairs = [(f'{path}[{number}]', one) for number, one in enumerate(items)]
    else:
        return {path: value}
    return {name: leaf for below, one in pairs for name, leaf in leaves(one, sort, below).items()}


@dataclass(frozen=True)
class Given:
    """The values that a request and the arguments of its solution give, and the day.

    Attributes:
        request: Tokens of the request.
        arguments: Name of an argument and a token of its value, for all arguments.
        days: The day as texts, in UTC and in local time.
    """

    request: frozenset[str]
    arguments: tuple[tuple[str, str], ...]
    days: frozenset[str]

    @classmethod
    def of(cls, request: str, calls: Sequence[Mapping[str, Any]], now: datetime) -> Given:
        """Reads a request and the arguments of calls; ``now`` is the time of the calls, with its zone."""
        arguments = [
            (re.sub(r'\[\d+\]', '', path).rpartition('.')[2], token)
            for call in calls
            for path, value in leaves(dict(call)).items()
            for token in {str(value), *tokens(str(value)[:100_000])}
        ]
        days = {zone.strftime('%Y-%m-%d') for zone in (now, now.astimezone(timezone.utc))}
        return cls(frozenset(tokens(request)), tuple(arguments), frozenset(days))

    def names(self, value: Any, name: str = '', siblings: Mapping[str, Any] | None = None) -> bool:
        """Tests if the request or an argument has a value; not if another value beside it explains the argument."""
        text = str(value)
        return text in self.request or any(
            token == text and not (argument != name and str((siblings or {}).get(argument)) == text)
            for argument, token in self.arguments
        )

    def is_today(self, value: Any) -> bool:
        """Tests if a value is the day, or a time of it, and neither the request nor an argument gives it."""
        day = _day_of(value)
        if day is None or self.names(value):
            return False
        days = {date.fromisoformat(one).toordinal() for one in self.days}
        return int(day) in days and not any(self.names(date.fromordinal(one).isoformat()) for one in days)


def _day_of(value: Any) -> float | None:
    """Returns the day of a date, a time with a date, or a Unix time, counted as Python does; None for other values."""
    text = str(value)
    if not isinstance(value, str | int | float) or len(text) > _SHOWN:
        return None
    whole = text.partition('.')[0]
    if _NUMBER.fullmatch(text) and (unit := _SECONDS.get(len(whole))) and _EARLIEST < float(text) / unit < _LATEST:
        return _EPOCH + float(text) / unit / 86_400
    found = _DAY.match(text) if _TIME.fullmatch(text) or len(text) == 8 else None
    try:
        return date(*map(int, found.groups())).toordinal() if found else None
    except ValueError:
        return None


def kind_of(value: Any) -> str:
    """Returns the kind of a value or token."""
    text = str(value)
    if isinstance(value, bool) or value is None or len(text) > _SHOWN:
        return TEXT
    if _TIME.fullmatch(text) or _day_of(value) is not None:
        return TIME
    if _NUMBER.fullmatch(text):
        return NUMBER
    is_id = any(map(str.isdigit, text)) and all(one.isalnum() or one in '-_' for one in text)
    return ID if is_id else TEXT


def _common(*values: Any) -> str:
    kinds = set(map(kind_of, values))
    return kinds.pop() if len(kinds) == 1 else ID if kinds <= {NUMBER, ID, TIME} else TEXT


def free_of(first: Any, second: Any, given: Given | None) -> dict[str, Any] | None:
    """Returns what of a value is free: ``kind`` of the whole, or ``at`` with index of a token -> its kind.

    Args:
        first: The value after a run.
        second: The value after the same calls.
        given: What the request gives; a value of the day that it does not give is free too. None to leave only free
            what differs.

    Returns:
        None if nothing is free.
    """
    if isinstance(first, str) and isinstance(second, str) and max(len(first), len(second)) <= _MAX_TEXT:
        one, two = tokens(first), tokens(second)
        if len(one) == len(two):
            at = {
                str(number): _common(*pair)
                for number, pair in enumerate(zip(one, two, strict=True))
                if pair[0] != pair[1] or (given and given.is_today(pair[0]))
            }
            return {'at': at} if at else None
    is_same = key_of(first) == key_of(second)
    return None if is_same and not (given and given.is_today(first)) else {'kind': _common(first, second)}


def fits(wanted: Any, found: Any, free: Mapping[str, Any] | None) -> bool:
    """Tests if a value is right.

    Args:
        wanted: The value after the solution.
        found: The value that an agent left.
        free: What of it is free, from :func:`free_of`, with the value at the start as ``was`` if there was one.
    """
    if free is None:
        return key_of(wanted) == key_of(found)
    if 'any' in free or 'means' in free:
        return 'any' in free or means(wanted, found)
    if found in (None, '', [], {}) or ('was' in free and key_of(found) == key_of(free['was'])):
        return False
    if 'at' not in free:
        return _is_kind(free.get('kind', TEXT), wanted, found)
    if not isinstance(found, str) or len(found) > 2 * _MAX_TEXT:
        return False
    one, two = tokens(str(wanted)), tokens(found)
    return len(one) == len(two) and all(
        _is_kind(str(free['at'][str(number)]), want, have) if str(number) in free['at'] else want == have
        for number, (want, have) in enumerate(zip(one, two, strict=True))
    )


def _is_kind(kind: str, wanted: Any, found: Any) -> bool:
    if kind in (TEXT, WORDS):
        return isinstance(found, type(wanted)) and bool(str(found).strip())
    if kind == TIME:
        earliest, day = _day_of(wanted), _day_of(found)
        return kind_of(found) == TIME and (earliest is None or (day is not None and day >= earliest - 1))
    return kind_of(found) in ({NUMBER, TIME} if kind == NUMBER else {NUMBER, TIME, ID})


def means(words: Any, value: Any) -> bool:
    """Tests if a value equals ``words``, whose scalars are all texts: ``42`` is the number 42 or the text 42."""
    if isinstance(words, Mapping):
        return isinstance(value, Mapping) and words.keys() == value.keys() and holds(words, value)
    if isinstance(words, list):
        return isinstance(value, list) and len(words) == len(value) and all(map(means, words, value))
    text = str(words)
    if value is None:
        return text in ('', 'null')
    if isinstance(value, bool):
        return text.lower() == str(value).lower() or text == str(int(value))
    if isinstance(value, int | float):
        one, other = _number(text), _number(str(value))
        return (
            one is not None
            and other is not None
            and (one == other or (isinstance(value, float) and _is_near(one, other)))
        )
    return text == str(value)


def _is_near(one: Fraction, other: Fraction) -> bool:
    return abs(one - other) * 10**9 <= max(abs(one), abs(other))


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text) if len(text) <= _MAX_NUMBER and '/' not in text and 'e' not in text.lower()[:-5] else None
    except (ValueError, ZeroDivisionError):
        return None


def holds(words: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Tests if an object has all values of ``words``; it may have others too."""
    return all(name in row and means(value, row[name]) for name, value in words.items())


def shown(value: Any) -> str:
    """Writes a value for a message."""
    return shorten(json.dumps(value, ensure_ascii=False), _SHOWN)
