"""What the sources share: JSON from files, and tools that occur again and again."""

from __future__ import annotations

import gzip
import json
import logging
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.json_object import load_json
from opencompass_tooleval.core.reading import beyond_bounds
from opencompass_tooleval.easytool.tool_doc import ToolDoc

logger = logging.getLogger(__name__)

MAX_BYTES = 1 << 28
"""No documentation is larger; a file that is was given by mistake."""

_GZIP = b'\x1f\x8b'


def _content(path: Path, most: int) -> bytes:
    """The bytes of a file, unzipped if it is gzipped: no more than ``most`` and one, so that a bomb does not go off."""
    with path.open('rb') as file:
        if file.read(len(_GZIP)) != _GZIP:
            file.seek(0)
            return file.read(most + 1)
    with gzip.open(path) as unzipped:
        return unzipped.read(most + 1)


def read_text(path: Path) -> str:
    """The text of a file, which may be gzipped.

    Raises:
        DataError: It is no file, not UTF-8, damaged, or larger than ``MAX_BYTES``.
    """
    if not path.is_file():
        raise DataError(path, 'the file is missing')
    try:
        content = _content(path, MAX_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(path, f'the file cannot be read ({error})') from error
    if len(content) > MAX_BYTES:
        raise DataError(path, f'the file has more than {MAX_BYTES} bytes')
    try:
        return content.decode('utf-8')
    except ValueError as error:
        raise DataError(path, f'the file is no UTF-8 text ({error})') from error


def read_json(path: Path) -> Any:
    """The value of a JSON file, or the list of those of a file of JSON lines.

    Raises:
        DataError: It is neither, or nested too deeply.
    """
    text = read_text(path)
    try:
        try:
            value = load_json(text)
        except json.JSONDecodeError:
            value = [load_json(line) for line in text.split('\n') if line.strip()]
    except ValueError as error:
        raise DataError(path, f'the file is neither JSON nor JSON lines ({error})') from error
    if excess := beyond_bounds(value):
        raise DataError(path, f'the file is nested too deeply or holds too large a number ({excess})')
    return value


def unite(path: Path, docs: Iterable[ToolDoc]) -> list[ToolDoc]:
    """Leaves each tool once, where it occurs first.

    Raises:
        DataError: A tool is documented in two ways.
    """
    tools: dict[str, ToolDoc] = {}
    for doc in docs:
        if tools.setdefault(doc.name, doc) != doc:
            raise DataError(path, 'the tool is documented in two ways', doc.name)
    return list(tools.values())


def unite_files(files: Iterable[Path], read: Callable[[Path], list[ToolDoc]]) -> list[ToolDoc]:
    """The tools of several files, each once: what the first file says of a tool counts.

    UltraTool's English examples word two tools otherwise than its samples do; a warning names such tools.

    Raises:
        DataError: A file cannot be read.
    """
    tools: dict[str, ToolDoc] = {}
    reworded: dict[str, Path] = {}
    for file in files:
        for doc in read(file):
            if tools.setdefault(doc.name, doc) != doc:
                reworded.setdefault(doc.name, file)
    for name, file in reworded.items():
        logger.warning('%s: %s is documented in another way than in a file before; that counts', file, name)
    return list(tools.values())
