"""Conformance's files, which are part of this package: finds, verifies and counts them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opencompass_tooleval.catalogue.benchmark import BenchmarkFiles, ConfiguredDataset, Content, DataFiles
from opencompass_tooleval.extras.conformance.records import REQUESTS, TABLE, TOOLS, find_subset, load_records

DATA_PATH = 'tooleval:extras/conformance'


def _read(files: Sequence[Path]) -> Content:
    records = load_records(files[0].parent)
    return Content({'requests': len(records), 'tools': len({tool.name for one in records for tool in one.tools})})


def configured(subset: str) -> ConfiguredDataset:
    """Returns the config of the requests.

    Raises:
        ValueError: The subset does not exist.
    """
    return ConfiguredDataset(['conformance/tooleval_conformance_gen'], find_subset(subset).name, Path(REQUESTS))


FILES = BenchmarkFiles(
    files=tuple(
        DataFiles(
            subset.name,
            (f'{DATA_PATH}/{REQUESTS}', f'{DATA_PATH}/{TOOLS}'),
            _read,
            {'requests': subset.requests, 'tools': subset.tools},
        )
        for subset in TABLE
    ),
    origin="Conformance's requests are part of this package: nothing has to be downloaded.",
)
