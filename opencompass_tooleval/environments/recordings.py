"""Sources of a response bank: detects the format of files, and names each source in the bank."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.environments.bank import RecordedCall
from opencompass_tooleval.environments.call_log import is_call_log, logged_tools, read_call_log
from opencompass_tooleval.environments.recordings_teval import is_teval, read_teval
from opencompass_tooleval.environments.recordings_toolbench import (
    is_cache,
    is_trajectories,
    read_cache,
    read_trajectories,
)

logger = logging.getLogger(__name__)

TEVAL, TRAJECTORIES, CACHE, CALLS = 'T-Eval data', 'trajectories', 'StableToolBench cache', 'calls of servers'

_FORMATS: tuple[tuple[str, Callable[[Path], bool], Callable[[Path, str], Iterator[RecordedCall]]], ...] = (
    (CALLS, is_call_log, read_call_log),
    (CACHE, is_cache, read_cache),
    (TEVAL, is_teval, read_teval),
    (TRAJECTORIES, is_trajectories, read_trajectories),
)
_MOST_PARTS = 10


@dataclass(frozen=True)
class Source:
    """A file of recorded calls, or the folder of a cache.

    Attributes:
        path: The file or folder.
        format: ``T-Eval data``, ``trajectories``, ``StableToolBench cache`` or ``calls of servers``.
        label: Name in the bank: the shortest unique end of the path.
    """

    path: Path
    format: str
    label: str

    def calls(self) -> Iterator[RecordedCall]:
        """Yields the recorded calls.

        Raises:
            DataError: The source is damaged.
        """
        read = next(read for name, _, read in _FORMATS if name == self.format)
        return read(self.path, self.label)


def _format(path: Path) -> str | None:
    return next((name for name, fits, _ in _FORMATS if fits(path)), None)


def _labels(paths: Sequence[Path]) -> list[str]:
    """Returns the shortest ends of paths that all differ."""
    for parts in range(1, _MOST_PARTS):
        labels = ['/'.join(path.absolute().parts[-parts:]) for path in paths]
        if len(set(labels)) == len(labels):
            return labels
    raise ValueError('a source is given twice')


def find_sources(paths: Sequence[Path]) -> list[Source]:
    """Finds the sources in files and folders.

    Args:
        paths: Files, folders of files, and folders of a cache. Other files in a folder are skipped and logged.

    Raises:
        DataError: A path is missing or has another format, or a folder has no source.
        ValueError: A path is given twice.
    """
    chosen: list[tuple[Path, str]] = []
    for path in paths:
        if not path.exists():
            raise DataError(path, 'the file or folder does not exist')
        if file_format := _format(path):
            chosen.append((path, file_format))
            continue
        inside = [(file, _format(file)) for file in sorted(path.iterdir()) if file.is_file()] if path.is_dir() else []
        for file, format_ in inside:
            if format_ is None:
                logger.warning('%s is left out, since it contains no recorded calls', file)
        readable = [(file, format_) for file, format_ in inside if format_]
        if not readable:
            raise DataError(
                path, "no recorded calls: found no T-Eval data, runs in ToolBench's format or StableToolBench cache"
            )
        chosen += readable
    labels = _labels([path for path, _ in chosen])
    return [Source(path, format_, label) for (path, format_), label in zip(chosen, labels, strict=True)]


def read_sources(sources: Sequence[Source]) -> Iterator[RecordedCall]:
    """Yields all recorded calls, source by source.

    Raises:
        DataError: A source is damaged.
    """
    for source in sources:
        yield from source.calls()


def read_tools(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Returns the tools of the servers in the sources, as in ``tools/list``; if several share a name, the last."""
    logs = [source for source in sources if source.format == CALLS]
    return list({tool['name']: tool for source in logs for tool in logged_tools(source.path)}.values())
