"""Prepares a resumed run: decides which predictions and results count, and sets the others aside."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from opencompass.utils import (
    build_dataset_from_cfg,
    get_infer_output_path,
    get_logger,
    model_abbr_from_cfg,
)

from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.core.scoring.result import split_runs
from opencompass_tooleval.core.scoring.sampling_settings import DECIDE, StoredAnswers, answer_limit
from opencompass_tooleval.core.text.jsonable import texts_digest
from opencompass_tooleval.findings.finding import Finding, found
from opencompass_tooleval.inferencers.result_origin import origin_of
from opencompass_tooleval.models.accelerator import run_options
from opencompass_tooleval.work_dir.dumped_config import read_dumped
from opencompass_tooleval.work_dir.lock import one_thread
from opencompass_tooleval.work_dir.names import (
    answers_folder,
    claims_folder,
    damaged_path,
    is_shard,
    outdated_path,
    whole_of,
)
from opencompass_tooleval.work_dir.progress import abbrs_of
from opencompass_tooleval.work_dir.replicas import remove_claims
from opencompass_tooleval.work_dir.shards import is_damaged, numbered_shards, parts_of, set_aside_damaged
from opencompass_tooleval.work_dir.stored import (
    ANSWERS,
    SCORING,
    Records,
    ask_more,
    bytes_digest,
    is_intact,
    is_unfinished,
    join_parts,
    origin_in,
    other_settings,
    result_is_outdated,
)

RESULTS, PREDICTIONS = 'results', 'predictions'
"""Names of folders in a run."""

_NOT_OF_DATA = ('infer_cfg', 'eval_cfg', 'abbr')
_records: dict[str, Records | None] = {}


def dataset_records(dataset: Mapping[str, Any]) -> Records | None:
    """Returns the records that a config selects; None if the dataset cannot be loaded, or is not from this package.

    A dataset is loaded once per process.
    """
    key = repr({name: value for name, value in dataset.items() if name not in _NOT_OF_DATA})
    if key not in _records:
        try:
            rows = build_dataset_from_cfg(dataset).test
            ids = tuple(map(str, rows['record_id']))
            _records[key] = Records(ids, texts_digest(rows.select(split_runs(ids, dataset.get('n') or 1)[0])['record']))
        except Exception:  # its task will report the error; stored answers stay as they are
            _records[key] = None
    return _records[key]


def is_of_package(dataset: Mapping[str, Any]) -> bool:
    """Tests if a dataset's inferencer is from this package."""
    return 'opencompass_tooleval.' in str(dataset.get('infer_cfg', {}).get('inferencer', {}).get('type'))


@dataclass(frozen=True)
class _Stored:
    """The files of a model and a dataset (or a shard), divided by whether the config needs more answers.

    Attributes:
        finished: Predictions with all answers, whole or shards.
        unfinished: Predictions that lack answers or are damaged.
        result: The result file, which need not exist.
    """

    finished: list[Path]
    unfinished: list[Path]
    result: Path


def _paths(work: Path, model: Mapping[str, Any], dataset: Mapping[str, Any]) -> tuple[Path, Path]:
    """Returns the paths of predictions and result. A shard has the result of the whole dataset."""
    file, result = (Path(get_infer_output_path(model, dataset, str(work / name))) for name in (PREDICTIONS, RESULTS))
    return file, result.with_stem(whole_of(result.stem)) if is_shard(dataset) else result


def _look(work: Path, model: Mapping[str, Any], dataset: Mapping[str, Any]) -> _Stored:
    """Compares the stored files with a config."""
    file, result = _paths(work, model, dataset)
    files = [file] if file.exists() else [] if is_shard(dataset) else list(numbered_shards(file).values())
    unfinished = [one for one in files if _lacks_answers(one, model, dataset, result)]
    return _Stored([one for one in files if one not in unfinished], unfinished, result)


