"""FuncQA's files: finds, verifies and counts them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from opencompass_tooleval.benchmarks.funcqa.arithmetic import TOOL_NAMES
from opencompass_tooleval.benchmarks.funcqa.records import TABLE, find_subset, load_records
from opencompass_tooleval.catalogue.benchmark import BenchmarkFiles, ConfiguredDataset, Content, DataFiles
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions

DATA_PATH = 'data/funcqa'
INSTRUCTIONS = 'data/easytool/functions_data.json'
_CLONE = 'git clone --depth 1 https://github.com/microsoft/JARVIS'


def _read(subset: str, files: Sequence[Path]) -> Content:
    return Content({'questions': len(load_records(files[0], subset))})


def _read_instructions(files: Sequence[Path]) -> Content:
    tools = load_instructions(files[0])
    missing = [name for name in TOOL_NAMES if name not in tools]
    if missing:
        raise DataError(files[0], f'no instruction for {", ".join(missing)}', fix=_CLONE)
    return Content({'instructions': len(tools)})


def configured(subset: str, *, method: str = 'easytool', instructions: str | None = None) -> ConfiguredDataset:
    """Returns the config of a subset.

    Raises:
        ValueError: The subset does not exist.
    """
    file = Path(find_subset(subset).file)
    config = 'fc_gen' if method == 'function_calling' else 'gen'
    return ConfiguredDataset([f'funcqa/tooleval_funcqa_{config}'], subset, file, method)


FILES = BenchmarkFiles(
    files=(
        *(
            DataFiles(
                subset.name, (f'{DATA_PATH}/{subset.file}',), partial(_read, subset.name), {'questions': subset.count}
            )
            for subset in TABLE
        ),
        DataFiles('instructions', (INSTRUCTIONS,), _read_instructions),
    ),
    origin="FuncQA's files, as EasyTool uses them, are in EasyTool's GitHub repository.",
    clone=_CLONE,
)
