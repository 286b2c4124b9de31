"""``tooleval prepare toolbench``: the test files to where OpenCompass looks, verified."""

from __future__ import annotations

import filecmp
from pathlib import Path

from rich.console import Console

from opencompass_tooleval.cli.prepare import _copy
from opencompass_tooleval.cli.toolbench_files import DATA_PATH
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.easytool.toolbench.errata import count_kinds
from opencompass_tooleval.easytool.toolbench.records import FILE_TABLE, Data, File, load_data
from opencompass_tooleval.host.data_path import candidate_paths

CURE = 'git clone --depth 1 https://github.com/THUNLP-MT/StableToolBench'


def _verify(path: Path, file: File) -> tuple[Data, str]:
    """Reads a test file; what is in it, in words.

    Raises:
        DataError: It is damaged, or has other counts than the published one.
    """
    data = load_data(path, file.name)
    if (len(data.records), len(data.tools)) != (file.records, file.tools):
        found = f'{len(data.records)} records and {len(data.tools)} tools'
        raise DataError(path, f'{found}, published are {file.records} and {file.tools}', cure=CURE)
    kinds = ', '.join(f'{kind} {count}' for kind, count in count_kinds(data.errata).items() if count)
    return data, f'{len(data.records)} records, {len(data.tools)} tools, {len(data.errata)} errata ({kinds})'


def prepare_toolbench(source: Path | None) -> int:
    """Verifies the test files and copies them to ``data/toolbench`` below ``$COMPASS_DATA_CACHE``.

    A file that is in place already and equal is kept. A missing or damaged one is named and left out.

    Args:
        source: A folder with ``G1_instruction.json``, ``G2_category.json`` and ``G3_instruction.json``, at any depth;
            None says where they come from.

    Returns:
        0, or 1 if a file is missing or damaged.
    """
    console = Console()
    if source is None:
        console.print(
            'The test files, of requests that can be solved, come with StableToolBench. Fetch and prepare them with:\n'
            f'  {CURE}\n  tooleval prepare toolbench --from StableToolBench',
            markup=False,
            soft_wrap=True,
        )
        return 1
    faults = 0
    for file in FILE_TABLE:
        found = next(iter(sorted(source.rglob(file.file))), None)
        try:
            if found is None:
                raise DataError(source / file.file, 'the file is missing', cure=CURE)
            _, said = _verify(found, file)
        except DataError as error:
            faults += 1
            console.print(f'DAMAGED {file.name}: {error}', markup=False, soft_wrap=True)
            continue
        target = candidate_paths(DATA_PATH)[0] / file.file
        kept = target.is_file() and filecmp.cmp(found, target, shallow=False)
        if not kept:
            _copy(found, target)
        console.print(f'{"kept" if kept else "copied"} {target}: {said}', markup=False, soft_wrap=True)
    return 1 if faults else 0
