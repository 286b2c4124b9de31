"""Builds and parses the names of the files that a run keeps in ``predictions/MODEL`` and ``results/MODEL``."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

_JOURNAL, _KEPT = 'tmp_', 'kept_'


def part_of(whole: Path, number: int) -> Path:
    """Returns the path of a numbered shard of predictions: ``d_12.json`` for ``d.json``."""
    return whole.with_name(f'{whole.stem}_{number}{whole.suffix}')


def whole_of(name: str) -> str:
    """Returns the name without its shard number: ``d`` for ``d_12``; ``''`` if it does not end in a number."""
    whole, _, number = name.rpartition('_')
    # Not isdigit, which accepts '²', for which int raises.
    return whole if number.isdecimal() else ''


def number_of(name: str) -> int:
    """Returns the number of a shard's name: 12 for ``d_12``."""
    return int(name.rpartition('_')[2])


def whole_name(name: str, datasets: Collection[str]) -> str:
    """Returns the abbr of the dataset if ``name`` is one of its shards; else ``name``."""
    whole = whole_of(name)
    return whole if name not in datasets and whole in datasets else name


def shard_pattern(dataset: str) -> str:
    """Returns a pattern that matches the name of a dataset and of its shards."""
    return re.escape(dataset) + r'(?:_\d+)?'


def is_of(name: str, dataset: str) -> bool:
    """Tests if ``name`` is that of a dataset or of one of its shards."""
    return dataset in (name, whole_of(name))


def journal_path(predictions: Path) -> Path:
    """Returns the file of the answers that a predictions file is made from."""
    return predictions.with_name(f'{_JOURNAL}{predictions.stem}.jsonl')


def kept_path(predictions: Path) -> Path:
    """Returns the file of further answers next to a finished predictions file."""
    return predictions.with_name(f'{_KEPT}{predictions.stem}.jsonl')


def lock_path(predictions: Path) -> Path:
    """Returns the lock file next to a predictions file."""
    return predictions.with_name(f'.{predictions.stem}.lock')


def claims_folder(whole: Path) -> Path:
    """Returns the folder of claims next to a predictions file. It exists while replicas work on the dataset."""
    return whole.with_name(f'.{whole.stem}.claims')


def predictions_of(file: Path) -> Path:
    """Returns the predictions file that a journal or a lock belongs to; a predictions file itself."""
    return file.with_name(f'{file.stem.removeprefix(_JOURNAL if file.suffix == ".jsonl" else ".")}.json')


def is_journal(file: Path) -> bool:
    """Tests if a file is a journal, by its name."""
    return file.name.startswith(_JOURNAL)


def journals_in(folder: Path) -> list[Path]:
    """Returns the journals in a folder of predictions."""
    return sorted(folder.glob(f'{_JOURNAL}*.jsonl'))


def locks_in(folder: Path) -> list[Path]:
    """Returns the locks in a folder of predictions."""
    return sorted(folder.glob('.*.lock'))


def sweep_lock(work_dir: Path) -> Path:
    """Returns the lock file of a work directory, held by the process that starts tasks there."""
    return work_dir / '.sweep.lock'


def outdated_path(result: Path) -> Path:
    """Returns the path under which an outdated result waits for the one that replaces it."""
    return _beside(result, 'outdated')


def damaged_path(file: Path) -> Path:
    """Returns the path under which a damaged file is kept."""
    return _beside(file, 'damaged')


def _beside(file: Path, why: str) -> Path:
    """Returns a path to which a file or folder can be renamed: files are replaced, folders are not."""
    path = file.with_name(f'{file.name}.{why}')
    while path.is_dir() or (file.is_dir() and path.exists()):
        path = path.with_name(f'{path.name}.{why}')
    return path