def _lacks_answers(file: Path, model: Mapping[str, Any], dataset: Mapping[str, Any], result: Path) -> bool:
    """Tests if predictions lack answers or are damaged."""
    with suppress(DataError, OSError):
        if is_damaged(file):
            return True
    return _asks_more(file, model, dataset, result)


def _is_wrong(file: Path) -> bool:
    """Tests if predictions are missing or damaged; the middle of the file is not read."""
    with suppress(DataError, OSError):
        return is_damaged(file)
    return True


def why_outdated(work: Path, model: Mapping[str, Any], dataset: Mapping[str, Any]) -> str:
    """Returns why a result does not count: its records, answers or scoring are others, or it is damaged; ``''`` if it
    counts or does not exist.

    A result without digests, of another package's task, counts if its records do. A result
    whose predictions are gone counts only while a run scores and asks nothing (``-m eval``).
    """
    file, result = _paths(work, model, dataset)
    if not os.path.lexists(result) or is_shard(dataset):
        return ''
    try:
        if is_damaged(result) or not is_intact(result):
            return 'it is damaged'
        if result_is_outdated(result, dataset_records(dataset)):
            return 'its records are others'
        files = [file] if file.exists() else list(numbered_shards(file).values())
        stored = origin_in(result)
        if not files:
            return '' if only_scores() else 'its predictions are gone'
        if not stored:
            return ''
        now = origin_of(files, model, dataset)
    except (DataError, OSError) as error:
        return f'it cannot be compared with its predictions ({error})'
    if now[ANSWERS] != stored.get(ANSWERS):
        return 'its predictions are others'
    return '' if now[SCORING] == stored.get(SCORING) else 'its scoring is another'


def only_scores() -> bool:
    """Tests if this process is ``opencompass -m eval``."""
    options = run_options()
    return options is not None and options.mode == 'eval'


def _asks_more(file: Path, model: Mapping[str, Any], dataset: Mapping[str, Any], result: Path) -> bool:
    """Tests if a config needs more than finished predictions have.

    It may need other records, more tokens for answers that were cut, or answers with other settings.
    """
    if not is_of_package(dataset):
        return False
    inferencer = dataset['infer_cfg']['inferencer']
    # The sizes of shards are compared by the partitioner.
    records = dataset_records(dataset) if file.stem == result.stem else None
    try:
        is_replaced = bool(records and (known := origin_in(result)) and known.get(ANSWERS) != bytes_digest([file]))
        limit, stored = answer_limit(model, inferencer), StoredAnswers.of(model, inferencer)
        return is_unfinished(file, result, records, limit, stored, is_replaced)
    except (DataError, OSError):
        return answers_folder(file).exists()  # otherwise scoring reports the damage


def _join_parts(work: Path, file: Path) -> None:
    """Joins shards of OpenCompass's partitioners, and removes claims next to finished predictions."""
    claims = claims_folder(file)
    if file.exists() and claims.exists():
        remove_claims(file)
    if not claims.exists() and (parts := parts_of(file)):
        # A dataset may be named like a shard, also one that an earlier config of this run selected.
        names = set[str]()
        for config in work.glob('configs/*.py'):
            with suppress(DataError):  # its run ended at once: the disk was full
                names.update(abbrs_of(read_dumped(config), config)[1])
        join_parts(file, [part for part in parts if part.stem not in names])


def answers_with_other_settings(work: Path, model: Mapping[str, Any], dataset: Mapping[str, Any]) -> Counter[str]:
    """Counts the stored answers with other sampling settings, if the config does not say whether to use them.

    Returns:
        Description of the difference -> number of answers; empty if the config decides.
    """
    if not is_of_package(dataset):
        return Counter()
    stored = StoredAnswers.of(model, dataset['infer_cfg']['inferencer'])
    try:
        paths = _paths(work, model, dataset)
        records = partial(dataset_records, dataset) if not is_shard(dataset) else lambda: None
        return Counter() if stored.use else other_settings(*paths, records, stored)
    except (DataError, OSError):
        return Counter()  # scoring reports the damage


