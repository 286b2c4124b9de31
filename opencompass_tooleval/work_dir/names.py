"""Builds and parses the names of datasets, and of files in ``predictions/MODEL`` and ``results/MODEL``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ANSWERS = '.answers'
_SHARD_RANGE = re.compile(r'\[\d{1,9}:\d{1,9}\]$')


@dataclass(frozen=True)
class Replica:
    """One of the tasks that share the datasets of a model.

    Attributes:
        number: Number of the replica, from 0.
        of: Number of replicas.
        sweep: Text that identifies the partition. Claims of earlier sweeps do not count.
    """

    number: int
    of: int
    sweep: str


def replica_of(cfg: Mapping[str, object]) -> Replica | None:
    """Returns the replica in a task's config; None if the task is not a replica."""
    given = cfg.get('replica')
    return Replica(**given) if isinstance(given, Mapping) else None


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


def split_range(name: str, test_range: Any) -> tuple[Any, str]:
    """Splits a ``test_range`` into the user's selection of records and the range appended by OpenCompass's partitioner.

    Args:
        name: Abbr of the dataset, or of a shard, such as ``d_0``.
        test_range: The value in ``reader_cfg``.
    """
    match = _SHARD_RANGE.search(test_range) if isinstance(test_range, str) and whole_of(name) else None
    return (test_range[: match.start()], match[0]) if match else (test_range, '')


def is_shard(dataset_cfg: Mapping[str, Any]) -> bool:
    """Tests if a dataset's config is for a shard, made by OpenCompass's partitioner."""
    reader = dataset_cfg.get('reader_cfg', {})
    return bool(split_range(str(dataset_cfg.get('abbr')), reader.get('test_range'))[1])


def answers_folder(predictions: Path) -> Path:
    """Returns the folder with the answers that a predictions file is made from."""
    return predictions.with_name(f'{predictions.stem}{_ANSWERS}')


def replica_file(sweep: str, number: int, start: str) -> str:
    """Returns the name of the file in which a process of a replica stores answers."""
    return f'{sweep}-{number}-{start}.jsonl'


def replica_number(file: str) -> int | None:
    """Returns the replica that has written a file of answers; None if it was not a replica."""
    parts = file.split('-')
    return int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() else None


def lock_path(predictions: Path) -> Path:
    """Returns the lock file next to a predictions file."""
    return predictions.with_name(f'.{predictions.stem}.lock')


def replica_lock(whole: Path, number: int) -> Path:
    """Returns the lock that a replica holds while it works on a dataset."""
    return lock_path(part_of(whole, number))


def claims_folder(whole: Path) -> Path:
    """Returns the folder of claims next to a predictions file. It exists while replicas work on the dataset."""
    return whole.with_name(f'.{whole.stem}.claims')


def predictions_of(path: Path) -> Path:
    """Returns the predictions file that a folder of answers or a lock belongs to."""
    return path.with_name(f'{path.stem.removeprefix(".") if path.suffix == ".lock" else path.stem}.json')


def answers_in(folder: Path) -> list[Path]:
    """Returns the folders of answers in a folder of predictions."""
    return sorted(folder.glob(f'[!.]*{_ANSWERS}'))


def is_unfinished_of_opencompass(file: Path) -> bool:
    """Tests if a file has the answers that OpenCompass's own inferencers keep until a dataset is finished."""
    return file.name.startswith('tmp_')


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
