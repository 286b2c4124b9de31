"""Finds fields whose values a server generates anew at each call, such as ids and times. Pure.

A text is parsed as JSON, as lines of JSON, or as lines of words. A field is the path of a value in the text:
``notes[].created`` in JSON, ``Created:[1]`` for the second word of lines that begin with ``Created:``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from opencompass_tooleval.core.errors import first_of, shorten
from opencompass_tooleval.core.text.json_object import load_json

MAX_CHARS = 1 << 20
"""Maximum length of a text whose fields are compared; a longer text is compared as a whole."""

_MAX_VALUE = 1_000
"""Maximum length of a value in which to look for ids and times."""
_MOST_SHOWN, _MOST_TEXT, _CONTEXT = 3, 80, 10

_WORD = re.compile(r'[\w:.+-]+')
_PART = re.compile(r'[^\W_]+')
_TIME_OR_ID = re.compile(
    r'\d{4}-\d\d-\d\d(?:T[\d:.]{5,20}(?:Z|[+-]\d\d:?\d\d)?)?|\d{1,2}:\d\d(?::\d\d)?(?:\.\d{1,9})?Z?|\d{9,30}(?:\.\d{1,9})?'
    r'|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'
)
_LEAST_HEX, _LEAST_ID = 7, 10
_GENERATED = '*'
_EMPTY: tuple[Any, ...] = ('', None, {}, [])

_Values = list[tuple[str, Any]]


def differing_fields(first: str, second: str) -> tuple[str, ...] | None:
    """Finds the fields that a server generated anew in the second of two texts.

    Args:
        first: A text.
        second: The text after the same calls, from the same state.

    Returns:
        The fields; None if the texts also differ elsewhere, or contain no other fields. A different counter, name or
        number of entries is not a generated value: state was carried over, or the server draws by chance.
    """
    if first == second:
        return ()
    if max(len(first), len(second)) > MAX_CHARS:
        return None
    values, others = _values(first), _values(second)
    if [field for field, _ in values] != [field for field, _ in others]:
        return None
    found: dict[str, None] = {}
    for (field, value), (_, again) in zip(values, others, strict=True):
        if value != again:
            if _without_generated(value) != _without_generated(again):
                return None
            found[field] = None
    is_left = any(field not in found and value not in _EMPTY for field, value in values)
    return tuple(found) if found and is_left else None


def difference_text(first: str, second: str) -> str:
    """Describes the fields in which two texts differ, with both values."""
    values, others = (_values(text[:MAX_CHARS]) for text in (first, second))
    pairs = [
        f'{field or "text"}: {_shown(value)} and {_shown(again)}'
        for (field, value), (same, again) in zip(values, others, strict=False)
        if field == same and value != again
    ]
    if pairs and len(values) == len(others):
        return first_of(pairs, _MOST_SHOWN)
    pairs_of_letters = enumerate(zip(first, second, strict=False))
    same = next((index for index, (a, b) in pairs_of_letters if a != b), min(len(first), len(second)))
    return ' and '.join(
        _shown(f'{"…" * (same > _CONTEXT)}{text[max(0, same - _CONTEXT) :]}') for text in (first, second)
    )


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return repr(shorten(' '.join(text.split()), _MOST_TEXT))


def _values(text: str) -> _Values:
    """Returns the values in a text in order, each with its field."""
    try:
        return list(_of_json(load_json(text, bounded=True), ''))
    except ValueError:
        pass
    lines = text.splitlines()
    try:
        return list(_of_json([load_json(line, bounded=True) for line in lines if line.strip()], ''))
    except ValueError:
        return [pair for line in lines for pair in _of_line(line)]


def _of_json(value: Any, field: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            below = f'{field}.{(shown := _without_generated(name))}'.lstrip('.')
            if shown != name:
                yield f'{below} (key)', name
            yield from _of_json(item, below)
    elif isinstance(value, list) and value:
        for item in value:
            yield from _of_json(item, f'{field}[]')
    else:
        yield field, value


def _of_line(line: str) -> Iterator[tuple[str, str]]:
    words = line.split()
    first = _without_generated(words[0]) if words else ''
    yield from ((f'{first}[{index}]', word) for index, word in enumerate(words))


def _without_generated(value: Any) -> Any:
    """Replaces ids and times, in a text or as a number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) > _MAX_VALUE:
        return value
    masked = _WORD.sub(lambda found: _mask_word(found[0]), text)
    return value if masked == text else masked


def _mask_word(word: str) -> str:
    core = word.strip('.:+-')
    if _TIME_OR_ID.fullmatch(core):
        return word.replace(core, _GENERATED)
    return _PART.sub(lambda found: _GENERATED if _is_generated(found[0]) else found[0], word)


def _is_generated(part: str) -> bool:
    """Tests if a word looks like a number or id that no person chose."""
    if _TIME_OR_ID.fullmatch(part):
        return True
    has_digit, has_letter = any(map(str.isdigit, part)), any(map(str.isalpha, part))
    if not has_digit or not has_letter:
        return False
    is_hex = len(part) >= _LEAST_HEX and all(letter in '0123456789abcdefABCDEF' for letter in part)
    is_mixed = part != part.lower() and (part != part.upper() or len(part) >= 2 * _LEAST_ID)
    return is_hex or (len(part) >= _LEAST_ID and is_mixed)
