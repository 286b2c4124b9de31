"""Reads tool documentation from any source, as one :class:`ToolDoc` per tool.

A file source is a module with ``read(path) -> list[ToolDoc]`` and a row in ``KINDS``. Other sources, such as servers,
are rows of :data:`~opencompass_tooleval.plugin.TOOL_SERVERS`: modules with ``read(text) -> list[ToolDoc]`` and
``name_of(text) -> str``, a name for messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from opencompass_tooleval import plugin
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.plugin import TOOL_SERVERS
from opencompass_tooleval.tool_docs.sources import (
    function_schema,
    openapi,
    plain_text,
    teval,
    toolbench,
    ultratool,
)
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc

KINDS: Mapping[str, Callable[[Path], list[ToolDoc]]] = {
    'toolbench': toolbench.read,
    'openapi': openapi.read,
    'function_schema': function_schema.read,
    'teval': teval.read,
    'ultratool': ultratool.read,
    'plain_text': plain_text.read,
}
"""Name of a file source, for ``--source`` -> its reader."""

ALL_KINDS = (*KINDS, *TOOL_SERVERS)


def source_name(kind: str, source: Path | str) -> str:
    """Returns the name of a source for messages; a server's arguments are omitted, since they may contain keys."""
    if kind in TOOL_SERVERS:
        return str(plugin.load(TOOL_SERVERS[kind]).name_of(str(source)))
    return Path(source).name


def load_docs(kind: str, source: Path | str) -> list[ToolDoc]:
    """Reads the documentation of all tools from a file or server.

    Args:
        kind: One of ``ALL_KINDS``.
        source: The file; for ``plain_text`` also a folder; for a server its command or URL.

    Returns:
        At least one tool, names unique, in the source's order.

    Raises:
        ValueError: The kind does not exist, or the server cannot be started or reached.
        DataError: The file is missing or not of that kind, a tool is documented in two ways, or its documentation has
            values that JSON files cannot contain (NaN, half a surrogate pair). The error names file and tool.
    """
    if kind not in ALL_KINDS:
        raise ValueError(f'unknown source {kind!r}; choose one of {", ".join(ALL_KINDS)}')
    path: object = source_name(kind, source) if kind in TOOL_SERVERS else Path(source)
    if isinstance(path, Path) and not path.exists():
        raise DataError(path, 'the file is missing')
    docs: list[ToolDoc] = (
        plugin.load(TOOL_SERVERS[kind]).read(str(source)) if kind in TOOL_SERVERS else KINDS[kind](Path(source))
    )
    if not docs:
        others = ', '.join(other for other in ALL_KINDS if other != kind)
        raise DataError(path, f'source {kind!r} finds no tools in this file; the other sources are {others}')
    seen: set[str] = set()
    for doc in docs:
        if doc.name in seen:
            raise DataError(path, 'two tools have this name', doc.name)
        seen.add(doc.name)
        try:
            json.dumps(doc.raw, ensure_ascii=False, allow_nan=False).encode('utf-8')
        except (ValueError, TypeError) as error:  # instructions made from it could be written, but not read again
            raise DataError(path, f'the tool has a value that JSON files cannot contain ({error})', doc.name) from error
    return docs
