"""ToolBench's files on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.easytool.toolbench.records import FILE_TABLE, File, load_data
from opencompass_tooleval.host.data_path import candidate_paths

DATA_PATH = 'data/toolbench'


@dataclass(frozen=True)
class ToolBenchFile:
    """One test file.

    Attributes:
        file: Its row in the table.
        path: Where it is, or None.
        count: Records in it, or None where it is missing or damaged.
        fault: What is wrong with it, or ''.
    """

    file: File
    path: Path | None
    count: int | None
    fault: str


def toolbench_files() -> Iterator[ToolBenchFile]:
    """Looks at every test file, reading those that are there."""
    for file in FILE_TABLE:
        paths = (root / file.file for root in candidate_paths(DATA_PATH))
        path = next((path for path in paths if path.is_file()), None)
        if path is None:
            yield ToolBenchFile(file, None, None, '')
            continue
        try:
            yield ToolBenchFile(file, path, len(load_data(path, file.name).records), '')
        except DataError as error:
            yield ToolBenchFile(file, path, None, str(error))
