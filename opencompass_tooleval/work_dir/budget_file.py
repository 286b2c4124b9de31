"""Ledgers of budgets: files in a work directory, shared by all tasks, that record what models have spent.

Before a request is sent, its maximum cost is reserved; its answer's usage then settles it. If a task is killed, which
its lock shows, the prompts of its open requests count as spent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.core.scoring.prices import COST, Budget
from opencompass_tooleval.core.scoring.usage_summary import Spending
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import read_plain
from opencompass_tooleval.work_dir.lock import probe
from opencompass_tooleval.work_dir.names import answers_in, predictions_of, whole_of
from opencompass_tooleval.work_dir.progress import look
from opencompass_tooleval.work_dir.whole_file import locked_content
from opencompass_tooleval.work_dir.work_dir import WorkDir

logger = logging.getLogger(__name__)

_MOST_BYTES = 1 << 20
_UNSAFE = re.compile(r'[^\w.-]+')


@dataclass(frozen=True)
class LockedTask:
    """A task that sends requests.

    Attributes:
        work_dir: The run of the task.
        lock: The lock file that the task holds while it runs.
    """

    work_dir: Path
    lock: Path


@dataclass
class LedgerState:
    """The content of a ledger.

    Attributes:
        spent: Amount spent by requests that have ended.
        in_flight: Lock file of a task -> its requests in flight: their number, their maximum cost, and the cost of
            their prompts.
        not_asked: Dataset -> number of its requests that were not sent, and number of its samples. In the ledger of an
            auxiliary model, the name of the model under test precedes the dataset.
    """

    spent: float = 0.0
    in_flight: dict[str, list[float]] = field(default_factory=dict)
    not_asked: dict[str, list[int]] = field(default_factory=dict)

    @property
    def reserved(self) -> float:
        """The maximum cost of all requests in flight."""
        return math.fsum(most for _, most, _ in self.in_flight.values())

    def end(self, lock: str) -> None:
        """Removes the requests in flight of a task that has ended, and counts only their prompts as spent."""
        self.spent += self.in_flight.pop(lock, (0, 0, 0.0))[2]


class Ledger:
    """The ledger of one budget. Each change reads and writes the file while holding its lock.

    Args:
        locked_task: The task that sends requests.
        name: Name of the model.
        budget: The model's budget.
        is_auxiliary: True for a judge or simulator with its own budget.

    Attributes:
        turn: Held by a request that waits for others to end, so that the requests of this process are sent in order.
    """

    def __init__(self, locked_task: LockedTask, name: str, budget: Budget, is_auxiliary: bool = False) -> None:
        self.name = name
        self.budget = budget
        self.turn = asyncio.Lock()
        self._task = locked_task
        self._is_auxiliary = is_auxiliary
        self._file = ledger_file(locked_task.work_dir, name, budget, is_auxiliary)
        self._lock = os.path.relpath(locked_task.lock, locked_task.work_dir)
        self._is_open = self._has_told = False

    @contextmanager
    def _changing(self) -> Iterator[LedgerState]:
        with locked_content(self._file, _MOST_BYTES) as content:
            state = _read(content[0]) or LedgerState(self._spent_before())
            if not self._is_open:  # this task holds the lock, so an entry is from a killed task
                self._is_open = True
                state.end(self._lock)
            yield state
            content[0] = json.dumps(asdict(state)).encode('ascii')

    def _spent_before(self) -> float:
        """Returns the amount spent before the ledger existed, for example under a config without a budget."""
        work = WorkDir(self._task.work_dir)
        prices = None if self._is_auxiliary else self.budget.prices
        spent: list[Spending | None] = []
        for folder in (work.path / 'predictions').glob('*/'):
            stems = {predictions_of(file).stem for file in (*folder.glob('[!.]*.json'), *answers_in(folder))}
            for dataset in (
                {whole_of(stem) or stem for stem in stems} if self._is_auxiliary or folder.name == self.name else ()
            ):
                cell = look(work, folder.name, dataset, prices)
                spent += [] if self._is_auxiliary else [cell.spent]
                spent += [
                    of for name, of in cell.others.items() if not self._is_auxiliary or name.endswith(f' {self.name}')
                ]
        return math.fsum(
            (one.cost or 0.0) if self.budget.unit == COST else one.prompt + one.completion for one in spent if one
        )

    def reserve(self, most: float, prompt: float) -> bool | None:
        """Reserves a request.

        Args:
            most: Maximum cost of the request.
            prompt: Cost of its prompt.

        Returns:
            True if the request may be sent; False if it could exceed the budget; None if requests in flight decide.
        """
        with self._changing() as state:
            limit = self.budget.limit
            if state.spent + state.reserved + most > limit:
                for lock in [lock for lock in state.in_flight if probe(self._task.work_dir / lock) is False]:
                    state.end(lock)
            fits = state.spent + most <= limit
            if fits and state.spent + state.reserved + most > limit:
                return None
            if fits:
                entry = state.in_flight.get(self._lock, (0, 0.0, 0.0))
                state.in_flight[self._lock] = [a + b for a, b in zip(entry, (1, most, prompt), strict=True)]
            elif not self._has_told:
                self._has_told = True
                logger.warning(
                    '%s: the budget of %s is used up: %s are spent, and the next request may take %s. Requests '
                    'that may take more than what is left are not sent. Raise budget in the config, and run again with '
                    '-r',
                    *(self.name, *map(self.budget.shown, (limit, state.spent, most))),
                )
            return fits

    def settle(self, most: float, prompt: float, spent: float) -> None:
        """Replaces the reservation of a request by its actual cost."""
        with self._changing() as state:
            state.spent += spent
            count, *amounts = state.in_flight.pop(self._lock, (1, most, prompt))
            if count > 1:  # without requests nothing is reserved, not even a rounding error
                state.in_flight[self._lock] = [count - 1, amounts[0] - most, amounts[1] - prompt]

    def note_not_asked(self, dataset: str, count: int, samples: int) -> None:
        """Records how many requests of a dataset were not sent, replacing an earlier record."""
        name = f'{Path(self._lock).parent.name} x {dataset}' if self._is_auxiliary else dataset
        with self._changing() as state:
            state.not_asked[name] = [count, samples]


def ledger_file(work_dir: Path, name: str, budget: Budget, is_auxiliary: bool = False) -> Path:
    """Returns the file of a ledger, which need not exist."""
    folder = Path(work_dir, 'budgets', *['auxiliary'] * is_auxiliary)
    return folder / f'{_UNSAFE.sub("_", name)}.{budget.unit}.json'


def read_ledger(file: Path) -> LedgerState:
    """Reads a ledger without its lock; returns an empty one if it is missing or invalid."""
    with suppress(OSError, DataError):
        return _read(read_plain(file, _MOST_BYTES)) or LedgerState()
    return LedgerState()


def _read(content: bytes) -> LedgerState | None:
    """Reads the content of a ledger; returns None if it is empty or damaged, for example by a power cut."""
    try:
        value = load_json(content, bounded=True)
        state = LedgerState(
            float(value['spent']),
            {lock: [float(number) for number in entry] for lock, entry in value['in_flight'].items()},
            {name: [int(count), int(samples)] for name, (count, samples) in value['not_asked'].items()},
        )
        return state if 0 <= state.spent + state.reserved < math.inf else None
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return None


def not_asked_line(work_dir: Path, name: str, budget: Budget, is_auxiliary: bool = False) -> str:
    """Formats how many requests were not sent for lack of budget, and the fix; ``''`` if all were sent."""
    state = read_ledger(ledger_file(work_dir, name, budget, is_auxiliary))
    lacking = [dataset for dataset, (count, _) in state.not_asked.items() if count]
    if not lacking:
        return ''
    count, samples = map(sum, zip(*state.not_asked.values(), strict=True))
    return (
        f'{name}: the budget of {budget.shown(budget.limit)} is used up ({budget.shown(state.spent)} spent): '
        f'{count:,} of {samples:,} requests were not sent ({first_of(lacking, 2)}), since each may take more than the '
        'rest'
    )
