"""Progress of a sweep, read from its files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any, cast

from opencompass_tooleval.core.errors import DataError, shorten
from opencompass_tooleval.core.scoring.prices import Prices, read_prices
from opencompass_tooleval.core.scoring.usage_summary import (
    OTHERS,
    Spending,
    add_spendings,
    other_rows,
    others_by_name,
    spending_of,
    spending_so_far,
)
from opencompass_tooleval.core.statistics.sample import Sample
from opencompass_tooleval.work_dir.dumped_config import dump_again, read_dumped
from opencompass_tooleval.work_dir.lock import holder_of, is_held
from opencompass_tooleval.work_dir.names import (
    answers_folder,
    answers_in,
    claims_folder,
    is_of,
    lock_path,
    locks_in,
    number_of,
    predictions_of,
    replica_number,
    sweep_lock,
)
from opencompass_tooleval.work_dir.prompt_tokens import Counter, counter_of
from opencompass_tooleval.work_dir.shards import is_damaged, numbered_shards, read_predictions
from opencompass_tooleval.work_dir.store import (
    FAILED,
    MODEL,
    REASON,
    AnswerStore,
    Place,
    Row,
    best_rows,
    has_failed,
    key_text,
)
from opencompass_tooleval.work_dir.work_dir import WorkDir, last_error

_MOST_RANGE = 40
_RATE_OVER = 500
"""Maximum number of answers used for the rate."""


class State(str, Enum):
    """State of a model x dataset."""

    DONE = 'done'
    ANSWERED = 'answered'
    RUNNING = 'running'
    FAILED = 'failed'
    WAITING = 'waiting'


@dataclass(frozen=True)
class Cell:
    """One model x dataset.

    Attributes:
        model: The model's abbr.
        dataset: The dataset's abbr.
        state: ``done``: there is a result; ``answered``: there are all predictions, but no result yet.
        answered: Number of samples answered so far; for multi-round dialogues, of those that have begun.
        samples: Number of all samples; None if no file has it.
        rate: Samples per second of all jobs that work on it now. None without jobs, and for multi-round dialogues,
            whose number of remaining rounds is unknown.
        error: The last error line in the log, for ``failed``.
        log: Path of this log.
        waiting: The resource that a running job waits for, such as a server; '' if it does not wait.
        spent: Usage and cost of the answers so far; each round of an unfinished dialogue counts as one answer. None if
            unknown.
        others: ``judge gpt-4`` or ``simulator gpt-4`` -> usage and cost of this model so far.
        rates: Samples per second of each running replica; empty without replicas.
        result: Its result without samples, if it is ``done``.
    """

    model: str
    dataset: str
    state: State
    answered: int = 0
    samples: int | None = None
    rate: float | None = None
    error: str = ''
    log: Path | None = None
    waiting: str = ''
    spent: Spending | None = None
    others: Mapping[str, Spending] = field(default_factory=dict)
    rates: Sequence[float] = ()
    result: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def seconds_left(self) -> float | None:
        """Seconds left at the present rate; None if unknown."""
        if not self.rate or self.samples is None:
            return None
        return max(0, self.samples - self.answered) / self.rate


@dataclass(frozen=True)
class _Work:
    """The answers to a dataset (or a shard) whose predictions are not written yet.

    Attributes:
        answered: Number of samples with an answer, except those that will be requested again.
        samples: Number of all samples; None if no task works on them.
        rates: Samples per second of each task that works on them now; 0 if unknown.
        waiting: The resource that a task waits for.
        spent: Usage and cost of the model's answers.
        others: Usage and cost of the auxiliary models in the dialogues.
    """

    answered: int
    samples: int | None
    rates: Sequence[float]
    waiting: str
    spent: Spending | None
    others: Mapping[str, Spending]


def _work(predictions: Path, locks: Sequence[Path], prices: Prices | None) -> _Work:
    """Returns the answers so far.

    Args:
        predictions: The predictions file, which does not exist.
        locks: The lock of each task that may work on it.
        prices: Prices of the model's tokens.
    """
    store = AnswerStore(answers_folder(predictions))
    times: dict[str, list[float]] = {}

    def noted() -> Iterator[tuple[Place, Row]]:
        with suppress(DataError, OSError):  # the task that reads the file reports the damage
            for place, row in store.read():
                if isinstance(time := row.get('time'), float) and math.isfinite(time) and not has_failed(row):
                    times.setdefault(place.file, []).append(time)
                yield place, row

    ended = {key_text(key): row for key, row in best_rows(noted()).items()}
    rounds: dict[str, list[Row]] = {}
    with suppress(DataError, OSError):
        rounds.update((key, store.rounds_of(key)) for key in store.rounds)
    begun = [key for key, rows in rounds.items() if key not in ended and not all(FAILED in row for row in rows)]
    holders = {lock: holder for lock in locks if (holder := holder_of(lock))}
    running = [lock for lock in locks if is_held(lock)]
    counted = [holder for lock, holder in holders.items() if lock in running and holder.answered]
    if counted:  # a task knows which stored answers its config accepts
        earlier = max(holder.earlier for holder in counted)
        answered = earlier + sum(holder.answered - holder.earlier for holder in counted)
    else:
        answered = sum(not has_failed(row) for row in ended.values())
    answered += len(begun)
    # One row per request, or per sample without rounds: the row of a dialogue has the usage of its rounds.
    rows = [row for of_dialogue in rounds.values() for row in of_dialogue]
    rows += [row for key, row in ended.items() if key not in rounds]
    spent = [row for row in rows if not row.get(MODEL) and not row.get(REASON)]
    samples = max((holder.samples for holder in holders.values()), default=None)
    return _Work(
        min(answered, samples) if samples else answered,
        samples,
        [0.0 if rounds else _rate(times, _replica(lock, predictions)) for lock in running],
        next((holder.waiting for lock, holder in holders.items() if lock in running and holder.waiting), ''),
        spending_so_far(spent, prices),
        _others(rows),
    )


def _replica(lock: Path, whole: Path) -> int | None:
    """Returns the number of the replica that holds a lock; None if it is the lock of the predictions file."""
    name = predictions_of(lock).stem
    return None if name == whole.stem else number_of(name)


def _rate(times: Mapping[str, Sequence[float]], replica: int | None) -> float:
    """Returns the answers per second of a task, over the latest ones in its latest file; 0 if unknown."""
    own = (of_file for file, of_file in times.items() if replica_number(file) == replica)
    latest = sorted(max(own, key=max, default=()))[-_RATE_OVER:]
    later = sum(time > latest[0] for time in latest)
    return later / (latest[-1] - latest[0]) if later else 0.0


def _others(rows: Iterable[Mapping[str, Any]]) -> dict[str, Spending]:
    """Returns usage and cost of auxiliary models, from stored rows or rows of predictions."""
    return others_by_name({OTHERS: other_rows(rows)})


def _failure(work: WorkDir, model: str, dataset: str, stage: str) -> tuple[str, Path]:
    """Returns a dataset's error ('' if none) and log. While a sweep runs, errors of earlier runs are ignored."""
    log = work.log(model, dataset, stage)
    old = log.is_file() and log.stat().st_mtime < work.config().stat().st_mtime
    if old and is_held(sweep_lock(work.path)):
        return '', log
    busy = any(map(is_held, locks_in(work.predictions(model, dataset).parent)))
    return last_error(log, dataset, ended=not busy), log


