"""Answers on disk as they come, so that a killed run asks nothing twice."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import shorten
from opencompass_tooleval.core.json_object import load_json
from opencompass_tooleval.sweep.whole_file import naming, write_whole

logger = logging.getLogger(__name__)

Row = dict[str, Any]

_MOST_OF_FAULT = 200

MODEL, REASON = 'model', 'reason'
"""Of a row of a dialogue: who gave the answer, if it is not the model under test; and why it is none, if it is none."""


class Journal:
    """One ASCII JSON line per answer: ``{"idx": 3, "time": 1763726400.5, "record_id": ..., "prediction": ...}``.

    OpenCompass's own cannot be read back once a line is cut, or holds U+2028, and cannot hold a lone surrogate.

    Args:
        path: The file; made on the first :meth:`append`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def restore(self) -> dict[int, Row]:
        """Returns the rows by index, and cuts a half-written last line off the file."""
        if not self.path.exists():
            return {}
        whole, newline, half = self.path.read_bytes().rpartition(b'\n')
        if half:
            logger.warning('%s: dropping a half-written last line', self.path)
            # Otherwise the next row would be written behind the half one, on its line, and both would be lost.
            os.truncate(self.path, len(whole) + len(newline))
        rows = {row.pop('idx'): row for row in self.rows()}
        for row in rows.values():
            row.pop('time', None)
        return rows

    def rows(self) -> Iterator[Row]:
        """Yields the whole rows, ``idx`` included, and leaves the file alone: another process may be writing it."""
        whole = self.path.read_bytes().rpartition(b'\n')[0]
        for number, line in enumerate(whole.split(b'\n'), start=1):
            if not line:
                continue
            try:
                yield _checked(load_json(line, bounded=True))
            except ValueError as error:
                why = shorten(str(error), _MOST_OF_FAULT)
                logger.warning('%s: line %d cannot be read (%s); its sample is asked again', self.path, number, why)

    def append(self, rows: Mapping[int, Row]) -> None:
        """Writes ``rows`` and returns once they are on disk."""
        now = round(time.time(), 3)
        lines = ''.join(json.dumps({'idx': index, 'time': now, **row}) + '\n' for index, row in rows.items())
        with naming(self.path), self.path.open('a', encoding='ascii') as stream:
            stream.write(lines)
            stream.flush()
            os.fsync(stream.fileno())

    def remove(self) -> None:
        """Deletes the file."""
        self.path.unlink(missing_ok=True)


def _checked(row: Any) -> Row:
    """The row, if it says which sample it is of: hosts that died leave anything behind."""
    index = row.get('idx') if isinstance(row, dict) else None
    # true is an int, and in a dict the same key as 1.
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise ValueError("its 'idx' is no position of a sample")
    return dict(row)


def write_json(path: Path, rows: Iterable[tuple[str, Any]]) -> None:
    """Writes a JSON object in ASCII; a reader finds the whole file or none."""
    write_whole(path, json.dumps(dict(rows), indent=4), encoding='ascii')
