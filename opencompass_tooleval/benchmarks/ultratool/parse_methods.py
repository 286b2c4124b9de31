"""Repairs of the published scorer: each converts an unreadable text to another.

A repair that does not apply returns ``''``. :data:`ITEM_PARSE_METHODS`, :data:`CALL_PARSE_METHODS` and
:mod:`~opencompass_tooleval.benchmarks.ultratool.reading_creation` (tool creation) list them in order.
"""

from __future__ import annotations

from collections.abc import Callable

Repair = Callable[[str], str]
ParseMethod = tuple[str, Repair]

Edits = tuple[tuple[str, str], ...]


def as_is(text: str) -> str:
    """Returns ``text`` unchanged."""
    return text


def before_last(mark: str) -> Repair:
    """Inserts ``mark`` before the last character."""
    return lambda text: text[:-1] + mark + text[-1:]


def drop_before_last(count: int = 1) -> Repair:
    """Removes the ``count`` characters before the last one."""
    return lambda text: text[: -1 - count] + text[-1:]


def braces(count: int, better: int) -> Repair:
    """Replaces each ``count`` closing braces by ``better``."""
    return lambda text: text.replace('}' * count, '}' * better)


def close_behind(mark: str) -> Repair:
    """Cuts before the comma of the last ``mark``, which ends a complete item, and closes the list.

    The comma must go: ``[{...}},]`` with a brace too many becomes ``[{...}}]``, which the next repairs, editing the
    last characters, can parse.
    """

    def repair(text: str) -> str:
        position = text.rfind(mark)
        return '' if position < 0 else text[: position + len(mark) - 1] + ']'

    return repair


def replace_all(edits: Edits) -> Repair:
    """Makes all edits everywhere, in order."""

    def repair(text: str) -> str:
        for old, new in edits:
            text = text.replace(old, new)
        return text

    return repair


def in_turn(*repairs: Repair) -> Repair:
    """Applies repairs one after the other."""

    def repair(text: str) -> str:
        for step in repairs:
            text = text and step(text)
        return text

    return repair


def doubled(*marks: str) -> Edits:
    """Returns edits that replace every single quote of each mark by a double one."""
    return tuple((mark, mark.replace("'", '"')) for mark in marks)


QUOTES = doubled("{'", "'}", "', '", '", \'', '\', "', "': '", '\': "', '": \'', "': {")
"""Quotes that tool creation also fixes. Each edit is applied to the result of earlier edits."""

_QUOTES_AT_BRACKETS = (*QUOTES, ("['", '['), ("']", ']'), (", '", ', "'), ("'),", ')",'))

fix_item_quotes = replace_all((*_QUOTES_AT_BRACKETS, ('""None""', '"None"'), ('"{step', '{"step'), ("')}", ')"}')))
fix_call_quotes = replace_all(
    (
        *_QUOTES_AT_BRACKETS,
        ("': ", '": '),
        ("', {", '", {'),
        ("')}", ')"}'),
        ('}}," {', '}}, {'),
        ('""None""', '"None"'),
    )
)

COMPLETE_ITEM, COMPLETE_CALL = '},', '}},'
"""Text that ends a complete item, with the comma after it."""

ITEM_PARSE_METHODS: tuple[ParseMethod, ...] = (
    ('as_is', as_is),
    ('brace', before_last('}')),
    ('quote_brace', before_last('"}')),
    ('complete_items', close_behind(COMPLETE_ITEM)),
    ('quotes', fix_item_quotes),
)
"""Parse methods of awareness and selection."""

CALL_PARSE_METHODS: tuple[ParseMethod, ...] = (
    ('as_is', as_is),
    ('brace', before_last('}')),
    ('two_braces', before_last('}}')),
    ('brace_per_step', replace_all((('"}, {"step', '"}}, {"step'),))),
    ('quote_brace', before_last('"}')),
    ('bracket_braces', before_last(']}}')),
    ('drop_one', drop_before_last()),
    ('drop_two', drop_before_last(2)),
    ('three_to_two', braces(3, 2)),
    ('complete_items', close_behind(COMPLETE_CALL)),
    ('quotes', fix_call_quotes),
    ('quotes_three_to_two', in_turn(fix_call_quotes, braces(3, 2))),
    ('quotes_bracket_braces', in_turn(fix_call_quotes, before_last(']}}'))),
)
"""Parse methods of usage."""