def _works(whole: Path, prices: Prices | None) -> list[_Work]:
    """Returns the unfinished answers to a dataset: of the whole, or of its shards."""
    files = map(predictions_of, (*answers_in(whole.parent), *locks_in(whole.parent)))
    unfinished = sorted({file for file in files if is_of(file.stem, whole.stem) and not file.exists()})
    if claims_folder(whole).is_dir():  # the locks of the replicas are named like those of shards
        return [_work(whole, [lock_path(file) for file in unfinished], prices)]
    return [_work(file, [lock_path(file)], prices) for file in unfinished]


def _rows(file: Path, damage: list[str]) -> list[dict[str, Any]]:
    """Reads predictions. For a damaged file, returns no rows and appends the error to ``damage``."""
    try:
        return read_predictions(file)
    except DataError as error:
        damage.append(str(error))
        return []


def look(
    work: WorkDir, model: str, dataset: str, prices: Prices | None = None, known: Mapping[str, Any] | None = None
) -> Cell:
    """Reads the state of one model x dataset.

    Args:
        work: The run.
        model: The model's abbr.
        dataset: The dataset's abbr.
        prices: Prices of the model's tokens, for answers without a result; None if unknown.
        known: Its result, which is then not read again.

    Returns:
        The state; ``failed``, with the names of the files, if files are damaged.
    """
    damage: list[str] = []
    try:
        result = known or work.result(model, dataset)
    except DataError as damaged:
        result = {'error': 'it is damaged'}
        damage.append(str(damaged))
    if result is not None and 'error' not in result:
        for file in filter(is_damaged, work.prediction_files(model, dataset)):
            _rows(file, damage)
        if damage:
            return Cell(model, dataset, State.FAILED, 0, error=' '.join(damage), log=work.predictions(model, dataset))
        counts = result.get('samples')
        samples = counts.get('all') if isinstance(counts, dict) else 0
        samples = samples if type(samples) is int else 0
        usage = result.get('usage')
        spent, others = spending_of(usage, prices), others_by_name(usage)
        bare = {key: value for key, value in result.items() if key != 'details'}
        return Cell(model, dataset, State.DONE, samples, samples, spent=spent, others=others, result=bare)
    whole = work.predictions(model, dataset)
    if whole.is_file():
        error, log = _failure(work, model, dataset, 'eval')
        rows = _rows(whole, damage)
        if damage:
            return Cell(model, dataset, State.FAILED, len(rows), error=' '.join(damage), log=whole)
        state, spent = State.FAILED if error else State.ANSWERED, spending_so_far(rows, prices)
        others = _others(rows)
        return Cell(model, dataset, state, len(rows), len(rows), None, error, log, spent=spent, others=others)
    shards = [row for file in numbered_shards(whole).values() for row in _rows(file, damage)]
    finished = len(shards)
    works = _works(whole, prices)
    parts = [part for part in (spending_so_far(shards, prices), *(file.spent for file in works)) if part]
    spent = reduce(Spending.__add__, parts) if parts else None
    others = add_spendings(_others(shards), *(file.others for file in works))
    answered = finished + sum(file.answered for file in works)
    sample_counts = [file.samples for file in works]
    samples_all = finished + sum(filter(None, sample_counts)) if works and all(sample_counts) else None
    if damage:
        return Cell(
            model, dataset, State.FAILED, answered, error=' '.join(damage), log=whole, spent=spent, others=others
        )
    if rates := [rate for file in works for rate in file.rates]:
        waiting = next((shorten(file.waiting) for file in works if file.waiting), '')
        rate = math.fsum(rates) or None
        is_shared = rate and claims_folder(whole).is_dir()
        cell = Cell(
            model, dataset, State.RUNNING, answered, samples_all, rate, waiting=waiting, spent=spent, others=others
        )
        return replace(cell, rates=rates) if is_shared else cell
    error, log = _failure(work, model, dataset, 'eval' if finished and not works else 'infer')
    if error:
        return Cell(model, dataset, State.FAILED, answered, samples_all, None, error, log, spent=spent, others=others)
    state = State.ANSWERED if finished and not works else State.WAITING
    return Cell(model, dataset, state, answered, samples_all, spent=spent, others=others)


