"""Finds what a run has stored and its present config asks more of, and opens it again for its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from opencompass.utils import build_dataset_from_cfg, get_infer_output_path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.answer_limit import answer_limit
from opencompass_tooleval.core.scoring.runs import split_runs
from opencompass_tooleval.core.text.jsonable import texts_digest
from opencompass_tooleval.work_dir.dumped_config import read_dumped
from opencompass_tooleval.work_dir.lock import exclusive, lock_path
from opencompass_tooleval.work_dir.progress import abbrs_of
from opencompass_tooleval.work_dir.replicas import claims_folder, remove_claims
from opencompass_tooleval.work_dir.shards import (
    is_damaged,
    is_shard,
    numbered_shards,
    parts_of,
    set_aside_damaged,
    whole_of,
)
from opencompass_tooleval.work_dir.stored import Records, is_unfinished, join_parts, reopen_file, result_is_outdated

RESULTS, PREDICTIONS = 'results', 'predictions'
"""Folders of a run."""

_NOT_OF_DATA = ('infer_cfg', 'eval_cfg', 'abbr')
_records: dict[str, Records | None] = {}


def records_of(dataset: Mapping[str, Any]) -> Records | None:
    """Returns the records that a config selects; None if the data set cannot be loaded, or is of another package.

    A data set is loaded once per process.
    """
    key = repr({name: value for name, value in dataset.items() if name not in _NOT_OF_DATA})
    if key not in _records:
        try:
            rows = build_dataset_from_cfg(dataset).test
            ids = tuple(map(str, rows['record_id']))
            _records[key] = Records(ids, texts_digest(rows.select(split_runs(ids, dataset.get('n') or 1)[0])['record']))
        except Exception:  # its task will report it; what is stored stays as it is
            _records[key] = None
    return _records[key]


def is_of_package(dataset: Mapping[str, Any]) -> bool:
    """Tests if the inferencer of a data set is one of this package."""
    return 'opencompass_tooleval.' in str(dataset.get('infer_cfg', {}).get('inferencer', {}).get('type'))


def _asks_more(file: Path, model: Mapping[str, Any], dataset: Mapping[str, Any], result: Path) -> bool:
    """Tests if a config asks for more than finished predictions have: records, or tokens where answers were cut."""
    if not is_of_package(dataset):
        return False
    # The partitioner compares the sizes of parts.
    records = records_of(dataset) if file.stem == result.stem else None
    try:
        return is_unfinished(file, result, records, answer_limit(model, dataset['infer_cfg']['inferencer']))
    except DataError:
        return False  # scoring reports the damage


def _join_parts(work: Path, file: Path, dataset: Mapping[str, Any]) -> None:
    """Joins what an earlier run has of a data set in parts, and removes what replicas left beside predictions.

    The claims of version 0.2 are a file, and the journals of its replicas such parts.
    """
    claims = claims_folder(file)
    if claims.is_file():
        claims.unlink()
    if file.exists() and claims.exists():
        remove_claims(file)
    parts = [] if claims.exists() else parts_of(file)
    if parts and (records := records_of(dataset)):
        # A data set may have such a name, also one that an earlier config of this run selected.
        names = {name for config in work.glob('configs/*.py') for name in abbrs_of(read_dumped(config), config)[1]}
        join_parts(file, [part for part in parts if part.stem not in names], records)


def reopen(stage: str, work: Path, model: Mapping[str, Any], dataset: Mapping[str, Any]) -> None:
    """Opens what a task has stored again if its config asks for more: finished predictions, and an outdated result.

    What a power cut left empty or cut is set aside. A task that only scores leaves the predictions alone.

    Args:
        stage: ``infer`` or ``eval``.
        work: The run.
        model: Config of the model.
        dataset: Config of the data set, or of a part of it.

    Raises:
        InUseError: Another process works on the predictions.
    """
    file, result = (Path(get_infer_output_path(model, dataset, str(work / name))) for name in (PREDICTIONS, RESULTS))
    if is_shard(dataset):
        result = result.with_stem(whole_of(result.stem))
    set_aside_damaged(file if stage == 'infer' else result)
    if stage == 'infer' and is_of_package(dataset) and not is_shard(dataset):
        _join_parts(work, file, dataset)
    if stage == 'infer' and file.is_file() and _asks_more(file, model, dataset, result):
        with exclusive(lock_path(file)):
            reopen_file(file, result, records_of(dataset) if file.stem == result.stem else None)
    elif result.is_file() and not is_shard(dataset) and result_is_outdated(result, records_of(dataset)):
        result.unlink()


@contextmanager
def finished_only(out_dir: str, combinations: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yields a folder in place of ``out_dir`` for OpenCompass's partitioners, which only look which files exist.

    It lacks predictions that have to be opened again, results about other records, and what a power cut left empty or
    cut.

    Args:
        out_dir: Folder of the predictions, or of the results.
        combinations: ``models`` and ``datasets``, as partitioners get them.
    """
    stage = Path(out_dir)
    with TemporaryDirectory(prefix='tooleval-finished-') as folder:
        for combination in combinations:
            for model, dataset in product(combination['models'], combination['datasets']):
                for file in _finished(stage, model, dataset):
                    place = Path(folder, file.relative_to(stage))
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.touch()
        yield folder


def _finished(stage: Path, model: Mapping[str, Any], dataset: Mapping[str, Any]) -> Iterator[Path]:
    """Yields the files of one model and data set that need no task: finished predictions, or a result of these."""
    answered, result = (
        Path(get_infer_output_path(model, dataset, str(stage.with_name(name)))) for name in (PREDICTIONS, RESULTS)
    )
    files = [answered] if answered.exists() else list(numbered_shards(answered).values())
    finished = [file for file in files if not is_damaged(file) and not _asks_more(file, model, dataset, result)]
    if stage.name != RESULTS:
        yield from finished
    # OpenCompass partitions both stages before it runs the first one.
    elif (
        result.exists()
        and not is_damaged(result)
        and finished == files
        and not result_is_outdated(result, records_of(dataset))
    ):
        yield result
