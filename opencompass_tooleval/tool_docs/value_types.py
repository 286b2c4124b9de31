"""Checks values against types as ToolBench, JSON Schema, T-Eval, UltraTool and FuncQA document them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)  # of any size, even beyond a float


def _is_integer(value: Any) -> bool:
    return _is_number(value) and value == int(value)


LISTS = ('list', 'array', 'tuple', 'sequence', 'set')
OBJECTS = ('object', 'dict', 'dictionary', 'map', 'mapping', 'json')
STRINGS = ('string', 'str', 'text', 'char', 'date', 'datetime', 'time', 'timestamp', 'file', 'url', 'uri', 'email')
BOOLEANS = ('boolean', 'bool')
INTEGERS = ('integer', 'int', 'int32', 'int64', 'long')
NUMBERS = ('number', 'float', 'double', 'numeric', 'decimal')


class _Family(NamedTuple):
    """A kind of value: in words, its names in documentation, its name in JSON Schema, and a test for values."""

    words: str
    names: tuple[str, ...]
    json_type: str
    fits: Callable[[Any], bool]


_FAMILIES = (
    # Containers first: a List[str] is a list.
    _Family('a list', LISTS, 'array', lambda value: isinstance(value, list)),
    _Family('an object', OBJECTS, 'object', lambda value: isinstance(value, dict)),
    _Family('a string', STRINGS, 'string', lambda value: isinstance(value, str)),
    _Family('true or false', BOOLEANS, 'boolean', lambda value: isinstance(value, bool)),
    _Family('a whole number', INTEGERS, 'integer', _is_integer),
    _Family('a number', NUMBERS, 'number', _is_number),
)
_WORD = re.compile(r'[a-z]+\d*')
_CHOICE = re.compile(r'\||/|,|\bor\b')
_NESTED = re.compile(r'[\[(<].*')

_MAX_TYPE_CHARS = 200
"""Maximum length of a type; longer text is prose."""


def _family(name: str) -> _Family | None:
    """Returns the kind of a single type name; None for an unknown type, which accepts every value."""
    word = _WORD.match(name.strip().lower())
    return next((family for family in _FAMILIES if word and word[0] in family.names), None)


def _choices(type_name: str) -> tuple[list[_Family | None], bool]:
    """Returns the kind of each alternative of a type, and True if null is allowed."""
    # Nested types are removed first: otherwise 'List[int,str]' would split at the comma, and accept any text.
    names = [name for name in _CHOICE.split(_NESTED.sub('', type_name)) if name.strip()]
    families = [_family(name) for name in names if name.strip().lower() not in ('null', 'none')]
    return families, len(families) < len(names)


def json_types(type_name: str) -> tuple[str, ...]:
    """Returns the JSON Schema types of a documented type; empty for a type that accepts every value."""
    if len(type_name) > _MAX_TYPE_CHARS:
        return ()
    families, nullable = _choices(type_name)
    known = [family.json_type for family in families if family]
    if len(known) < len(families) or not known:
        return ()
    return tuple(dict.fromkeys([*known, 'null'] if nullable else known))


def expected(type_name: str, value: Any) -> str:
    """Describes the expected value in words; ``''`` if ``value`` is valid.

    Args:
        type_name: Type such as ``STRING``, ``integer``, ``List[int]``, ``DATE (YYYY-MM-DD)`` or ``string|null``. One of
            several alternatives must match; an unknown type (``ENUM``, ``any``, ``''``) accepts every value.
        value: A JSON value.
    """
    if len(type_name) > _MAX_TYPE_CHARS:
        return ''
    families, nullable = _choices(type_name)
    if value is None and nullable:
        return ''
    descriptions = []
    for family in families:
        if family is None or family.fits(value):
            return ''
        descriptions.append(family.words)
    return ' or '.join(descriptions)


def from_text(type_name: str, text: str) -> Any:
    """Converts text in a path or query to a JSON value of the type, if possible; otherwise returns the text."""
    if not expected(type_name, text):
        return text
    if text in ('true', 'false'):
        return text == 'true'
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text.split(',') if not expected(type_name, []) else text


def unlike_schema(schema: Mapping[str, Any], value: Any) -> str:
    """Describes the value that ``enum`` and ``items`` of a schema expect, in words; ``''`` if ``value`` is valid."""
    choices = schema.get('enum')
    if isinstance(choices, list) and choices and value not in choices:
        return f'one of {", ".join(map(str, choices))}'[:_MAX_TYPE_CHARS]
    items = schema.get('items')
    if isinstance(value, list) and isinstance(items, Mapping):
        for item in value:
            problem = expected(str(items.get('type') or ''), item) or unlike_schema(items, item)
            if problem:
                return f'a list whose items are each {problem}'
    return ''
