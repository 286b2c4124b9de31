"""``tooleval prepare funcqa``: the published files to where OpenCompass looks, verified."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from opencompass_tooleval.cli.funcqa_files import DATA_PATH, INSTRUCTIONS
from opencompass_tooleval.cli.prepare import _copy
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.easytool.funcqa.arithmetic import TOOL_NAMES
from opencompass_tooleval.easytool.funcqa.records import TABLE, load_records
from opencompass_tooleval.easytool.shapes import load_instructions
from opencompass_tooleval.host.data_path import candidate_paths

CURE = 'git clone --depth 1 https://github.com/microsoft/JARVIS'


def _find(folder: Path, name: str) -> Path:
    """The first file of that name below ``folder``, at any depth."""
    file = next(iter(sorted(folder.rglob(name))), None)
    if file is None:
        raise DataError(folder / name, 'the file is missing', cure=CURE)
    return file


def _count_questions(file: Path, subset: str, published: int) -> str:
    count = len(load_records(file, subset))
    if count != published:
        raise DataError(file, f'{count} questions, published are {published}', cure=CURE)
    return f'{count} questions'


def _count_instructions(file: Path) -> str:
    tools = load_instructions(file)
    missing = [name for name in TOOL_NAMES if name not in tools]
    if missing:
        raise DataError(file, f'there is no instruction of {", ".join(missing)}', cure=CURE)
    return f'{len(tools)} instructions'


def _verified(source: Path) -> Iterator[tuple[str, str]]:
    """Yields a line per file, as it is verified and copied: what it is, and the line or ``DAMAGED ...``."""
    places = {subset.file: f'{DATA_PATH}/{subset.file}' for subset in TABLE}
    places[Path(INSTRUCTIONS).name] = INSTRUCTIONS
    checks = {subset.file: (subset.name, subset.count) for subset in TABLE}
    for name, place in places.items():
        try:
            file = _find(source, name)
            said = _count_questions(file, *checks[name]) if name in checks else _count_instructions(file)
        except DataError as error:
            yield 'DAMAGED', str(error)
            continue
        target = candidate_paths(place)[0]
        kept = target.is_file() and filecmp.cmp(file, target, shallow=False)
        if not kept:
            _copy(file, target)
        yield 'kept' if kept else 'copied', f'{target}: {said}'


def prepare_funcqa(source: Path | None) -> int:
    """Verifies FuncQA's files and copies them to ``data/funcqa`` below ``$COMPASS_DATA_CACHE``.

    The published instructions of the tools (``functions_data.json``) go to ``data/easytool``. A file that is in place
    already and equal is kept. A damaged one is named and left out.

    Args:
        source: A folder with the files, at any depth; None says where they come from.

    Returns:
        0, or 1 if a file is missing or damaged.
    """
    console = Console()
    if source is None:
        console.print(
            "FuncQA's files, as EasyTool uses them, are in EasyTool's GitHub repository. Fetch and prepare them with:\n"
            f'  {CURE}\n  tooleval prepare funcqa --from JARVIS',
            markup=False,
            soft_wrap=True,
        )
        return 1
    faults = 0
    for state, said in _verified(source):
        faults += state == 'DAMAGED'
        console.print(f'{state} {said}', markup=False, soft_wrap=True)
    return 1 if faults else 0
