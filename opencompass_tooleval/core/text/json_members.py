"""Reads the members of a JSON object from a stream, keeping only one member in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

MAX_MEMBER = 1 << 24
"""Maximum number of characters of one member."""

MAX_LEVELS = 1_200
"""Maximum depth of nested lists and objects: a run with 500 nested steps has some 1,010."""

_PIECE = 1 << 16
_BLANKS = re.compile(r'[ \t\n\r]*')
_MORE_OF_A_NUMBER = ('', '.', 'e', 'E', '+', '-')
_DECODER = json.JSONDecoder()


class TooMuchError(ValueError):
    """A member exceeds the limits on length or depth.

    Attributes:
        name: Name of the member.
    """

    name = ''


def members(read: Callable[[int], str]) -> Iterator[tuple[str, Any]]:
    """Yields name and value of each member of a JSON object, also of members with a repeated name.

    Args:
        read: Returns at most the given number of characters of the text; ``''`` at the end.

    Raises:
        TooMuchError: A member has more than ``MAX_MEMBER`` characters or ``MAX_LEVELS`` levels.
        ValueError: The text is not a JSON object.
    """
    text = _Text(read)
    text.expect('{')
    mark = ',' if text.peek() != '}' else text.take()
    while mark == ',':
        if text.peek() != '"':
            raise text.error('a name in double quotes is missing')
        name = text.value()
        text.expect(':')
        try:
            value = text.value()
        except TooMuchError as error:
            error.name = name
            raise
        yield name, value
        mark = text.take()
    if mark != '}':
        raise text.error('a comma or a closing brace is missing')
    if text.peek():
        raise text.error('there is more after the object')


class _Text:
    """The part of a text that is in memory, from the first unused character."""

    def __init__(self, read: Callable[[int], str]) -> None:
        self._read = read
        self._text = ''
        self._at = 0
        self._before = 0  # number of dropped characters

    def _grow(self) -> bool:
        """At least doubles the text in memory, so that a long value needs few tries; returns False at the end."""
        held = self._text[self._at :]
        piece = self._read(max(_PIECE, len(held)))
        self._before += self._at
        self._text, self._at = held + piece, 0
        return bool(piece)

    def error(self, what: str) -> ValueError:
        return ValueError(f'{what}: character {self._before + self._at}')

    def peek(self) -> str:
        """Returns the next character that is not blank, or ``''``."""
        while True:
            self._at = _skip_blanks(self._text, self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ''

    def take(self) -> str:
        """Returns the next character that is not blank, and consumes it."""
        mark = self.peek()
        self._at += len(mark)
        return mark

    def expect(self, mark: str) -> None:
        if self.take() != mark:
            raise self.error(f'{mark!r} is missing')

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > MAX_MEMBER:
                    raise TooMuchError(f'it has more than {MAX_MEMBER} characters') from None
                position = self._before + error.pos
                if not self._grow():
                    raise ValueError(f'{error.msg}: character {position}') from None
                continue
            length = end - self._at
            # '12' may be the beginning of 123, and '12.' of 12.5.
            if self._text[end : end + 1] not in _MORE_OF_A_NUMBER or not self._grow():
                self._at += length
                return value


def _skip_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _decode(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        return decode_deep(text, at)


def decode_deep(text: str, at: int = 0) -> tuple[Any, int]:
    """Reads a JSON value without recursion. (:mod:`json` is faster, but limited to some 1,000 levels.)

    Returns:
        The value, and the index after it.

    Raises:
        JSONDecodeError: The JSON value is invalid or incomplete.
        TooMuchError: The value has more than ``MAX_LEVELS`` levels.
    """
    parents: list[Any] = []
    names: list[str] = []
    while True:
        at = _skip_blanks(text, at)
        mark = text[at : at + 1]
        if mark == '{' or mark == '[':
            if len(parents) == MAX_LEVELS:
                raise TooMuchError(f'it is nested deeper than {MAX_LEVELS} levels')
            value: Any = {} if mark == '{' else []
            at = _skip_blanks(text, at + 1)
            if text[at : at + 1] != _closing(value):
                parents.append(value)
                at = _read_name(text, at, value, names)
                continue
            at += 1
        else:
            value, at = _DECODER.raw_decode(text, at)
        while parents:
            parent = parents[-1]
            if isinstance(parent, dict):
                parent[names.pop()] = value
            else:
                parent.append(value)
            at = _skip_blanks(text, at)
            mark = text[at : at + 1]
            if mark == ',':
                at = _read_name(text, at + 1, parent, names)
                break
            if mark != _closing(parent):
                raise json.JSONDecodeError('a comma or a closing bracket is missing', text, at)
            at += 1
            value = parents.pop()
        else:
            return value, at


def _closing(value: Any) -> str:
    return '}' if isinstance(value, dict) else ']'


def _read_name(text: str, at: int, parent: Any, names: list[str]) -> int:
    """Returns the index of the next value in a list or an object; in an object, stores the name before it."""
    if isinstance(parent, list):
        return at
    at = _skip_blanks(text, at)
    if text[at : at + 1] != '"':
        raise json.JSONDecodeError('a name in double quotes is missing', text, at)
    name, at = _DECODER.raw_decode(text, at)
    at = _skip_blanks(text, at)
    if text[at : at + 1] != ':':
        raise json.JSONDecodeError("':' is missing", text, at)
    names.append(name)
    return at + 1
