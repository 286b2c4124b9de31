"""Parses an answer by the rules of the published scorer.

The scorer rewrites the complete text, cuts it to its list, and then tries a list of repairs, each evaluated as Python.
Here each try parses a Python literal. Every parse method has a name, which is stored in the details.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.parse_methods import (
    CALL_PARSE_METHODS,
    COMPLETE_CALL,
    COMPLETE_ITEM,
    ITEM_PARSE_METHODS,
    ParseMethod,
    close_behind,
)
from opencompass_tooleval.benchmarks.ultratool.reading_creation import COMPLETE_TOOL, TOOL_PARSE_METHODS
from opencompass_tooleval.core.text.bounds import MAX_CHARS, TOO_LONG
from opencompass_tooleval.core.text.reading import (
    BUDGET,
    NO_BRACKETS,
    NOT_JSON,
    Parsed,
    bounded,
    cost,
    literal,
    read_first_possible,
    unread,
)

_LITERALS = (('true', 'True'), ('false', 'False'), ('null', '"null"'))
_ITEM_EDITS = (('})', '}'), ('，', ','), ('}, "step', '}, {"step'), ('# ...', ''))
_BLANKS = 12


def normalise(text: str, reading: str) -> str:
    """Rewrites a complete answer, inside values too, as the published scorer does before it parses.

    Args:
        text: The answer.
        reading: ``items`` (awareness), ``names`` (selection), ``calls`` (usage) or ``tools`` (creation).
    """
    text = text.replace('json', '').strip('`').replace('输出：', '').replace('\n', '').replace('\\_', '_')
    edits: tuple[tuple[str, str], ...] = (*_LITERALS, ('})', '}'))
    if reading != 'tools':
        edits = (*_LITERALS, ('None', '"None"'), *_ITEM_EDITS)
    if reading == 'calls':
        edits = (*edits, ('}{', '}, {'))
    # Inside values too: 'nullable' becomes '"null"able', which makes the answer unreadable, as published.
    for old, new in edits:
        text = text.replace(old, new)
    for blanks in range(1, _BLANKS + 1):
        # Not a pattern: '} } }' must become '}} }', since the parse methods below count adjacent braces.
        text = text.replace('}' + ' ' * blanks + '}', '}}')
    return text


_COMPLETE = {'items': COMPLETE_ITEM, 'names': COMPLETE_ITEM, 'calls': COMPLETE_CALL, 'tools': COMPLETE_TOOL}
"""Text that ends a complete item."""


def _last_list(text: str) -> str:
    """Returns the last ``[{ ... }]`` (each as short as possible), or else everything up to the first ``]``.

    It equals ``re.findall(r'\\[\\{.*?\\}\\]', text)[-1]``, in linear time.
    """
    last_match, start = '', text.find('[{')
    while start >= 0:
        end = text.find('}]', start + 2)
        if end < 0:
            break
        last_match, start = text[start : end + 2], text.find('[{', end + 2)
    return last_match or text[: text.find(']') + 1]


def cut(text: str, reading: str, list_choice: str) -> str:
    """Cuts a normalised answer to its list; a text without ``[`` is only cut after its last ``]``."""
    start = text.find('[')
    if start > 0:
        text = text[start:]
    if ']' in text:
        text = text[: text.rfind(']') + 1]
    elif start >= 0:
        text = close_behind(_COMPLETE[reading])(text) or text + ']'
    return _last_list(text) if list_choice == 'last' and text.count(']') > 1 else text


_BUDGETS = {'tools': 300_000}
"""Maximum cost of all tries, for readings with many parse methods."""

PARSE_METHODS: dict[str, tuple[ParseMethod, ...]] = {
    'items': ITEM_PARSE_METHODS,
    'names': ITEM_PARSE_METHODS,
    'calls': CALL_PARSE_METHODS,
    'tools': TOOL_PARSE_METHODS,
}


def _awareness_items(value: Any) -> Any:
    """Returns the items of a list; a tuple (``{...}, {...}``) or a single object has no items."""
    return value if isinstance(value, list) else []


def _selection_items(value: Any) -> Any:
    """Returns the first of ``[..], [..]``, then the only element of ``[[..]]``; ``[[..], [..]]`` has no items."""
    if isinstance(value, tuple):
        value = value[0] if value else []
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    return value


def _usage_items(value: Any) -> Any:
    """Returns the first of ``[[..], [..]]``; accepts ``{...}, {...}``; ``[..], [..]`` has no items."""
    return value[0] if isinstance(value, list) and value and isinstance(value[0], list) else value


def _creation_items(value: Any) -> Any:
    """Returns the items of a list or a tuple; ``...`` has no items."""
    return [] if value is Ellipsis else value


_ITEMS: dict[str, Callable[[Any], Any]] = {
    'items': _awareness_items,
    'names': _selection_items,
    'calls': _usage_items,
    'tools': _creation_items,
}


def _items(parsed: Parsed, reading: str) -> Parsed:
    """Returns the items of a value.

    A value without items, such as a single object, still counts as JSON. A value that stops the published scorer, such
    as a number, does not.
    """
    if not parsed.ok:
        return parsed
    value = _ITEMS[reading](parsed.value)
    if isinstance(value, (list, tuple)):
        return Parsed(list(value), parsed.parse_method)
    if isinstance(value, (dict, set, str, bytes)):
        return Parsed([], parsed.parse_method)
    return unread('parse:not_a_list')


def read_official(answer: Any, reading: str, list_choice: str = 'last') -> Parsed:
    """Parses an answer as the published scorer does.

    Args:
        answer: The answer's text; a list is used unchanged.
        reading: ``items``, ``names``, ``calls`` or ``tools``.
        list_choice: ``last`` or ``span``, see :class:`~opencompass_tooleval.benchmarks.ultratool.protocol.Protocol`.

    Returns:
        The list of items and the parse method, or the reason why there is no list.
    """
    if not isinstance(answer, str):
        return _items(bounded(answer, 'value'), reading)
    if len(answer) > MAX_CHARS:
        return unread(TOO_LONG)
    text = cut(normalise(answer, reading), reading, list_choice)

    def tries() -> Iterator[tuple[str, Callable[[], Any], int]]:
        tried = {''}
        for parse_method, repair in PARSE_METHODS[reading]:
            repaired = repair(text)
            if repaired not in tried:
                tried.add(repaired)
                yield parse_method, partial(literal, repaired), cost(repaired)

    parsed = read_first_possible(tries(), _BUDGETS.get(reading, BUDGET))
    if parsed.reason == NOT_JSON and '[' not in answer:
        return unread(NO_BRACKETS)
    return _items(parsed, reading)
