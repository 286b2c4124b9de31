"""A tool's documentation, from any of :mod:`opencompass_tooleval.tool_docs.sources`, and names of REST functions."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.instruction import Parameter

HTTP_METHODS = ('get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace')
"""HTTP methods in the order of OpenAPI's table, in lower case as in OpenAPI documents."""

_USAGE = re.compile(rf'(?:{"|".join(HTTP_METHODS).upper()}) /')


def is_usage(name: str) -> bool:
    """Tests if a function's name is an HTTP method and a path."""
    return _USAGE.match(name) is not None


@dataclass(frozen=True)
class FunctionDoc:
    """One function of a tool.

    Attributes:
        name: Name in calls; for a REST service ``GET /movie/{movie_id}``.
        description: Description as documented, of any length.
        required: Required parameters.
        optional: Optional parameters.
        raw: The function's documentation as in the source, as JSON values; prompts and token counts use it.
        call_name: Name in programs, such as OpenAPI's ``operationId``; ``''`` if it is the name in calls.
    """

    name: str
    description: str = ''
    required: tuple[Parameter, ...] = ()
    optional: tuple[Parameter, ...] = ()
    raw: Mapping[str, Any] | str = field(default_factory=dict)
    call_name: str = ''


@dataclass(frozen=True)
class ToolDoc:
    """One tool.

    Attributes:
        name: Name of the tool, unique within a source.
        description: Description as documented; '' if the source describes only functions.
        functions: The functions in the source's order; at least one.
        raw: The complete documentation as in the source, including functions.
    """

    name: str
    description: str
    functions: tuple[FunctionDoc, ...]
    raw: Mapping[str, Any] | str = field(default_factory=dict)


logger = logging.getLogger(__name__)


def unite(path: Path, docs: Iterable[ToolDoc]) -> list[ToolDoc]:
    """Returns each tool once, at its first occurrence.

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

    UltraTool's English examples and samples word two tools differently; a warning names such tools.

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
        logger.warning('%s: %s has another description than in an earlier file; the earlier one is used', file, name)
    return list(tools.values())
