"""How far a sweep is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from math import isfinite
from pathlib import Path
from typing import Any, cast

from opencompass_tooleval.core.errors import DataError, shorten
from opencompass_tooleval.core.prices import Prices, read_prices
from opencompass_tooleval.core.usage_summary import Spending, spending_of, spending_so_far
from opencompass_tooleval.sweep.journal import MODEL, REASON, Journal
from opencompass_tooleval.sweep.lock import holder_of, is_held, lock_path, sweep_lock
from opencompass_tooleval.sweep.shards import numbered_shards, read_predictions, whole_of
from opencompass_tooleval.sweep.work_dir import WorkDir, last_error

_RATE_OVER = 500
"""Answers over which the speed is taken: the latest ones, since a resumed run has a pause before them."""


class State(str, Enum):
    """Where a model x data set stands."""

    DONE = 'done'
    ANSWERED = 'answered'
    RUNNING = 'running'
    FAILED = 'failed'
    WAITING = 'waiting'


@dataclass(frozen=True)
class Cell:
    """One model x data set.

    Attributes:
        model: Its abbr.
        dataset: Its abbr.
        state: ``done`` has a result, ``answered`` has all predictions and no result yet.
        answered: Samples with an answer so far; of dialogues of several rounds, those that have begun.
        samples: Samples in all; None where nothing on disk says.
        rate: Samples per second of all jobs that are at it now; None where there are none, or where dialogues of
            several rounds are held, of which it is not known how many rounds are left.
        error: The last line of the log that speaks of an error, for ``failed``.
        log: That log.
        waiting: What a job waits for that is at it now, such as a server; '' if for nothing.
        spent: What its answers cost so far, every round of a dialogue for itself while it is asked; None where nothing
            says it.
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

    @property
    def seconds_left(self) -> float | None:
        """At the present rate; None if it cannot be told."""
        if not self.rate or self.samples is None:
            return None
        return max(0, self.samples - self.answered) / self.rate


@dataclass(frozen=True)
class _Work:
    """A predictions file that is being made.

    Attributes:
        answered: Samples in its journal, but for those that will be asked again.
        samples: What its holder has to do; None if nobody says.
        running: Whether its lock is held.
        rate: Samples per second.
        waiting: What its holder waits for.
        spent: What the model's answers cost, without those of others that its dialogues ask.
    """

    answered: int
    samples: int | None
    running: bool
    rate: float | None
    waiting: str = ''
    spent: Spending | None = None


def _work(predictions: Path, prices: Prices | None) -> _Work:
    journal = Journal(predictions.with_name(f'tmp_{predictions.stem}.jsonl'))
    rows = list(journal.rows()) if journal.path.exists() else []
    last = {row['idx']: row for row in rows}.values()  # what is asked again has a later row
    good = [row for row in last if not row.get('infra')]
    dialogues = {str(row['key']) for row in good if 'key' in row}  # a row per round
    whole = [row for row in good if 'key' not in row]
    times = sorted(time for row in whole if isinstance(time := row.get('time'), float) and isfinite(time))[-_RATE_OVER:]
    lock = lock_path(predictions)
    holder, running = holder_of(lock), is_held(lock)
    later = sum(time > times[0] for time in times) if times else 0
    rate = later / (times[-1] - times[0]) if running and later and not dialogues else None
    samples = holder.samples if holder else None
    answered = len(whole) + len(dialogues)
    waiting = holder.waiting if holder and running else ''
    spent = spending_so_far([row for row in last if not row.get(MODEL) and not row.get(REASON)], prices)
    return _Work(min(answered, samples) if samples else answered, samples, running, rate, waiting, spent)


def _failure(work: WorkDir, model: str, dataset: str, stage: str) -> tuple[str, Path]:
    """The error of a data set, '' if there is none, and the log. In a sweep that goes on, older errors are past."""
    log = work.log(model, dataset, stage)
    old = log.is_file() and log.stat().st_mtime < work.config().stat().st_mtime
    if old and is_held(sweep_lock(work.path)):
        return '', log
    busy = any(map(is_held, work.predictions(model, dataset).parent.glob('.*.lock')))
    return last_error(log, dataset, ended=not busy), log


