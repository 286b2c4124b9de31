"""Text of an answer -> list of items, by the rules of the published scorer or by strict ones.

The published scorer rewrites the whole text and then tries a ladder of repairs, each read as a Python expression. Here
a try reads a Python literal: nothing is evaluated. Every rung has a name, which details record.

Cost is bounded: a try is paid for by the characters and the commas and brackets in it, about a third of a microsecond
per unit, and no more is tried once :data:`BUDGET` is spent. The longest published answer costs a tenth of it.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import json_repair

from opencompass_tooleval.core.answer import MAX_CHARS, unfence
from opencompass_tooleval.core.parse import Parsed
from opencompass_tooleval.core.parse import _beyond_bounds as beyond_bounds
from opencompass_tooleval.ultratool.protocol import Protocol

BUDGET = 100_000
REPAIR_BUDGET = 15_000
MAX_REPAIR_CHARS = 8_000
MAX_LISTS = 32

_ERRORS = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)

Rung = tuple[str, Callable[[str], str]]

# ---- normalise -------------------------------------------------------------------------------------------------------

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


# ---- cut -------------------------------------------------------------------------------------------------------------

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


# ---- repairs ---------------------------------------------------------------------------------------------------------

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
_LADDERS = {'items': _ITEMS, 'calls': _CALLS, 'tools': _TOOLS}


# ---- tries -----------------------------------------------------------------------------------------------------------


def _cost(text: str) -> int:
    return len(text) + 16 * sum(text.count(mark) for mark in ',[{(')


def _literal(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # '\d' in an answer is no concern of the user's terminal
        return ast.literal_eval(text)


def _bounded(value: Any, rung: str) -> Parsed:
    excess = beyond_bounds(value)
    return Parsed(None, 'none', excess) if excess else Parsed(value, rung)


def _climb(tries: Iterable[tuple[str, Callable[[], Any], str]]) -> Parsed:
    """The first try that succeeds. A try is its name, what reads it, and the text that it costs."""
    spent = 0
    for rung, read, text in tries:
        spent += _cost(text)
        if spent > BUDGET:
            return Parsed(None, 'none', 'parse:too_long')
        try:
            return _bounded(read(), rung)
        except _ERRORS:
            continue
    return Parsed(None, 'none', 'parse:not_json')


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
        return _unwrapped(_bounded(answer, 'value'))
    if len(answer) > MAX_CHARS:
        return Parsed(None, 'none', 'parse:too_long')
    if '[' not in answer:
        return Parsed(None, 'none', 'parse:no_list')
    text = cut(normalise(answer, reading), reading, lists)

    def tries() -> Iterator[tuple[str, Callable[[], Any], str]]:
        for rung, repair in _LADDERS[reading]:
            repaired = repair(text)
            yield rung, partial(_literal, repaired), repaired

    return _unwrapped(_climb(tries()))


# ---- strict ----------------------------------------------------------------------------------------------------------


class _Spent(Exception):
    """Repairing took too long."""


class _Metered(str):
    """Text that may be looked at a limited number of times.

    json_repair looks at its text character by character, and on ``]{]{]{...`` more often than the square of its length:
    8,000 such characters take seconds.
    """

    left: list[int]

    def __new__(cls, text: str, left: list[int]) -> _Metered:
        metered = super().__new__(cls, text)
        metered.left = left
        return metered

    def __getitem__(self, key: Any) -> str:
        value = super().__getitem__(key)
        self.left[0] -= 1 + len(value) // 50
        if self.left[0] < 0:
            raise _Spent
        return _Metered(value, self.left) if isinstance(key, slice) else value

    def __add__(self, other: str) -> str:
        return _Metered(super().__add__(other), self.left)


def _repaired(text: str) -> Any:
    if len(text) > MAX_REPAIR_CHARS or not ('[' in text or '{' in text):
        raise ValueError(text[:20])
    try:
        return json_repair.loads(_Metered(text, [REPAIR_BUDGET]), skip_json_loads=True)
    except Exception as error:  # a library that promises to read anything, on text that may be anything
        raise ValueError(str(error)) from error


def _last_of_lists(text: str) -> Any:
    """The last JSON list of objects in prose, however many brackets the prose has."""
    decoder, found = json.JSONDecoder(), None
    place = text.find('[')
    for _ in range(MAX_LISTS):
        if place < 0:
            break
        try:
            value, end = decoder.raw_decode(text, place)
        except _ERRORS:
            end = place + 1
        else:
            found = value if isinstance(value[0] if value else None, dict) else found
        place = text.find('[', end)
    if found is None:
        raise ValueError('no list')
    return found


def _json_or_literal(text: str) -> Any:
    try:
        return json.loads(text)
    except _ERRORS:
        return _literal(text)


def read_strict(answer: Any) -> Parsed:
    """Reads an answer without ever altering a value.

    Rungs: ``json`` and ``literal`` (the whole answer), ``fence`` (the inside of the first fenced block), ``prose``
    (from the first bracket to the last, or the last JSON list of objects in between), ``repaired`` (by json_repair).

    Args:
        answer: Its text; a list is taken as it is.

    Returns:
        The list of items and the rung, or why there is none.
    """
    if not isinstance(answer, str):
        return _as_list(_bounded(answer, 'value'))
    if len(answer) > MAX_CHARS:
        return Parsed(None, 'none', 'parse:too_long')
    text = answer.strip()
    inside = unfence(text).strip()
    span = inside[max(0, inside.find('[')) : inside.rfind(']') + 1]
    broken = inside[max(0, inside.find('[')) :]
    tries: tuple[tuple[str, Callable[[], Any], str], ...] = (
        ('json', lambda: json.loads(text), ''),
        ('literal', lambda: _literal(text), text),
        ('fence', lambda: _json_or_literal(inside), inside if inside is not text else ''),
        ('prose', lambda: _json_or_literal(span), span),
        ('prose', lambda: _last_of_lists(inside), ''),
        ('repaired', lambda: _repaired(broken), ''),
    )
    parsed = _climb(tries)
    if parsed.reason == 'parse:not_json' and '[' not in text:
        return Parsed(None, 'none', 'parse:no_list')
    return _as_list(parsed)


def _as_list(parsed: Parsed) -> Parsed:
    if not parsed.ok or isinstance(parsed.value, list):
        return parsed
    return Parsed(None, 'none', 'parse:not_a_list')


# ---- doors -----------------------------------------------------------------------------------------------------------

_MARKS = ('<|im_start|>', '<|im_end|>', '<|im_start|', '<|im_end|')


def read_plan(answer: Any) -> Parsed:
    """Cuts a plan to what the judge is shown: from its first ``1. `` on, without a closing remark.

    Rungs: ``text`` (it begins with ``1. ``, or has none), ``cut``.
    """
    if not isinstance(answer, str):
        return Parsed(None, 'none', 'parse:not_text')
    if len(answer) > MAX_CHARS:
        return Parsed(None, 'none', 'parse:too_long')
    for mark in _MARKS:
        answer = answer.replace(mark, '')
    place = answer.find('1. ')
    if place <= 0:
        return Parsed(answer, 'text')
    plan, blank, last = answer[place:].rpartition('\n\n')
    if blank and not last[:1].isdigit():
        return Parsed(plan, 'cut')
    return Parsed(answer[place:], 'cut')


def read(answer: Any, reading: str, protocol: Protocol) -> Parsed:
    """Reads an answer; never raises, whatever it holds.

    Args:
        answer: Its text, or a list that has been read already.
        reading: ``plan``, ``items``, ``calls`` or ``tools``.
        protocol: The rules.
    """
    if reading == 'plan':
        return read_plan(answer)
    return read_strict(answer) if protocol.strict else read_official(answer, reading, protocol.lists)


def is_json(answer: Any) -> bool:
    """Whether an answer is a JSON list as it stands, blanks and one fence around it aside."""
    if not isinstance(answer, str) or len(answer) > MAX_CHARS:
        return isinstance(answer, list)
    text = answer.strip()
    try:
        return isinstance(json.loads(unfence(text) if text.startswith('```') else text), list)
    except _ERRORS:
        return False
