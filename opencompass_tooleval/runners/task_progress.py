"""Shows the progress of inference tasks (samples, rate, time left, tokens, cost), and continues after failed tasks."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencompass.runners.base import BaseRunner
from opencompass.utils import dataset_abbr_from_cfg, get_infer_output_path, get_logger, model_abbr_from_cfg
from tqdm import tqdm

from opencompass_tooleval.core.scoring.prices import Prices, read_prices
from opencompass_tooleval.core.text.jsonable import printable
from opencompass_tooleval.models.model_config import PRICES
from opencompass_tooleval.work_dir.lock import Holder, holder_of
from opencompass_tooleval.work_dir.names import lock_path, replica_lock, replica_of

_SECONDS_PER_LOOK = 1.0
_SECONDS_PER_LINE = 30.0
"""Seconds between two lines about a task if the output is not a terminal, but for example a log file."""


@dataclass(frozen=True)
class _DataSet:
    name: str
    lock: Path
    prices: Prices | None


@dataclass
class _Task:
    """A running task.

    Attributes:
        datasets: The datasets of the task, which it runs one after another.
        bar: The progress bar of the present dataset; None without a terminal.
        shown: The dataset of the bar or of the last line.
        began: Time when the dataset was first seen, and its number of answered samples then.
        line: Time of the last line.
    """

    datasets: list[_DataSet]
    bar: Any = None
    shown: str = ''
    began: tuple[float, int] = (0.0, 0)
    line: float = field(default_factory=time.monotonic)

    def present(self) -> tuple[_DataSet, Holder] | None:
        """Returns the dataset on which the task works now, with its progress; None if there is none."""
        for dataset in self.datasets:
            holder = holder_of(dataset.lock)
            if holder and holder.samples:
                return dataset, holder
        return None


def spent_text(holder: Holder, prices: Prices | None) -> str:
    """Formats tokens and cost so far; '' if there are none."""
    tokens = holder.prompt + holder.completion
    if not tokens:
        return ''
    cost = prices.cost(holder.prompt, holder.completion, holder.cached, holder.cache_write) if prices else None
    return f'{tokens:,} tokens' + (f', cost {cost:.4g}' if cost is not None else '')


class RunsNextStage(BaseRunner):
    """A runner after whose failed tasks OpenCompass continues with evaluation and the last screen, which reports them.

    With OpenCompass's pull request 2587, its base class raises an exception after failed tasks.
    """

    def __call__(self, tasks: list[dict[str, Any]]) -> None:
        """Runs the tasks, and logs an exception of the base class."""
        status = list(self.launch(tasks))
        try:
            self.summarize(status)
        except Exception as error:  # a later version may raise anything
            get_logger().error(f'{type(error).__name__}: {error}')


class TaskProgress:
    """Reads the lock files of running tasks in a thread, and shows their progress.

    On a terminal each task has a progress bar, below that of all tasks. Otherwise each task prints lines at intervals.

    Args:
        seconds: Seconds between two reads.
        seconds_per_line: Seconds between two lines about a task.
    """

    def __init__(self, seconds: float = _SECONDS_PER_LOOK, seconds_per_line: float = _SECONDS_PER_LINE) -> None:
        self._seconds = seconds
        self._seconds_per_line = seconds_per_line
        self._is_terminal = sys.stderr.isatty()
        self._tasks: dict[int, _Task] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Shows progress while the block runs."""
        thread = threading.Thread(target=self._look, daemon=True, name='tooleval-progress')
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    @contextmanager
    def task(self, cfg: Mapping[str, Any]) -> Iterator[None]:
        """Shows a task while the block runs.

        Args:
            cfg: Config of an inference task: models, datasets and work directory.
        """
        folder, replica = str(Path(cfg['work_dir'], 'predictions')), replica_of(cfg)
        datasets = [
            _DataSet(
                f'{model_abbr_from_cfg(model)} x {dataset_abbr_from_cfg(dataset)}',
                replica_lock(file, replica.number) if replica else lock_path(file),
                read_prices(model.get(PRICES)),
            )
            for model, rows in zip(cfg['models'], cfg['datasets'], strict=True)
            for dataset in rows
            for file in [Path(get_infer_output_path(model, dataset, folder))]
        ]
        with self._lock:
            place = next(number for number in range(1, len(self._tasks) + 2) if number not in self._tasks)
            task = self._tasks[place] = _Task(datasets)
        try:
            yield
        finally:
            with self._lock:
                del self._tasks[place]
                if task.bar is not None:
                    task.bar.close()

    def _look(self) -> None:
        while not self._ended.wait(self._seconds):
            with self._lock:
                for place, task in self._tasks.items():
                    present = task.present()
                    if present:
                        self._show(place, task, *present)

    def _show(self, place: int, task: _Task, dataset: _DataSet, holder: Holder) -> None:
        if task.shown != dataset.name:
            if task.bar is not None:
                task.bar.close()
            task.shown, task.began, task.bar = dataset.name, (time.monotonic(), holder.answered), None
        if self._is_terminal:
            self._draw(place, task, dataset, holder)
        elif time.monotonic() - task.line >= self._seconds_per_line:
            task.line = time.monotonic()
            tqdm.write(self.line(task, dataset, holder))

    def _draw(self, place: int, task: _Task, dataset: _DataSet, holder: Holder) -> None:
        if task.bar is None:
            task.bar = tqdm(
                total=holder.samples,
                initial=holder.earlier,
                desc=dataset.name,
                unit='sample',
                position=place,
                leave=False,
            )
        task.bar.n = holder.answered
        task.bar.set_postfix_str(printable(holder.waiting) or spent_text(holder, dataset.prices), refresh=False)
        task.bar.refresh()

    @staticmethod
    def line(task: _Task, dataset: _DataSet, holder: Holder) -> str:
        """Formats the progress of a task on one line."""
        text = f'{dataset.name}: {holder.answered:,} of {holder.samples:,} samples'
        started, before = task.began
        rate = (holder.answered - before) / (time.monotonic() - started) if holder.answered > before else 0.0
        parts = (
            [f'{rate:.1f}/s, {tqdm.format_interval((holder.samples - holder.answered) / rate)} left'] if rate else []
        )
        return ', '.join([text, *parts, *filter(None, [spent_text(holder, dataset.prices), printable(holder.waiting)])])
