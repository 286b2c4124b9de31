"""``tooleval prepare ultratool``: the authors' files to where OpenCompass looks, verified."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track

from opencompass_tooleval.cli.prepare import _copy
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.json_object import load_json
from opencompass_tooleval.host.data_path import candidate_paths
from opencompass_tooleval.ultratool.build import TASKS
from opencompass_tooleval.ultratool.build_read import CURE_MISSING, read_samples
from opencompass_tooleval.ultratool.prompts import build_prompt
from opencompass_tooleval.ultratool.records import FOLDERS, find_subset, load_records

DATA_PATH = 'data/ultratool'
REPOSITORY = 'JoeYing1019/UltraTool'
ANNOTATED = {'test.json': 1000, 'dev.json': 4824}
"""Annotated samples, and how many the paper has of them (arXiv 2401.17167, section 4.1)."""


@dataclass(frozen=True)
class _File:
    """One of the authors' files: where it is, and below which language and folder it belongs."""

    path: Path
    language: str
    place: str

    @property
    def target(self) -> Path:
        return candidate_paths(f'{DATA_PATH}/{FOLDERS[self.language]}')[0] / self.place / self.path.name

    @property
    def wanted(self) -> int:
        """How many rows the paper says that it has; 1 for an example."""
        if self.place == 'test_set':
            return find_subset(self.path.stem).count
        return 1 if self.place == 'example' else ANNOTATED[self.path.name]

    def count(self) -> int:
        """Reads it whole and returns how many rows it has.

        Raises:
            DataError: It is damaged.
        """
        if self.place == 'test_set':
            return len(load_records(self.path, self.path.stem, self.language))
        if self.place == 'example':
            return _count_example(self.path, self.language)
        return len(read_samples(self.path, skipped=[] if self.path.name == 'dev.json' else None))


def _count_example(path: Path, language: str) -> int:
    try:
        example = load_json(path.read_bytes(), bounded=True)
        if not isinstance(example, dict):
            raise ValueError('it is no JSON object')
        build_prompt(path.stem, language, example, example)
    except ValueError as error:  # JSON and UTF-8 errors are
        raise DataError(path, f'the one-shot example is damaged ({error})', cure=CURE_MISSING) from error
    return 1


def _place(path: Path) -> str | None:
    """``test_set``, ``example``, ``''`` for annotated samples, or None for a file that is none of these."""
    if path.parent.name in ('test_set', 'example'):
        return path.parent.name if path.stem in TASKS else None
    return '' if path.name in ANNOTATED and path.parent.name in FOLDERS.values() else None


def _files(folder: Path) -> Iterator[_File]:
    """The authors' files below ``folder``, which may itself lie within a language's."""
    languages = {name: language for language, name in FOLDERS.items()}
    for path in sorted(folder.resolve().rglob('*.json')):
        language = next((languages[part] for part in reversed(path.parts) if part in languages), None)
        place = _place(path)
        if language is not None and place is not None:
            yield _File(path, language, place)


def _hint(console: Console, language: str) -> None:
    """Says how to get the two tasks that are not published, where they are wanted and can be built."""
    folder = candidate_paths(f'{DATA_PATH}/{FOLDERS[language]}')[0]
    missing = [
        task
        for task in TASKS
        if not find_subset(task).official and not (folder / 'test_set' / f'{task}.json').is_file()
    ]
    annotated = folder / 'test.json'
    if missing and annotated.is_file():
        console.print(
            f'no {" and ".join(missing)} in {folder / "test_set"}; build them with: tooleval build ultratool '
            f'--from {annotated} --official {folder} --out {folder / "test_set"} --tasks {",".join(missing)}',
            markup=False,
            soft_wrap=True,
        )


def prepare_ultratool(source: Path | None) -> int:
    """Verifies UltraTool's files and copies them to ``data/ultratool`` below ``$COMPASS_DATA_CACHE``.

    The authors' layout stays: ``{Chinese,English}-dataset/`` with ``test_set/`` and ``example/`` (one file per task)
    and the annotated samples ``test.json`` and ``dev.json``, from which domains come and tasks are built. A file that
    is in place already and equal is kept. A damaged one, or one with other than 1,000 rows, is named and left out.

    Args:
        source: A folder with the files, at any depth; None says where they come from.

    Returns:
        0, or 1 if a file is damaged or there is none.
    """
    console = Console()
    files = list(_files(source)) if source else []
    if not files:
        if source:
            console.print(f'no file such as English-dataset/test_set/planning.json in {source}', markup=False)
        console.print(
            f"UltraTool's files are in its authors' GitHub repository, {REPOSITORY}. Fetch and prepare them with:\n"
            f'  {CURE_MISSING}\n  tooleval prepare ultratool --from UltraTool',
            markup=False,
            soft_wrap=True,
        )
        return 1
    faults = 0
    for file in track(files, description='UltraTool', console=Console(stderr=True), transient=True):
        try:
            count = file.count()
            if count != file.wanted and file.path.name != 'dev.json':
                raise DataError(file.path, f'it has {count} rows and should have {file.wanted}', cure=CURE_MISSING)
        except DataError as error:
            faults += 1
            console.print(f'DAMAGED {error}', markup=False, soft_wrap=True)
            continue
        kept = file.target.is_file() and filecmp.cmp(file.path, file.target, shallow=False)
        if not kept:
            _copy(file.path, file.target)
        note = '' if count == file.wanted else f'  (published: {file.wanted})'
        console.print(f'{"kept" if kept else "copied"} {file.target}: {count} rows{note}', markup=False, soft_wrap=True)
    for language in FOLDERS:
        _hint(console, language)
    return 1 if faults else 0