def _unfinished(whole: Path) -> Iterator[Path]:
    """The predictions files, whole or shards, that have a journal or a lock."""
    for pattern, prefix in ((f'tmp_{whole.stem}*.jsonl', 'tmp_'), (f'.{whole.stem}*.lock', '.')):
        for file in whole.parent.glob(pattern):
            stem = file.stem.removeprefix(prefix)
            if whole.stem in (stem, whole_of(stem)):
                yield whole.with_name(f'{stem}{whole.suffix}')


def look(work: WorkDir, model: str, dataset: str, prices: Prices | None = None) -> Cell:
    """Looks at one model x data set.

    Args:
        work: The run.
        model: Its abbr.
        dataset: Its abbr.
        prices: What the model's tokens cost, as far as no result says it.

    Raises:
        DataError: A file is damaged.
    """
    result = work.result(model, dataset)
    if result is not None and 'error' not in result:
        counts = result.get('samples')
        samples = counts.get('all') if isinstance(counts, dict) else 0
        samples = samples if type(samples) is int else 0
        return Cell(model, dataset, State.DONE, samples, samples, spent=spending_of(result.get('usage'), prices))
    whole = work.predictions(model, dataset)
    if whole.is_file():
        error, log = _failure(work, model, dataset, 'eval')
        rows = read_predictions(whole)
        state, spent = State.FAILED if error else State.ANSWERED, spending_so_far(rows, prices)
        return Cell(model, dataset, state, len(rows), len(rows), None, error, log, spent=spent)
    shards = [row for file in numbered_shards(whole).values() for row in read_predictions(file)]
    finished = len(shards)
    works = [_work(file, prices) for file in sorted(set(_unfinished(whole)))]
    parts = [part for part in (spending_so_far(shards, prices), *(file.spent for file in works)) if part]
    spent = reduce(Spending.__add__, parts) if parts else None
    answered = finished + sum(file.answered for file in works)
    sample_counts = [file.samples for file in works]
    samples_all = finished + sum(filter(None, sample_counts)) if works and all(sample_counts) else None
    if any(file.running for file in works):
        rates = [file.rate for file in works if file.rate]
        waiting = next((shorten(file.waiting) for file in works if file.waiting), '')
        return Cell(
            model, dataset, State.RUNNING, answered, samples_all, sum(rates) or None, waiting=waiting, spent=spent
        )
    error, log = _failure(work, model, dataset, 'eval' if finished and not works else 'infer')
    if error:
        return Cell(model, dataset, State.FAILED, answered, samples_all, None, error, log, spent=spent)
    state = State.ANSWERED if finished and not works else State.WAITING
    return Cell(model, dataset, state, answered, samples_all, spent=spent)


def model_abbr(model: Mapping[str, Any] | list[Any] | tuple[Any, ...]) -> str:
    """The name of a model in a config, as OpenCompass's ``model_abbr_from_cfg`` makes it."""
    if isinstance(model, (list, tuple)):
        return '_'.join(map(model_abbr, model))
    if 'abbr' in model:
        return cast(str, model['abbr'])
    return f'{model["type"]}_{"_".join(os.path.realpath(model["path"]).split("/")[-2:])}'.replace('/', '_')


def dataset_abbr(dataset: Mapping[str, Any]) -> str:
    """The name of a data set in a config, as OpenCompass's ``dataset_abbr_from_cfg`` makes it."""
    if 'abbr' in dataset:
        return cast(str, dataset['abbr'])
    name = f'_{dataset["name"]}' if 'name' in dataset else ''
    return f'{dataset["path"]}{name}'.replace('/', '_')


def prices_of(content: Mapping[str, Any]) -> dict[str, Prices]:
    """Abbr of a model -> what its tokens cost, for those models of a config's values that say it."""
    prices = {}
    for model in content.get('models') or ():
        try:
            own = read_prices(model.get('prices'))
            if own:
                prices[model_abbr(model)] = own
        except (LookupError, TypeError, ValueError, AttributeError):
            continue  # a run may be anybody's; what it costs is then not known
    return prices


def abbrs_of(content: Mapping[str, Any], config: Path) -> tuple[list[str], list[str]]:
    """Abbrs of the models and of the data sets of a config's values.

    Raises:
        DataError: It has none.
    """
    try:
        models = [model_abbr(model) for model in content['models']]
        datasets = [dataset_abbr(dataset) for dataset in content['datasets']]
        if not all(isinstance(abbr, str) for abbr in (*models, *datasets)):
            raise TypeError('an abbr is no text')
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise DataError(config, f'its models and datasets cannot be read ({type(error).__name__}: {error})') from error
    return models, datasets
