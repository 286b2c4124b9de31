"""Errors that say what is wrong, where, and what fixes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

MAX_MESSAGE = 900
"""No message is longer: file and record stand at its beginning, the command that fixes it at its end."""


def shorten(message: str, most: int = MAX_MESSAGE) -> str:
    """Cuts a message to at most ``most`` characters, in the middle."""
    if len(message) <= most:
        return message
    tail = (most - 3) // 3
    return f'{message[: most - 3 - tail]} … {message[-tail:]}'


MAX_NAMED = 50
"""Names of tools that a message has; it counts them all."""


def first_of(names: Sequence[str], most: int = MAX_NAMED) -> str:
    """Names in a message: so many, and how many more there are."""
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return ', '.join(names[:most]) + more


_MOST, _MOST_OF_RECORD, _MOST_OF_FAULT, _LEAST_OF_FAULT, _MOST_OF_FIX = 450, 80, 300, 240, 640


class DataError(ValueError):
    """A data file is not what it should be. What is long in the message is cut in the middle.

    Args:
        file: Its path.
        what: What is wrong.
        record: Id of the record, if one is to blame.
        fix: The command that fixes it.
    """

    def __init__(self, file: object, what: str, record: str | None = None, fix: str = '') -> None:
        where = str(file) if record is None else f'{file}: record {shorten(repr(record), _MOST_OF_RECORD)}'
        fault = f'{where}: {shorten(what, _MOST_OF_FAULT)}'
        ending = f'. Fix it with: {shorten(fix, _MOST_OF_FIX)}' if fix else ''
        room = max(_MOST - len(ending), _LEAST_OF_FAULT)  # half a command fixes nothing
        super().__init__(shorten(fault, room) + ending)


class Fault(ValueError):
    """What is wrong with a record, said where neither file nor record is known; :func:`naming_record` adds them."""


@contextmanager
def naming_record(file: object, record: str, fix: str = '') -> Iterator[None]:
    """Turns a :class:`Fault` into a :class:`DataError` of this record."""
    try:
        yield
    except Fault as fault:
        raise DataError(file, str(fault), record, fix) from fault