def total_cost(cells: Iterable[Cell]) -> float | None:
    """Returns the cost of all answers so far, including those of judges and simulators; None without prices."""
    costs = [spent.cost for cell in cells for spent in (cell.spent, *cell.others.values()) if spent]
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if known else None


def cost_of_run(run: WorkDir, results: Mapping[tuple[str, str], Mapping[str, Any]]) -> float | None:
    """Returns :func:`total_cost` of the models and datasets in a run's config; None if the config cannot be read.

    Args:
        run: The run.
        results: Model and dataset -> result, of those that have been read.
    """
    try:
        content = read_dumped(run.config())
        pairs, prices = pairs_in(content, run.config()), prices_of(content)
        return total_cost(look(run, *pair, prices.get(pair[0]), results.get(pair)) for pair in pairs)
    except (DataError, OSError):
        return None


def model_abbr(model: Mapping[str, Any] | list[Any] | tuple[Any, ...]) -> str:
    """Returns the name of a model in a config, as OpenCompass's ``model_abbr_from_cfg`` does."""
    if isinstance(model, (list, tuple)):
        return '_'.join(map(model_abbr, model))
    if 'abbr' in model:
        return cast(str, model['abbr'])
    return f'{model["type"]}_{"_".join(os.path.realpath(model["path"]).split("/")[-2:])}'.replace('/', '_')


