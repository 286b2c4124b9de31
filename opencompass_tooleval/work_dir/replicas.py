"""Divides a dataset into ranges that replicas of a model claim, by files in the folder ``.NAME.claims``.

A replica is a task with the same model and datasets as the other replicas, and a number. While it works on a dataset it
holds the lock of ``NAME_3``, and writes its answers to ``tmp_NAME_3.jsonl``, with the indices of the whole dataset.

Each sweep has a subfolder with ``plan`` (the ranges), ``7.0`` (a replica claims range 7), ``7.1`` (another replica
claims it because the first has ended), ``7.done``, and the same names for ``begin`` and ``end``. Each of these files is
made as a link to a complete file, so it exists whole or not at all, only one process makes it, and it never changes.
The next sweep does not need these files: it joins the journals.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, islice, pairwise
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import read_plain
from opencompass_tooleval.work_dir.journal import Journal
from opencompass_tooleval.work_dir.lock import lock_path, probe
from opencompass_tooleval.work_dir.shards import part_of, parts_of
from opencompass_tooleval.work_dir.whole_file import whole_file

_MOST_BYTES = 1 << 22
_RECORDS = 16
"""Minimum number of records in a range, if there are enough. Large ranges keep similar prompts together."""
_MOST, _OF_REST, _LEAST = 8, 4, 32
"""Sizes of ranges: a quarter of what is left of a replica's share, at most an eighth of the share and at least a 32nd.
So a replica with a tenth of the others' speed ends its first range in time, and all end almost together."""
_ROWS = 256
_PLAN, _BEGIN, _END, _DONE = 'plan', 'begin', 'end', 'done'
_SECONDS_PER_LOOK = 0.05
_MOST_SECONDS = 600.0
"""Maximum time to wait for the replica that joins the journals, on a file system without locks."""


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


@dataclass(frozen=True)
class Plan:
    """The division of a dataset into ranges.

    Attributes:
        stops: End index (exclusive) of each range, over the records without an answer in prefix order.
        order: SHA-256 of these records.
    """

    stops: Sequence[int]
    order: str


def claims_folder(whole: Path) -> Path:
    """Returns the folder of claims next to a predictions file. It exists while replicas work on the dataset."""
    return whole.with_name(f'.{whole.stem}.claims')


def read_plan(file: Path) -> Plan | None:
    """Reads a plan; returns None if it is missing or invalid."""
    try:
        value = load_json(read_plain(file, _MOST_BYTES), bounded=True)
        return Plan([int(stop) for stop in value['stops']], str(value['order']))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return None


def _journal_of(file: Path) -> Journal:
    return Journal(file.with_name(f'tmp_{file.stem}.jsonl'))


def _journals(whole: Path) -> dict[int, Journal]:
    """Returns the journals of the replicas by number."""
    journals = {int(part.stem.rpartition('_')[2]): _journal_of(part) for part in parts_of(whole)}
    return {number: journal for number, journal in journals.items() if journal.path.exists()}


def _join(whole: Path) -> None:
    """Moves the rows of the replicas' journals to the journal of the whole dataset, where a resumed run reads them.

    Rows of failed dialogues are left out: the dialogue is repeated with the rounds in the journal, and its own row
    would count their usage twice.
    """
    base, journals = _journal_of(whole), _journals(whole).values()
    base.repair()
    for journal in journals:
        has_rounds = any('key' in row for row in journal.rows())
        rows = (row for row in journal.rows() if not (has_rounds and 'key' not in row and row.get('infra')))
        while block := list(islice(rows, _ROWS)):
            base.append({row['idx']: row for row in block})
    base.sync()
    for journal in journals:
        journal.remove()


def remove_claims(whole: Path) -> None:
    """Removes the claims and journals of replicas, whose rows are stored elsewhere."""
    folder = claims_folder(whole)
    for plan in folder.glob(f'*/{_PLAN}'):
        plan.unlink(missing_ok=True)  # first: without a plan no replica claims a range whose done mark is removed
    for journal in _journals(whole).values():
        journal.remove()
    shutil.rmtree(folder, ignore_errors=True)


def end_claims(whole: Path) -> None:
    """Joins what replicas left, for a single task or the next sweep.

    The caller must hold the lock of the predictions, or the claim ``end``.
    """
    if claims_folder(whole).is_dir():
        _join(whole)
        remove_claims(whole)


def cut_ranges(sizes: Sequence[int], replicas: int, at_least: int = 1) -> list[int]:
    """Divides a sequence into ranges of decreasing size.

    Args:
        sizes: Size of each item, such as its bytes.
        replicas: Number of replicas.
        at_least: Minimum number of items in a range; the last one may have fewer.

    Returns:
        The end index (exclusive) of each range.
    """
    left = sum(sizes)
    least, most = left / (_LEAST * replicas), left / (_MOST * replicas)
    ends, taken, start = list[int](), 0, 0
    for stop, size in enumerate(sizes, start=1):
        taken += size
        is_full = stop - start >= at_least and taken >= min(most, max(least, left / (_OF_REST * replicas)))
        if is_full or stop == len(sizes):
            ends.append(stop)
            left, taken, start = left - taken, 0, stop
    return ends


