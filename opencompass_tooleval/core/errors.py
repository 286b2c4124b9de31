"""Errors with messages that name the fault, its place and its fix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from opencompass_tooleval.core.text.jsonable import printable

MAX_MESSAGE = 900
"""Maximum number of characters in a message, which begins with file and record and ends with the fix."""


def shorten(message: str, most: int = MAX_MESSAGE) -> str:
    """Cuts a message to at most ``most`` characters, in the middle."""
    if len(message) <= most:
        return message
    tail = (most - 3) // 3
    return f'{message[: most - 3 - tail]} … {message[-tail:]}'


MAX_NAMED = 50
"""Maximum number of names in a message; the others are only counted."""


def first_of(names: Sequence[str], most: int = MAX_NAMED) -> str:
    """Formats the first ``most`` names for a message, with the number of the others."""
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return ', '.join(names[:most]) + more


_MOST, _MOST_OF_RECORD, _MOST_OF_FAULT, _LEAST_OF_FAULT, _MOST_OF_FIX = 450, 80, 300, 240, 640


class DataError(ValueError):
    """Raised if a data file is missing or damaged. Long parts of the message are cut in the middle.

    Args:
        file: The path of the file.
        what: The fault.
        record: Id of the record with the fault, if known.
        fix: The command that fixes the fault.
    """

    def __init__(self, file: object, what: str, record: str | None = None, fix: str = '') -> None:
        where = str(file) if record is None else f'{file}: record {shorten(repr(record), _MOST_OF_RECORD)}'
        fault = f'{where}: {shorten(" ".join(what.splitlines()), _MOST_OF_FAULT)}'
        ending = f'. Fix it with: {shorten(fix, _MOST_OF_FIX)}' if fix else ''
        length = max(_MOST - len(ending), _LEAST_OF_FAULT)  # a cut command would be useless
        super().__init__(printable(shorten(fault, length) + ending))


class Fault(ValueError):
    """Raised for a fault in a record by code that does not know file and record; :func:`naming_record` adds them."""


@contextmanager
def naming_record(file: object, record: str, fix: str = '') -> Iterator[None]:
    """Converts a :class:`Fault` in the block to a :class:`DataError` of this record."""
    try:
        yield
    except Fault as fault:
        raise DataError(file, str(fault), record, fix) from fault


_OF_DATES, _OF_NAMES = (9, 10), (62, 63, 64)
"""OpenSSL's codes (``X509_V_ERR_``) for certificates that are not valid now, and for certificates of another host."""


def certificate_fault(error: BaseException | None) -> str:
    """Describes the fault of a server's certificate and its fix; ``''`` if the error has another cause.

    Args:
        error: An error of an HTTP client, caused by an error of :mod:`ssl`.
    """
    while error is not None and not hasattr(error, 'verify_code'):
        error = error.__cause__ or error.__context__
    if error is None:
        return ''
    code, fix = error.verify_code, 'name its authority in $SSL_CERT_FILE'
    if code in _OF_DATES:
        fix = "it has to be renewed, or this machine's clock is wrong"
    elif code in _OF_NAMES:
        fix = 'write the host that it is made for in the URL'
    return f'certificate verify failed: {str(error.verify_message).rstrip(".")}; {fix}'  # type: ignore[attr-defined]
