"""RestBench's files: finds, verifies and counts them.

Each service has its records and its OpenAPI document. Instructions for its tools, published or generated, are in
EasyTool's folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from opencompass_tooleval.benchmarks.restbench.errata import KINDS
from opencompass_tooleval.benchmarks.restbench.records import TABLE, find_subset, load_records
from opencompass_tooleval.benchmarks.restbench.tools import match_instructions, open_toolbox
from opencompass_tooleval.catalogue.benchmark import (
    BenchmarkFiles,
    ConfiguredDataset,
    Content,
    DataFiles,
    errata_in_words,
)

DATA_PATH = 'data/restbench'


def _read(subset: str, files: Sequence[Path]) -> Content:
    file, document, instructions = files
    inventory = open_toolbox(document).inventory
    records, errata = load_records(file, subset, inventory)
    remarks = [errata_in_words(errata, KINDS)]
    if instructions:
        match_instructions(instructions, inventory)
        remarks.append(f'{len(inventory.names)} instructions')
    return Content({'records': len(records), 'tools': len(inventory.names)}, remarks)


def configured(subset: str, *, method: str | None = None, instructions: str | None = None) -> ConfiguredDataset:
    """Returns the config of a service.

    Raises:
        ValueError: The service or method does not exist.
    """
    variants = {None: '_easytool' if instructions else '', 'easytool': '_easytool_ids', 'function_calling': '_fc'}
    if method not in variants:
        raise ValueError(f'RestBench has the methods easytool and function_calling, not {method!r}')
    file = Path(find_subset(subset).file)
    variant = variants[method]
    config = f'restbench/tooleval_restbench{variant.removesuffix("_ids")}_gen'
    return ConfiguredDataset([f'{config}:tooleval_restbench_{subset}{variant}_datasets'], subset, file)


FILES = BenchmarkFiles(
    files=tuple(
        DataFiles(
            subset.name,
            (f'{DATA_PATH}/{subset.file}', f'{DATA_PATH}/{subset.document}'),
            partial(_read, subset.name),
            {'records': subset.records, 'tools': subset.tools},
            optional=(subset.instructions,),
            folders=('datasets', 'tool_instruction'),
        )
        for subset in TABLE
    ),
    origin="RestBench's files are in its authors' GitHub repository.",
    clone='git clone --depth 1 https://github.com/Yifan-Song793/RestGPT',
)