class Claims:
    """The claims of one replica on one dataset.

    On a file system without locks it is unknown if a replica has ended. Then the ranges are divided by number among the
    replicas, and no replica takes over another's range.

    Args:
        whole: The predictions file of the dataset, which need not exist.
        replica: The replica, which must hold ``lock``.

    Attributes:
        lock: The lock file that the replica holds while it works on the dataset.
        journal: The replica's journal.
        number: The replica's number.
        earlier: The journals of earlier runs, and of ended replicas whose ranges this one has taken over.
    """

    def __init__(self, whole: Path, replica: Replica) -> None:
        self.number = replica.number
        self.lock = lock_path(part_of(whole, self.number))
        self.journal = _journal_of(part_of(whole, self.number))
        self.earlier = [_journal_of(whole)]
        self._whole = whole
        self._replica = replica
        self._folder = claims_folder(whole) / replica.sweep
        self._order: Sequence[int] = ()
        self._sums: Sequence[int] = ()
        self._ranges: Mapping[str, range] = {}
        self._at_once = 1
        self._waiting: deque[int] = deque()
        self._open: dict[str, set[int]] = {}

    def begin(self) -> bool:
        """Begins work on the dataset. The first replica of a sweep joins the answers of earlier ones.

        Returns:
            False if the predictions exist already.

        Raises:
            DataError: The replica that joins the answers does not finish, and the file system has no locks.
        """
        latest = time.monotonic() + _MOST_SECONDS
        while not (self._whole.exists() or (self._folder / f'{_BEGIN}.{_DONE}').exists()):
            self._folder.mkdir(parents=True, exist_ok=True)  # the others may have failed, and removed their claims
            if self._claim(_BEGIN) and not self._whole.exists():  # otherwise the others have removed their claims
                _join(self._whole)
                for plan in self._folder.parent.glob(f'*/{_PLAN}'):
                    plan.unlink(missing_ok=True)
                self._make(f'{_BEGIN}.{_DONE}')
            elif not self.has_locks() and time.monotonic() > latest:
                what = 'the replica that joins the earlier answers does not end'
                raise DataError(self._folder, what, fix='opencompass ... -r')
            else:
                time.sleep(_SECONDS_PER_LOOK)
        if self._whole.exists():
            remove_claims(self._whole)
            return False
        self.journal.repair()
        return True

    def divide(self, order: Sequence[int], sizes: Sequence[int], at_once: int) -> None:
        """Sets the samples without an answer, the same for all replicas. The first replica divides them into ranges.

        Args:
            order: Indices of the samples, in prefix order.
            sizes: Size of each sample, such as its bytes.
            at_once: Number of samples that this replica works on at once.

        Raises:
            DataError: Another replica has other samples.
        """
        at_least = max(1, min(max(_RECORDS, at_once), len(order) // (_LEAST * self._replica.of)))
        digest = hashlib.sha256(json.dumps([list(order), list(sizes)]).encode()).hexdigest()
        mine = Plan(cut_ranges(sizes, self._replica.of, at_least), digest)
        self._make(_PLAN, json.dumps(asdict(mine)))
        plan = read_plan(file := self._folder / _PLAN)
        if self._whole.exists():  # the others have ended, and removed their plan
            remove_claims(self._whole)
            return
        if plan is None:
            raise DataError(file, 'the plan of this sweep cannot be read', fix='opencompass ... -r')
        if plan.order != digest:
            divided = plan.stops[-1] if plan.stops else 0
            what = f'another replica has divided {divided} samples, and this one has {len(order)} others'
            raise DataError(file, what, fix='give all nodes the same data, and run again with -r')
        self._order, self._at_once = order, at_once
        self._sums, self._ranges = [0, *accumulate(sizes)], self._ranges_of(plan)

    def take(self, room: int) -> list[int]:
        """Returns the indices of the next samples. Claims ranges while fewer samples are open than are sent at once.

        Args:
            room: Maximum number of indices.

        Returns:
            The indices; empty if nothing may be sent now.
        """
        while self._claim_range():
            pass
        return [self._waiting.popleft() for _ in range(min(room, len(self._waiting)))]

    def arrived(self, indices: Iterable[int]) -> None:
        """Records that rows of these samples are in the journal."""
        gone = set(indices)
        for left in self._open.values():
            left -= gone
        if done := [number for number, left in self._open.items() if not left]:
            self.journal.sync()  # a power cut must not leave a done mark without its rows
            for number in done:
                self._make(f'{number}.{_DONE}')
                del self._open[number]

    def has_locks(self) -> bool:
        """Tests if the file system has locks. Without locks a replica ends after its own ranges."""
        return probe(self._folder / f'{_BEGIN}.0') is not None

    def has_work(self) -> bool:
        """Tests if there is work for this replica: a free range, or predictions that nobody writes yet.

        Raises:
            DataError: Another replica could not write the predictions.
        """
        if plan := read_plan(self._folder / _PLAN):
            return bool(self._free([_END] if self._are_done(plan) else self._ranges_of(plan)))
        if self._whole.exists():
            return False
        what = 'another replica could not write these predictions: its log says why'
        raise DataError(self._whole, what, fix='opencompass ... -r')

    def finish(self, write: Callable[[list[Journal]], object]) -> None:
        """Writes the predictions of the whole dataset if all ranges are done, unless another replica does.

        Args:
            write: Writes the predictions from all journals; rows of later journals replace those of earlier ones. If it
                raises an exception, the journals are joined, so that a resumed run requests what is missing.
        """
        plan = read_plan(self._folder / _PLAN)
        if plan is None or not self._are_done(plan) or not self._claim(_END):
            return
        try:
            if not self._whole.exists():  # otherwise another replica has written them, and removes the claims
                write([_journal_of(self._whole), *_journals(self._whole).values()])
        except Exception:
            end_claims(self._whole)
            raise
        remove_claims(self._whole)

    def _make(self, name: str, text: str = '') -> bool:
        """Makes a file of the sweep, by default with this replica's number. It appears only when complete.

        Returns:
            False if the file exists already, or the sweep is over.
        """
        try:
            with whole_file(self._folder / name, is_new=True) as temporary:
                temporary.write_text(text or str(self.number))
            return True
        except (FileExistsError, FileNotFoundError):
            return False

    def _last_claims(self) -> dict[str, int | None]:
        """Returns the number of the last claim on each range (or ``begin``, ``end``); None if it is done."""
        last: dict[str, int | None] = {}
        for file in self._folder.glob('*.*'):
            if file.suffix == f'.{_DONE}':
                last[file.stem] = None
            elif file.suffix[1:].isdecimal() and (before := last.get(file.stem, -1)) is not None:
                last[file.stem] = max(before, int(file.suffix[1:]))
        return last

    def _free(self, things: Iterable[str]) -> dict[str, int]:
        """Returns which of ``things`` (ranges, ``begin``, ``end``) are free, with the number of the next claim."""
        last = self._last_claims()
        claims = [(what, number) for what in things if (number := last.get(what, -1)) is not None]
        return {what: number + 1 for what, number in claims if number < 0 or self._is_left(what, number)}

    def _is_left(self, what: str, number: int) -> bool:
        """Tests if the replica with the last claim has ended. This replica's number means an earlier process."""
        try:
            replica = int(read_plain(self._folder / f'{what}.{number}', _MOST_BYTES))
        except (OSError, ValueError):
            return True  # damaged by a power cut, which also ended the replica
        return what not in self._open if replica == self.number else self._has_ended(replica)

    def _has_ended(self, replica: int) -> bool:
        return probe(lock_path(part_of(self._whole, replica))) is False

    def _claim(self, what: str) -> bool:
        """Claims a range (or ``begin``, ``end``); returns False if it is done or claimed by a running replica."""
        return any(self._make(f'{what}.{number}') for number in self._free([what]).values())

    def _ranges_of(self, plan: Plan) -> dict[str, range]:
        """Returns the ranges that this replica may claim."""
        step = 1 if self.has_locks() else self._replica.of
        ranges = [range(*bounds) for bounds in pairwise([0, *plan.stops])]
        return {str(number): ranges[number] for number in range(self.number % step, len(ranges), step)}

    def _are_done(self, plan: Plan) -> bool:
        last = self._last_claims()
        return all(last.get(str(number), 0) is None for number in range(len(plan.stops)))

    def _claim_range(self) -> bool:
        """Claims the largest free range; returns False if there is none, or this replica has enough open samples."""
        in_hand = sum(map(len, self._open.values()))
        if in_hand >= self._at_once:
            return False
        free = self._free(self._ranges)
        # Otherwise a replica that sends hundreds of requests at once would take a whole short dataset.
        is_enough = in_hand and in_hand * self._replica.of >= sum(len(self._ranges[what]) for what in free)
        if not free or is_enough or not (self._folder / _PLAN).exists():
            return False
        what = max(free, key=lambda one: self._sums[self._ranges[one].stop] - self._sums[self._ranges[one].start])
        if not self._make(f'{what}.{free[what]}'):
            return True  # another replica was first; there may be other free ranges
        journals = _journals(self._whole).items() if free[what] else ()
        ended = [journal for number, journal in journals if number == self.number or self._has_ended(number)]
        asked = {row['idx'] for journal in ended for row in journal.rows() if 'prediction' in row}
        indices = [index for place in self._ranges[what] if (index := self._order[place]) not in asked]
        known = {journal.path for journal in self.earlier}
        self.earlier += [journal for journal in ended if journal.path not in known]
        self._open[what] = set(indices)
        self._waiting.extend(indices)
        self.arrived(())
        return True


def replica_of(cfg: Mapping[str, object]) -> Replica | None:
    """Returns the replica in a task's config; None if the task is not a replica."""
    given = cfg.get('replica')
    return Replica(**given) if isinstance(given, Mapping) else None
