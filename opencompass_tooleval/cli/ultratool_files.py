"""UltraTool's files on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.host.data_path import candidate_paths
from opencompass_tooleval.ultratool.records import FOLDERS, TABLE, Subset, data_file, load_records

DATA_PATH = 'data/ultratool'


@dataclass(frozen=True)
class UltraToolFile:
    """One data file.

    Attributes:
        subset: Its row in the table.
        language: zh or en.
        path: Where it is, or None.
        count: Rows in it, or None where it is missing or damaged.
        fault: What is wrong with it, or ''.
    """

    subset: Subset
    language: str
    path: Path | None
    count: int | None
    fault: str


def _state(subset: Subset, language: str) -> UltraToolFile:
    files = (data_file(root, subset.name, language) for root in candidate_paths(DATA_PATH))
    path = next((file for file in files if file.is_file()), None)
    if path is None:
        return UltraToolFile(subset, language, None, None, '')
    try:
        return UltraToolFile(subset, language, path, len(load_records(path, subset.name, language)), '')
    except DataError as error:
        return UltraToolFile(subset, language, path, None, str(error))


def ultratool_files() -> Iterator[UltraToolFile]:
    """Looks at every file of UltraTool, reading those that are there."""
    for language in FOLDERS:
        for subset in TABLE:
            yield _state(subset, language)


def ultratool_file_total() -> int:
    """How many files there can be."""
    return len(FOLDERS) * len(TABLE)
