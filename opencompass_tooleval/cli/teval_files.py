"""T-Eval's files on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.host.data_path import candidate_paths
from opencompass_tooleval.teval.records import SUFFIXES, TABLE, Subset, file_stem, load_samples
from opencompass_tooleval.teval.subsets import VERSIONS

DATA_PATH = 'data/teval'


@dataclass(frozen=True)
class FileState:
    """One data file.

    Attributes:
        subset: Its row in the table.
        version: v1, v2 or v2_subset.
        language: EN or ZH.
        path: Where it is, or None.
        count: Records in it, or None where it is missing or damaged.
        published: The published number of records, if there is one.
        fault: What is wrong with it, or ''.
    """

    subset: Subset
    version: str
    language: str
    path: Path | None
    count: int | None
    published: int | None
    fault: str


def _state(subset: Subset, version: str, language: str) -> FileState:
    stem = file_stem(subset.name, version, language)
    files = [path / f'{stem}.json' for path in candidate_paths(f'{DATA_PATH}/{language}')]
    path = next((file for file in files if file.is_file()), None)
    count, fault = None, ''
    if path is not None:
        try:
            count = len(load_samples(path, subset.name))
        except DataError as error:
            fault = str(error)
    return FileState(subset, version, language, path, count, subset.counts.get(version), fault)


def file_states() -> Iterator[FileState]:
    """Looks at every file of T-Eval, reading those that are there."""
    for language in SUFFIXES:
        for version in VERSIONS:
            for subset in TABLE:
                yield _state(subset, version, language)


def file_total() -> int:
    """How many files there can be."""
    return len(SUFFIXES) * len(VERSIONS) * len(TABLE)
