"""RestBench's files on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.easytool.restbench.records import TABLE, Subset, load_records
from opencompass_tooleval.easytool.restbench.tools import match_instructions, open_toolbox
from opencompass_tooleval.host.data_path import candidate_paths

DATA_PATH = 'data/restbench'


@dataclass(frozen=True)
class RestBenchFiles:
    """The files of one service.

    Attributes:
        subset: Its row in the table.
        path: Where its records are, or None.
        count: Records, or None where a file is missing or damaged.
        tools: Tools of its OpenAPI document, or None likewise.
        errata: Faulty gold steps, or None likewise.
        instructions: Where the tools' EasyTool instructions are, or None.
        fault: What is wrong with a file, or ''.
    """

    subset: Subset
    path: Path | None = None
    count: int | None = None
    tools: int | None = None
    errata: int | None = None
    instructions: Path | None = None
    fault: str = ''


def _state(subset: Subset) -> RestBenchFiles:
    root = next((root for root in candidate_paths(DATA_PATH) if (root / subset.file).is_file()), None)
    if root is None:
        return RestBenchFiles(subset)
    file, instructions = root / subset.file, next(filter(Path.is_file, candidate_paths(subset.instructions)), None)
    try:
        inventory = open_toolbox(root / subset.document).inventory
        records, errata = load_records(file, subset.name, inventory)
        if instructions:
            match_instructions(instructions, inventory)
    except DataError as error:
        return RestBenchFiles(subset, file, instructions=instructions, fault=str(error))
    return RestBenchFiles(subset, file, len(records), len(inventory.names), len(errata), instructions)


def restbench_files() -> Iterator[RestBenchFiles]:
    """Looks at the files of every service, reading those that are there."""
    for subset in TABLE:
        yield _state(subset)