def dataset_abbr(dataset: Mapping[str, Any]) -> str:
    """Returns the name of a dataset in a config, as OpenCompass's ``dataset_abbr_from_cfg`` does."""
    if 'abbr' in dataset:
        return cast(str, dataset['abbr'])
    name = f'_{dataset["name"]}' if 'name' in dataset else ''
    return f'{dataset["path"]}{name}'.replace('/', '_')


def prices_of(content: Mapping[str, Any]) -> dict[str, Prices]:
    """Returns token prices by abbr, for the models in a config that have ``prices``."""
    prices = {}
    for model in content.get('models') or ():
        try:
            model_prices = read_prices(model.get('prices'))
            if model_prices:
                prices[model_abbr(model)] = model_prices
        except (LookupError, TypeError, ValueError, AttributeError):
            continue  # the run may come from anybody; the cost is then unknown
    return prices


_UNREADABLE = (DataError, OSError, LookupError, TypeError, ValueError, AttributeError)


def model_cfg(work: WorkDir, model: str) -> Mapping[str, Any]:
    """Returns a model's config from the config of a run; empty if it cannot be read."""
    try:
        models = read_dumped(work.config()).get('models') or ()
        cfg: Any = next((cfg for cfg in models if model_abbr(cfg) == model), {})
        return cfg if isinstance(cfg, Mapping) else {}
    except _UNREADABLE:
        return {}


def run_counter(work: WorkDir, model: str) -> Counter:
    """Returns the token counter for a model's prompts, from a run's config; the estimate if it cannot be read."""
    try:
        summarizer = read_dumped(work.config()).get('summarizer')
        tokenizer = summarizer.get('tokenizer') if isinstance(summarizer, dict) else None
        return counter_of(model_cfg(work, model), tokenizer)
    except _UNREADABLE:
        return counter_of({})


def cut_datasets(content: Mapping[str, Any]) -> dict[str, str]:
    """Returns, for each dataset of which a config selects only a part, a description of the part by abbr."""
    datasets = content.get('datasets')
    rows = [row for row in datasets if isinstance(row, Mapping)] if isinstance(datasets, (list, tuple)) else []
    return {dataset_abbr(row): words for row in rows if (words := _part_in_words(row))}


def _part_in_words(dataset: Mapping[str, Any]) -> str:
    """Describes the part of a dataset that its config selects; '' for all records. Does not load the dataset."""
    try:
        sample = Sample.of(dataset['sample'])
        return f'a sample of {sample.n}' if sample.look is None else f'a sample, look {sample.look}'
    except (LookupError, TypeError, ValueError):
        reader = dataset.get('reader_cfg')
        cut = str(reader.get('test_range') or '') if isinstance(reader, Mapping) else ''
    if cut.startswith('[:') and cut[2:-1].isdecimal():
        return f'the first {cut[2:-1]}, not a sample'
    return f'test_range {cut[:_MOST_RANGE]}, not a sample' if cut else ''


def abbrs_of(content: Mapping[str, Any], config: Path) -> tuple[list[str], list[str]]:
    """Returns the abbrs of the models and of the datasets in a config.

    Raises:
        DataError: The config has no valid models or datasets.
    """
    try:
        models = [model_abbr(model) for model in content['models']]
        datasets = [dataset_abbr(dataset) for dataset in content['datasets']]
        if not all(isinstance(abbr, str) for abbr in (*models, *datasets)):
            raise TypeError('an abbr is not a string')
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            config,
            f'its models and datasets cannot be read ({type(error).__name__}: {error})',
            fix=dump_again(config),
        ) from error
    return models, datasets


def pairs_in(content: Mapping[str, Any], config: Path) -> list[tuple[str, str]]:
    """Returns the abbrs of each model and dataset that a config combines, by model.

    Raises:
        DataError: The config has no valid models or datasets.
    """
    combinations = content.get('model_dataset_combinations') or [content]
    combined = {pair for combination in combinations for pair in product(*abbrs_of(combination, config))}
    return [pair for pair in product(*abbrs_of(content, config)) if pair in combined]


def left_out_pairs(work: WorkDir) -> set[tuple[str, str]]:
    """Returns the pairs that ``model_dataset_combinations`` leaves out; empty if a run's config cannot be read."""
    try:
        content = read_dumped(config := work.config())
        return set(product(*abbrs_of(content, config))).difference(pairs_in(content, config))
    except _UNREADABLE:
        return set()
