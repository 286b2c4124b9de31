"""Logs calls of live servers as JSON lines, from which a bank is made. A killed process loses no logged call."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import clean_text, to_jsonable
from opencompass_tooleval.environments.bank import RecordedCall
from opencompass_tooleval.work_dir.data_files import open_plain

logger = logging.getLogger(__name__)

_KEY = 'tooleval_calls'
_BEGINNING = f'{{"{_KEY}": '
_VERSION = 1
_TEXTS = ('task', 'name', 'response', 'error')
_MAX_LINE = 1 << 24


class CallLog:
    """A file to which calls are appended. Threads may share it; existing lines stay.

    Args:
        file: Path of the log.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._open: TextIO = file.open('a', encoding='utf-8')

    def begin(self, server: str, tools: Sequence[Mapping[str, Any]]) -> None:
        """Records the server of the following calls, and the tools that it offers."""
        self._add({_KEY: _VERSION, 'server': server, 'tools': to_jsonable(list(tools))})

    def add(self, call: RecordedCall) -> None:
        """Appends a call."""
        self._add({**asdict(call), 'arguments': to_jsonable(call.arguments)})

    def _add(self, row: Mapping[str, Any]) -> None:
        with self._lock:
            # The line break also comes first, to end the partial line of a killed process.
            self._open.write('' if self._open.tell() == 0 else '\n')
            self._open.write(clean_text(json.dumps(row, ensure_ascii=False)))
            self._open.flush()

    def close(self) -> None:
        """Closes the file."""
        self._open.close()


def is_call_log(path: Path) -> bool:
    """Tests if a file is a call log."""
    if not path.is_file():
        return False
    with open_plain(path, None) as content:
        return content.read(len(_BEGINNING)) == _BEGINNING.encode()


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with open_plain(file, None) as lines:
        number = 0
        while line := lines.readline(_MAX_LINE):
            number += 1
            if len(line) == _MAX_LINE:
                raise DataError(file, f'line {number} has more than {_MAX_LINE} bytes')
            try:
                row = load_json(line.decode('utf-8'), bounded=True)
            except ValueError:
                row = None
            if isinstance(row, dict):
                yield row
            elif line.strip():
                logger.warning('%s: line %d is left out, since it cannot be read (a killed process?)', file, number)


def read_call_log(file: Path, label: str) -> Iterator[RecordedCall]:
    """Yields the calls of a log, in order.

    Args:
        file: The log.
        label: Name of the log in the bank.

    Raises:
        DataError: A line is too long.
    """
    for row in _rows(file):
        if _KEY not in row and 'arguments' in row and all(isinstance(row.get(key), str) for key in _TEXTS):
            yield RecordedCall(label, row['task'], row['name'], row['arguments'], row['response'], row['error'])


def logged_tools(file: Path) -> list[dict[str, Any]]:
    """Returns the tools of a log's servers, in the format of ``tools/list``; if several share a name, the last."""
    tools: dict[str, dict[str, Any]] = {}
    for row in _rows(file):
        listed = row.get('tools') if _KEY in row else None
        for tool in listed if isinstance(listed, list) else ():
            if isinstance(tool, dict) and isinstance(tool.get('name'), str):
                tools[tool['name']] = tool
    return list(tools.values())
