"""``tooleval prepare restbench``: the authors' files to where OpenCompass looks, verified."""

from __future__ import annotations

import filecmp
from pathlib import Path

from rich.console import Console

from opencompass_tooleval.cli.prepare import _copy
from opencompass_tooleval.cli.restbench_files import DATA_PATH
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.easytool.restbench.errata import count_kinds
from opencompass_tooleval.easytool.restbench.records import TABLE, Subset, load_records
from opencompass_tooleval.easytool.restbench.tools import match_instructions, open_toolbox
from opencompass_tooleval.host.data_path import candidate_paths

CURE = 'git clone --depth 1 https://github.com/Yifan-Song793/RestGPT'


def _find(folder: Path, name: str) -> Path | None:
    """The first file of that name below ``folder``, at any depth."""
    return next(iter(sorted(folder.rglob(Path(name).name))), None)


def _need(folder: Path, name: str) -> Path:
    file = _find(folder, name)
    if file is None:
        raise DataError(folder / Path(name).name, 'the file is missing', cure=CURE)
    return file


def _verify(source: Path, subset: Subset) -> tuple[dict[str, Path], str]:
    """Reads what there is of a service.

    Returns:
        Place below the data cache -> file, and what is in them.

    Raises:
        DataError: A file is missing, damaged, or has other counts than the published one.
    """
    document, file = _need(source, subset.document), _need(source, subset.file)
    inventory = open_toolbox(document).inventory
    records, errata = load_records(file, subset.name, inventory)
    counts = {'records': (len(records), subset.records), 'tools': (len(inventory.names), subset.tools)}
    for what, (count, published) in counts.items():
        if count != published:
            raise DataError(file, f'{count} {what}, published are {published}', cure=CURE)
    files = {f'{DATA_PATH}/{subset.document}': document, f'{DATA_PATH}/{subset.file}': file}
    kinds = ', '.join(f'{kind} {count}' for kind, count in count_kinds(errata).items() if count)
    said = f'{len(records)} records, {len(inventory.names)} tools, {len(errata)} errata ({kinds})'
    instructions = _find(source, subset.instructions)
    if instructions is not None:
        match_instructions(instructions, inventory)
        files[subset.instructions] = instructions
        said += f', {len(inventory.names)} instructions'
    return files, said


def prepare_restbench(source: Path | None) -> int:
    """Verifies RestBench's files and copies them to ``data/restbench`` below ``$COMPASS_DATA_CACHE``.

    Each service has its records (``tmdb.json``) and its OpenAPI document (``tmdb_oas.json``, to ``specs``). Published
    or generated instructions (``tmdb_tool.json``) go to ``data/easytool`` if they are there. A file that is in place
    already and equal is kept. A service with a damaged file is named and left out.

    Args:
        source: A folder with the files, at any depth; None says where they come from.

    Returns:
        0, or 1 if a service is missing or damaged.
    """
    console = Console()
    if source is None:
        console.print(
            "RestBench's files are in its authors' GitHub repository. Fetch and prepare them with:\n"
            f'  {CURE}\n  tooleval prepare restbench --from RestGPT',
            markup=False,
            soft_wrap=True,
        )
        return 1
    faults = 0
    for subset in TABLE:
        try:
            files, said = _verify(source, subset)
        except DataError as error:
            faults += 1
            console.print(f'DAMAGED {subset.name}: {error}', markup=False, soft_wrap=True)
            continue
        for place, file in files.items():
            target = candidate_paths(place)[0]
            kept = target.is_file() and filecmp.cmp(file, target, shallow=False)
            if not kept:
                _copy(file, target)
            console.print(f'{"kept" if kept else "copied"} {target}', markup=False, soft_wrap=True)
        console.print(f'{subset.name}: {said}', markup=False, soft_wrap=True)
    return 1 if faults else 0
