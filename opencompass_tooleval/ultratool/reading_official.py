"""Reads an answer by the rules of the published scorer.

It rewrites the whole text and then tries a ladder of repairs, each read as a Python expression. Here a try reads a
Python literal. Every rung has a name, which details record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from opencompass_tooleval.core.answer import MAX_CHARS
from opencompass_tooleval.core.parse import Parsed
from opencompass_tooleval.ultratool.reading_tries import bounded, climb, cost, literal

Rung = tuple[str, Callable[[str], str]]

_LITERALS = (('true', 'True'), ('false', 'False'), ('null', '"null"'))
_ITEM_EDITS = (('})', '}'), ('，', ','), ('}, "step', '}, {"step'), ('# ...', ''))
_BLANKS = 12


def normalise(text: str, reading: str) -> str:
    """Rewrites the whole of an answer, inside values too, as the published scorer does before it reads anything.

    Args:
        text: The answer.
        reading: ``items`` (awareness, selection), ``calls`` (usage) or ``tools`` (creation).
    """
    text = text.replace('json', '').strip('`').replace('输出：', '').replace('\n', '').replace('\\_', '_')
    edits: tuple[tuple[str, str], ...] = (*_LITERALS, ('})', '}'))
    if reading != 'tools':
        edits = (*_LITERALS, ('None', '"None"'), *_ITEM_EDITS)
    if reading == 'calls':
        edits = (*edits, ('}{', '}, {'))
    for old, new in edits:
        text = text.replace(old, new)
    for blanks in range(1, _BLANKS + 1):
        text = text.replace('}' + ' ' * blanks + '}', '}}')
    return text


_COMPLETE = {'items': '},', 'calls': '}},', 'tools': '}}}},'}
"""What ends a complete item."""


def _upto_last(text: str, mark: str) -> str:
    """``text`` up to and with the last ``mark``, closed; ``''`` without one."""
    place = text.rfind(mark)
    return '' if place < 0 else text[: place + len(mark)] + ']'


def _last_list(text: str) -> str:
    """The last ``[{ ... }]`` (each as short as can be), or everything up to the first ``]``.

    What ``re.findall(r'\\[\\{.*?\\}\\]', text)[-1]`` finds, in linear time.
    """
    found, start = '', text.find('[{')
    while start >= 0:
        end = text.find('}]', start + 2)
        if end < 0:
            break
        found, start = text[start : end + 2], text.find('[{', end + 2)
    return found or text[: text.find(']') + 1]


def cut(text: str, reading: str, lists: str) -> str:
    """Cuts a normalised answer to its list."""
    start = text.find('[')
    if start > 0:
        text = text[start:]
    if not text.endswith(']'):
        if ']' in text:
            text = text[: text.rfind(']') + 1]
        else:
            text = ('[' in text and _upto_last(text, _COMPLETE[reading])) or text + ']'
    return _last_list(text) if lists == 'last' and text.count(']') > 1 else text


_MENDED = tuple(
    (single, single.replace("'", '"'))
    for single in ("{'", "'}", "['", "']", "', ", ", '", "',", ",'", "':", ": '", ":'")
)


def mend_quotes(text: str) -> str:
    """Turns single quotes next to ``{ } [ ] , :`` into double ones."""
    for single, double in _MENDED:
        text = text.replace(single, double)
    return text.replace('""None""', '"None"')


def _before_end(mark: str) -> Callable[[str], str]:
    return lambda text: text[:-1] + mark + text[-1:]


def _cut_complete(reading: str) -> Callable[[str], str]:
    return lambda text: _upto_last(text, _COMPLETE[reading])


def _three_to_two(text: str) -> str:
    return text.replace('}}}', '}}')


_TOKEN = re.compile(r'"(?:[^"\\]|\\.|\\\Z)*(?:"|\Z)|\'(?:[^\'\\]|\\.|\\\Z)*(?:\'|\Z)|[\[\]{},]', re.DOTALL)
_CLOSER = {'[': ']', '{': '}'}


class _Balancer:
    """Writes ``text`` again with every bracket closed, and closed once."""

    def __init__(self, text: str, first: bool) -> None:
        self.text = text
        self.last_item = -1 if first else text.rfind('{')
        self.out: list[str] = []
        self.open: list[str] = []
        self.done = 0

    def close_until(self, depth: int) -> None:
        while len(self.open) > depth:
            self.out.append(_CLOSER[self.open.pop()])

    def closer(self, mark: str) -> None:
        opener = '[' if mark == ']' else '{'
        if opener == '[' and '[' not in self.open[1:] and self.open[:1] == ['[']:
            self.close_until(1 if self.done <= self.last_item else 0)
        elif self.open[-1:] == [opener]:
            self.close_until(len(self.open) - 1)
        elif len(self.open) > 1 and opener in self.open[1:]:
            self.close_until(len(self.open) - 1 - self.open[::-1].index(opener))
        # else: nothing is open that it closes

    def opener(self, mark: str) -> None:
        if mark == '{' and self.open[-1:] == ['{'] and self.out and self.out[-1].rstrip() == ',':
            self.out.pop()  # an object cannot follow a comma inside an object: the item before it was left open
            self.close_until(1)
            self.out.append(', ')
        self.open.append(mark)
        self.out.append(mark)

    def run(self) -> str:
        for token in _TOKEN.finditer(self.text):
            between = self.text[self.done : token.start()]
            if between.strip():
                self.out.append(between)
            self.done = token.end()
            mark = token.group()
            if mark in _CLOSER:
                self.opener(mark)
            elif mark in ']}':
                self.closer(mark)
                if not self.open:
                    break
            else:
                self.out.append(mark)
        self.close_until(0)
        return ''.join(self.out)


def balance(text: str, first: bool = False) -> str:
    """Closes what is left open and drops closers that close nothing.

    Args:
        text: A cut answer.
        first: Whether the list ends where its bracket is closed; else a ``]`` before the last item is dropped too.
    """
    return _Balancer(text, first).run()


def _as_is(text: str) -> str:
    return text


_ITEMS: tuple[Rung, ...] = (
    ('as_is', _as_is),
    ('brace', _before_end('}')),
    ('quote_brace', _before_end('"}')),
    ('complete_items', _cut_complete('items')),
    ('quotes', mend_quotes),
)
_CALLS: tuple[Rung, ...] = (
    ('as_is', _as_is),
    ('brace', _before_end('}')),
    ('two_braces', _before_end('}}')),
    ('brace_per_step', lambda text: text.replace('"}, {"step', '"}}, {"step')),
    ('quote_brace', _before_end('"}')),
    ('bracket_braces', _before_end(']}}')),
    ('drop_one', lambda text: text[:-2] + text[-1:]),
    ('drop_two', lambda text: text[:-3] + text[-1:]),
    ('three_to_two', _three_to_two),
    ('complete_items', _cut_complete('calls')),
    ('quotes', mend_quotes),
    ('quotes_three_to_two', lambda text: _three_to_two(mend_quotes(text))),
    ('quotes_bracket_braces', lambda text: _before_end(']}}')(mend_quotes(text))),
)
_TOOLS: tuple[Rung, ...] = (
    ('as_is', _as_is),
    ('balanced', balance),
    ('first_list', lambda text: balance(text, first=True)),
    ('complete_items', _cut_complete('tools')),
    ('quotes', mend_quotes),
    ('quotes_balanced', lambda text: balance(mend_quotes(text))),
)
LADDERS = {'items': _ITEMS, 'calls': _CALLS, 'tools': _TOOLS}


def _unwrapped(parsed: Parsed) -> Parsed:
    """The list of items: the inner one of a list in a list, or of a tuple of lists."""
    value = parsed.value
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], list):
        value = value[0]
    if not parsed.ok or isinstance(value, list):
        return Parsed(value, parsed.rung, parsed.reason)
    return Parsed(list(value), parsed.rung) if isinstance(value, tuple) else Parsed(None, 'none', 'parse:not_a_list')


def read_official(answer: Any, reading: str, lists: str = 'last') -> Parsed:
    """Reads an answer as the published scorer does.

    Args:
        answer: Its text; a list is taken as it is.
        reading: ``items``, ``calls`` or ``tools``.
        lists: ``last`` or ``span``, see :class:`~opencompass_tooleval.ultratool.protocol.Protocol`.

    Returns:
        The list of items and the rung, or why there is none.
    """
    if not isinstance(answer, str):
        return _unwrapped(bounded(answer, 'value'))
    if len(answer) > MAX_CHARS:
        return Parsed(None, 'none', 'parse:too_long')
    if '[' not in answer:
        return Parsed(None, 'none', 'parse:no_list')
    text = cut(normalise(answer, reading), reading, lists)

    def tries() -> Iterator[tuple[str, Callable[[], Any], int]]:
        for rung, repair in LADDERS[reading]:
            repaired = repair(text)
            yield rung, partial(literal, repaired), cost(repaired)

    return _unwrapped(climb(tries()))
