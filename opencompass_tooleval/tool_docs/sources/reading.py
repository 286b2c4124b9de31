"""Merges tools that occur several times, for all sources."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc

logger = logging.getLogger(__name__)


def unite(path: Path, docs: Iterable[ToolDoc]) -> list[ToolDoc]:
    """Keeps each tool once, at its first occurrence.

    Raises:
        DataError: A tool is documented in two ways.
    """
    tools: dict[str, ToolDoc] = {}
    for doc in docs:
        if tools.setdefault(doc.name, doc) != doc:
            raise DataError(path, 'the tool is documented in two ways', doc.name)
    return list(tools.values())


def unite_files(files: Iterable[Path], read: Callable[[Path], list[ToolDoc]]) -> list[ToolDoc]:
    """Reads the tools of several files, each once; the first file with a tool counts.

    The wording of two tools differs between UltraTool's English examples and its samples; a warning names such tools.

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
