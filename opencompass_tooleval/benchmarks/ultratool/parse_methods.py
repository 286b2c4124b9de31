"""The repairs of the published scorer: each makes another text of one that could not be read.

A repair that does not apply gives ``''``. Which come when is in :data:`ITEM_PARSE_METHODS`, :data:`CALL_PARSE_METHODS`
and, for tool creation, in :mod:`~opencompass_tooleval.benchmarks.ultratool.reading_creation`.
"""

from __future__ import annotations

from collections.abc import Callable

Repair = Callable[[str], str]
ParseMethod = tuple[str, Repair]

Edits = tuple[tuple[str, str], ...]


def as_is(text: str) -> str:
    """``text``."""
    return text


def before_last(mark: str) -> Repair:
    """Puts ``mark`` in front of the last character."""
    return lambda text: text[:-1] + mark + text[-1:]


def drop_before_last(count: int = 1) -> Repair:
    """Removes the ``count`` characters in front of the last one."""
    return lambda text: text[: -1 - count] + text[-1:]


def braces(count: int, better: int) -> Repair:
    """Makes ``better`` closing braces of each ``count``, everywhere."""
    return lambda text: text.replace('}' * count, '}' * better)


def close_behind(mark: str) -> Repair:
    """Cuts behind the last ``mark``, which ends a complete item, and closes the list."""

    def repair(text: str) -> str:
        place = text.rfind(mark)
        return '' if place < 0 else text[: place + len(mark)] + ']'

    return repair


def replace_all(edits: Edits) -> Repair:
    """Makes each edit everywhere, in order."""

    def repair(text: str) -> str:
        for old, new in edits:
            text = text.replace(old, new)
        return text

    return repair


def in_turn(*repairs: Repair) -> Repair:
    """One repair on what the one before made of the text."""

    def repair(text: str) -> str:
        for step in repairs:
            text = text and step(text)
        return text

    return repair


def doubled(*marks: str) -> Edits:
    """Edits that make every single quote of each mark a double one."""
    return tuple((mark, mark.replace("'", '"')) for mark in marks)


QUOTES = doubled("{'", "'}", "', '", '", \'', '\', "', "': '", '\': "', '": \'', "': {")
"""Quotes that tool creation fixes too. A later edit meets what an earlier one has made."""

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

ITEM_PARSE_METHODS: tuple[ParseMethod, ...] = (
    ('as_is', as_is),
    ('brace', before_last('}')),
    ('quote_brace', before_last('"}')),
    ('complete_items', close_behind(COMPLETE_ITEM)),
    ('quotes', fix_item_quotes),
)
"""Awareness and selection."""

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
"""Usage."""
