"""ToolBench's test files: finds, verifies and counts them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePath

from opencompass_tooleval.benchmarks.toolbench.errata import KINDS
from opencompass_tooleval.benchmarks.toolbench.records import FILE_TABLE, TABLE, find_file, find_subset, load_data
from opencompass_tooleval.catalogue.benchmark import (
    BenchmarkFiles,
    ConfiguredDataset,
    Content,
    DataFiles,
    errata_in_words,
)

DATA_PATH = 'data/toolbench'


def _read(name: str, files: Sequence[Path]) -> Content:
    data = load_data(files[0], name)
    counts = {'records': len(data.records), 'tools': len(data.tools)}
    return Content(counts, [errata_in_words(data.errata, KINDS)])


def configured(subset: str, *, method: str | None = None, instructions: str | None = None) -> ConfiguredDataset:
    """Returns the config of a subset.

    Raises:
        ValueError: The subset or method does not exist.
    """
    row = find_subset(subset)
    configs = {
        None: '_success_gen'
        if row.kind == 'success'
        else f'_easytool_gen:tooleval_toolbench_{row.kind}_easytool_datasets'
        if instructions
        else '_gen',
        'easytool': '_easytool_gen:tooleval_toolbench_selection_easytool_ids_datasets',
        'function_calling': '_calls_fc_gen',
    }
    if method not in configs:
        raise ValueError(f'ToolBench has the methods easytool and function_calling, not {method!r}')
    file = Path(find_file(row.data).file) if row.data else None
    return ConfiguredDataset([f'toolbench/tooleval_toolbench{configs[method]}'], subset, file)


def _encoder(name: str) -> str:
    rows = (row for row in TABLE if row.kind == 'selection')
    return 'EN' if any(name in (row.name, PurePath(find_file(row.data).file).stem) for row in rows) else ''


FILES = BenchmarkFiles(
    files=tuple(
        DataFiles(
            file.name,
            (f'{DATA_PATH}/{file.file}',),
            partial(_read, file.name),
            {'records': file.records, 'tools': file.tools},
            folders=('test_instruction',),  # other folders have answers and id lists with the same names
        )
        for file in FILE_TABLE
    ),
    origin='The test files come with StableToolBench, which keeps only solvable requests.',
    clone='git clone --depth 1 https://github.com/THUNLP-MT/StableToolBench',
    encoder=_encoder,
)
