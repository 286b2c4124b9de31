"""Parses the tool annotation of a plan's step: ``null``, ``No tool required``, or a call ``name(arg='value', ...)``.

Calls are written by hand and by GPT-4 (UltraTool, section 2.3), not by a serializer: values contain commas, quotes and
equals signs without escapes, so no grammar can parse them. But the borders of an argument are known: a name from the
tool's properties, an equals sign after it, and a closed value before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

PARENT = 'null'
NO_TOOL = frozenset({'No tool required', '不需要工具'})

_CLOSERS = {"'": "'", '"': '"', '“': '”', '‘': '’', '[': ']', '{': '}', '(': ')', '<': '>'}
_QUOTES = frozenset('\'"“‘')
_CALL = re.compile(r'\s*([^\s(（]+)\s*[(（](.*)[)）]\s*', re.DOTALL)
_NAME = r'[^\W\d][\w.\-]*'
_VALUE_START = re.compile(r'\s*(?:[\'"“‘\[{<\-\d]|true|false|null|None)', re.IGNORECASE)


class CallError(ValueError):
    """The annotation is not a call."""


@dataclass(frozen=True)
class Argument:
    """One argument of a call.

    Attributes:
        name: Name, without the quotes that some annotations put around it.
        raw: The text after the equals sign in the plan.
    """

    name: str
    raw: str

    @property
    def value(self) -> str:
        """The text without its quotes; a list, a number or a ``<value of an earlier step>`` is unchanged."""
        text = self.raw
        return text[1:-1] if text[:1] in _QUOTES and _is_closed(text) else text


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    tool: str
    arguments: tuple[Argument, ...]


def is_parent(annotation: str | None) -> bool:
    """Tests if the step only groups other steps; the files write ``null`` as a JSON null or as text."""
    return annotation is None or annotation.strip() == PARENT


def needs_no_tool(annotation: str) -> bool:
    """Tests if the step needs no tool."""
    return annotation.strip() in NO_TOOL


def call_name(annotation: str) -> str:
    """Returns the tool that ``name(...)`` calls.

    Raises:
        CallError: The text is not a call.
    """
    match = _CALL.fullmatch(annotation)
    if match is None:
        raise CallError(f'{annotation!r} is neither null, nor No tool required, nor a call name(...)')
    return match.group(1)


def parse_call(annotation: str, properties: Collection[str]) -> Call:
    """Parses a call.

    Args:
        annotation: ``name(arg='value', ...)``.
        properties: Argument names of the tool. Other names are accepted only before text that looks like a value.

    Raises:
        CallError: The annotation is not a call, or a part between the brackets has no name.
    """
    name = call_name(annotation)
    match = _CALL.fullmatch(annotation)
    body = match.group(2) if match else ''
    borders = list(_borders(body, properties))
    if body.strip() and (not borders or body[: borders[0].start()].strip()):
        raise CallError(f'{annotation!r} has a value without a name')
    if not borders:
        return Call(name, ())
    ends = [*(border.start() for border in borders[1:]), len(body)]
    values = [body[border.end() : end].strip() for border, end in zip(borders, ends, strict=True)]
    arguments = tuple(Argument(border['name'], value) for border, value in zip(borders, values, strict=True))
    return Call(name, arguments)


def published_value(argument: Argument) -> str:
    """Returns the value in the authors' tool_usage file for :attr:`Argument.value`.

    The text is cut at its first comma; if it then starts with a single quote, its first and last characters are
    removed, even if the cut removed the closing quote. This gives all 6,809 values of the published file, in both
    languages. Double quotes stay, as does the rest of a list.
    """
    text = argument.raw.split(',')[0]
    return text[1:-1] if text.startswith("'") else text


def _is_closed(text: str) -> bool:
    """Tests if a value that begins with a quote or bracket ends with its partner; other values are always closed."""
    closer = _CLOSERS.get(text[:1])
    # A lone quote is its own first and last character.
    return closer is None or (len(text) > 1 and text.endswith(closer))


def _borders(body: str, properties: Collection[str]) -> Iterator[re.Match[str]]:
    """Yields the places ``, name=`` at which an argument starts; ``content='a, title=b'`` has only one.

    A repeated name starts no argument: in ``f(a='x', b='y', a='z')``, ``b`` is ``'y', a='z'``, since a value that
    quotes a call is more likely than a call with a repeated argument.
    """
    documented = '|'.join(re.escape(name) for name in sorted(properties, key=len, reverse=True))
    names = f'{documented}|{_NAME}' if documented else _NAME
    # 'a == b' after a comma is a comparison, not the name of an argument.
    pattern = re.compile(rf'(?:^|[,，、;；])\s*(?P<quote>[\'"]?)(?P<name>{names})(?P=quote)\s*=(?!=)')
    previous: re.Match[str] | None = None
    seen: set[str] = set()
    position = 0
    while match := pattern.search(body, position):
        position = match.start() + 1
        if match['name'] in seen:
            continue
        if match['name'] not in properties and not _VALUE_START.match(body, match.end()):
            continue
        if previous is not None:
            value = body[previous.end() : match.start()].strip()
            if not value or not _is_closed(value):
                continue
        seen.add(match['name'])
        previous, position = match, match.end()
        yield match