def undecided(work: Path, combinations: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """Returns a fault for each model whose stored answers have other settings and whose config does not decide.

    Args:
        work: The run.
        combinations: ``models`` and ``datasets``, as partitioners get them.
    """
    counts: dict[tuple[str, str], Counter[str]] = {}
    for combination in combinations:
        for model, dataset in product(combination['models'], combination['datasets']):
            for difference, count in answers_with_other_settings(work, model, dataset).items():
                of_model = counts.setdefault((model_abbr_from_cfg(model), difference), Counter())
                of_model.update(answers=count, datasets=1)
    shown = '{answers:,} answers in {datasets} data sets have other settings ({difference}): {fix}'
    return [
        found('config:stored', model, shown.format(**of_model, difference=difference, fix=DECIDE))
        for (model, difference), of_model in counts.items()
    ]


def prepare(stage: str, work: Path, model: Mapping[str, Any], dataset: Mapping[str, Any]) -> None:
    """Sets aside files that would make a task skip work: unfinished or damaged predictions, and an outdated result.

    The evaluation stage does not change predictions.

    Args:
        stage: ``infer`` or ``eval``.
        work: The run.
        model: Config of the model.
        dataset: Config of the dataset, or of a shard.

    Raises:
        InUseError: Another process works on the predictions.
    """
    file, result = _paths(work, model, dataset)
    with one_thread:  # runners start the replicas of a dataset in threads
        set_aside_damaged(file if stage == 'infer' else result)
        if stage == 'infer' and is_of_package(dataset) and not is_shard(dataset):
            _join_parts(work, file)
        if stage == 'infer' and os.path.lexists(file) and _asks_more(file, model, dataset, result):
            ask_more(file)
        elif why := why_outdated(work, model, dataset):
            get_logger().info(f'{result} is scored again, since {why}')
            result.rename(outdated_path(result) if result.is_file() else damaged_path(result))


@contextmanager
def finished_only(out_dir: str, combinations: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yields a folder to use instead of ``out_dir`` in OpenCompass's partitioners, which only check which files exist.

    It lacks unfinished predictions, outdated results, and damaged files.

    Args:
        out_dir: Folder of the predictions, or of the results.
        combinations: ``models`` and ``datasets``, as partitioners get them.

    Raises:
        SystemExit: Before inference, if stored answers have other sampling settings and the config does not decide.
    """
    stage = Path(out_dir)
    if stage.name == PREDICTIONS and (faults := undecided(stage.parent, combinations)):
        raise SystemExit('\n'.join(f'tooleval: {one}' for one in faults))
    unbound, written_again = list[str](), list[Path]()
    with TemporaryDirectory(prefix='tooleval-finished-') as folder:
        for combination in combinations:
            for model, dataset in product(combination['models'], combination['datasets']):
                stored = _look(stage.parent, model, dataset)
                files, file = stored.finished, _paths(stage.parent, model, dataset)[0]
                was_finished = stored.result.exists() and answers_folder(file).exists()
                if stage.name == PREDICTIONS and was_finished and _is_wrong(file):
                    written_again.append(file)
                if stage.name == RESULTS:  # OpenCompass partitions both stages before it runs the first one
                    is_scored = not stored.unfinished and stored.result.is_file()
                    is_scored = is_scored and not why_outdated(stage.parent, model, dataset)
                    files = [stored.result] if is_scored else []
                    unbound += [one.stem for one in files if not (stored.finished and origin_in(one))]
                for file in files:
                    place = Path(folder, file.relative_to(stage))
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.touch()
        if written_again:
            what = f'{len(written_again)} missing or damaged predictions files are written from the stored answers'
            first = answers_folder(written_again[0])
            get_logger().warning(f'{what}. To ask the model again, delete its answers, too: {first}')
        if unbound:
            which = f'{len(unbound)} results stay as they are ({first_of(unbound, 2)})'
            get_logger().warning(f'{which}: it is unknown from which answers, or their predictions are gone')
        yield folder
