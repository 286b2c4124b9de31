"""FuncQA's files on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.easytool.funcqa.records import TABLE, Subset, load_records
from opencompass_tooleval.host.data_path import candidate_paths

DATA_PATH = 'data/funcqa'
INSTRUCTIONS = 'data/easytool/functions_data.json'


@dataclass(frozen=True)
class FuncQAFile:
    """One data file.

    Attributes:
        subset: Its row in the table.
        path: Where it is, or None.
        count: Questions in it, or None where it is missing or damaged.
        fault: What is wrong with it, or ''.
    """

    subset: Subset
    path: Path | None = None
    count: int | None = None
    fault: str = ''


def _state(subset: Subset) -> FuncQAFile:
    path = next(filter(Path.is_file, (root / subset.file for root in candidate_paths(DATA_PATH))), None)
    if path is None:
        return FuncQAFile(subset)
    try:
        return FuncQAFile(subset, path, len(load_records(path, subset.name)))
    except DataError as error:
        return FuncQAFile(subset, path, fault=str(error))


def funcqa_files() -> Iterator[FuncQAFile]:
    """Looks at every file, reading those that are there."""
    return map(_state, TABLE)
