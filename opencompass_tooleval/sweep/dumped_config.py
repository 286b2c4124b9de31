"""Configs as OpenCompass keeps them in a run, read without executing them: a run may come from anybody."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError

MAX_BYTES = 1 << 24
"""Far beyond any config: a hundred data sets take some 300 kB."""
_MAX_DEPTH = 100
_SHOWN = 40

# No operator, no prefix, no attribute: a chain of those ends Python 3.10's own parser with a segmentation fault.
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<string>'[^'\\\n]*(?:\\.[^'\\\n]*)*' | "[^"\\\n]*(?:\\.[^"\\\n]*)*")
  | (?P<number>-?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)? | (?:nan|inf)\b))
  | (?P<name>[^\W\d]\w*)
  | (?P<sign>[()\[\]{},:=])
  | (?P<end>\Z)
  | (?P<other>.)
    )""",
    re.VERBOSE,
)
_WORDS = {'True': True, 'False': False, 'None': None}
_CLOSING = {'(': ')', '[': ']', '{': '}'}


class _Refused(Exception):
    """What a text holds that no config of a run does."""


class _Reader:
    """Reads the tokens of a text, one ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._token(0)

    def _token(self, start: int) -> re.Match[str]:
        token = _TOKEN.match(self._text, start)
        assert token is not None  # the last alternative takes any character, the one before it the end
        return token

    def _next(self) -> None:
        self._at = self._token(self._at.end())

    def _sign(self) -> str:
        return self._at['sign'] or ''

    def _expect(self, sign: str) -> None:
        if self._sign() != sign:
            raise self._refusal(f'{sign!r} is expected')
        self._next()

    def _refusal(self, why: str) -> _Refused:
        start = self._at.start(str(self._at.lastgroup))
        line = self._text.count('\n', 0, start) + 1
        there = self._text[start : start + _SHOWN].partition('\n')[0]
        return _Refused(f'line {line}: {why}, not {there!r}' if there else f'line {line}: {why}, but the text ends')

    def config(self) -> dict[str, Any]:
        """``NAME = VALUE`` until the text ends."""
        values = {}
        while self._at['end'] is None:
            name = self._at['name']
            if not name:
                raise self._refusal('NAME = VALUE is expected')
            self._next()
            self._expect('=')
            values[name] = self._value(0)
        return values

    def _value(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise self._refusal(f'at most {_MAX_DEPTH} levels are expected')
        token, kind = self._at, self._at.lastgroup
        text = token[str(kind)]
        if kind == 'string':
            return self._string()
        self._next()
        if kind == 'number':
            # 1e5, nan and inf are floats without a point.
            return float(text) if re.search('[.en]', text, re.IGNORECASE) else int(text)
        if kind == 'name' and text in _WORDS:
            return _WORDS[text]
        if kind == 'name' and text in ('dict', 'set') and self._sign() == '(':
            self._next()
            return self._keywords(depth) if text == 'dict' else self._empty_set()
        if text == '{':
            return self._braces(depth)
        if text in ('(', '['):
            items, commas = self._items(_CLOSING[text], depth)
            if text == '[':
                return items
            # (1) is a number in brackets, (1,) a tuple.
            return tuple(items) if commas or not items else items[0]
        self._at = token
        raise self._refusal('a literal or dict(...) is expected')

    def _string(self) -> str:
        parts = []
        while self._at['string'] is not None:
            text = self._at['string']
            parts.append(ast.literal_eval(text) if '\\' in text else text[1:-1])
            self._next()
        return ''.join(parts)

    def _items(self, closing: str, depth: int) -> tuple[list[Any], int]:
        """Values up to a bracket, and how many commas there are."""
        items, commas = [], 0
        while self._sign() != closing:
            items.append(self._value(depth + 1))
            if self._sign() != closing:
                self._expect(',')
                commas += 1
        self._next()
        return items, commas

    def _empty_set(self) -> set[Any]:
        self._expect(')')
        return set()

    def _keywords(self, depth: int) -> dict[str, Any]:
        """What stands in ``dict(...)``: keywords, or one literal where a key is no identifier."""
        if self._sign() == '{':
            self._next()
            values = self._braces(depth + 1)
            if not isinstance(values, dict):
                raise self._refusal('dict({...}) of a dict is expected')
            self._expect(')')
            return values
        values = {}
        while self._sign() != ')':
            name = self._at['name']
            if not name:
                raise self._refusal('a keyword is expected')
            self._next()
            self._expect('=')
            values[name] = self._value(depth + 1)
            if self._sign() != ')':
                self._expect(',')
        self._next()
        return values

    def _braces(self, depth: int) -> dict[Any, Any] | set[Any]:
        pairs: dict[Any, Any] = {}
        is_set = False
        while self._sign() != '}':
            token = self._at
            key = self._value(depth + 1)
            try:
                hash(key)
            except TypeError:
                self._at = token
                raise self._refusal('a key is expected') from None
            if not pairs:
                is_set = self._sign() != ':'
            pairs[key] = None
            if not is_set:
                self._expect(':')
                pairs[key] = self._value(depth + 1)
            if self._sign() != '}':
                self._expect(',')
        self._next()
        return set(pairs) if is_set else pairs


def read_dumped(file: Path) -> dict[str, Any]:
    """The values of a config as OpenCompass writes it: literals, and ``dict(...)`` with keywords. Executes nothing.

    Raises:
        DataError: It is missing, or holds anything else; the message names the line.
    """
    try:
        with file.open('rb') as stream:
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise _Refused(f'it is longer than {MAX_BYTES} bytes')
        if b'\0' in content:
            raise _Refused('it holds a NUL, which no Python file does')
        return _Reader(content.decode('utf-8')).config()
    except (OSError, ValueError, SyntaxError, _Refused) as error:
        raise DataError(file, f'the config cannot be read, and is not executed ({error})') from error
