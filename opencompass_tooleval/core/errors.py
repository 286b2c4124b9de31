"""Errors that say what is wrong, where, and what mends it."""

from __future__ import annotations


class DataError(ValueError):
    """A data file is not what it should be.

    Args:
        file: Its path.
        what: What is wrong.
        record: Id of the record, if one is to blame.
        cure: The command that mends it.
    """

    def __init__(self, file: object, what: str, record: str | None = None, cure: str = '') -> None:
        where = f'{file}: record {record!r}' if record is not None else str(file)
        super().__init__(f'{where}: {what}' + (f'. Mend it with: {cure}' if cure else ''))
