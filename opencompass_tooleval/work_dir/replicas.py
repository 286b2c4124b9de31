"""Ranges of a data set that the replicas of a model claim as they become free: files in the folder ``.NAME.claims``.

A replica is a task with the model and the data sets of the others, and a number. While it works on a data set it holds
the lock of ``NAME_3``, and journals its answers in ``tmp_NAME_3.jsonl``, by the indices of the whole data set.

Each sweep has a folder in that one, with ``plan`` (the ranges), ``7.0`` (a replica claims range 7), ``7.1`` (another
does, since that one has ended), ``7.done``, and the same for ``begin`` and ``end``. Each of these names is a link to a
file that was complete and on the disk before: it exists whole or not at all, one process makes it, and it never
changes. The next sweep needs none of them: it joins the journals.
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
"""Records of a range, if there are enough; fewer ranges keep more prompts with a common beginning together."""
_MOST, _OF_REST, _LEAST = 8, 4, 32
"""Parts of a replica's share: a range is a quarter of what is left of it, between an eighth and a 32nd of the whole.

A replica of a tenth of the others' speed ends its first range in time, and the last ranges end almost together."""
_ROWS = 256
_PLAN, _BEGIN, _END, _DONE = 'plan', 'begin', 'end', 'done'
_SECONDS_PER_LOOK = 0.05
_MOST_SECONDS = 600.0
"""Seconds that a replica waits for the one that joins the journals, on a file system without locks."""


@dataclass(frozen=True)
class Replica:
    """One of the tasks that share the data sets of a model.

    Attributes:
        number: Its number, from 0.
        of: Number of replicas.
        sweep: Text that only the replicas of one partition have in common: what an earlier sweep claimed is void.
    """

    number: int
    of: int
    sweep: str


@dataclass(frozen=True)
class Plan:
    """The division of a data set.

    Attributes:
        stops: Index behind the last record of each range of the records without an answer, in prefix order.
        order: SHA-256 of these records.
    """

    stops: Sequence[int]
    order: str


def claims_folder(whole: Path) -> Path:
    """Returns the folder of claims beside a predictions file; it exists while replicas work on the data set."""
    return whole.with_name(f'.{whole.stem}.claims')


def read_plan(file: Path) -> Plan | None:
    """Reads a plan; None if there is none, or it cannot be read."""
    try:
        value = load_json(read_plain(file, _MOST_BYTES), bounded=True)
        return Plan([int(stop) for stop in value['stops']], str(value['order']))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return None


def _journal_of(file: Path) -> Journal:
    return Journal(file.with_name(f'tmp_{file.stem}.jsonl'))


def _journals(whole: Path) -> dict[int, Journal]:
    """Returns number -> journal of the replicas."""
    journals = {int(part.stem.rpartition('_')[2]): _journal_of(part) for part in parts_of(whole)}
    return {number: journal for number, journal in journals.items() if journal.path.exists()}


def _join(whole: Path) -> None:
    """Moves the rows of the replicas' journals to that of the whole data set, where a run that is resumed reads them.

    A dialogue that failed is begun again, with the rounds that the journal has: its row would count their usage twice.
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
    """Removes the claims of replicas and their journals, whose rows are elsewhere."""
    folder = claims_folder(whole)
    for plan in folder.glob(f'*/{_PLAN}'):
        plan.unlink(missing_ok=True)  # first: without it nobody takes a range whose done mark is gone for a free one
    for journal in _journals(whole).values():
        journal.remove()
    shutil.rmtree(folder, ignore_errors=True)


def end_claims(whole: Path) -> None:
    """Gives what replicas left to a single task, or to the next sweep.

    The caller holds the lock of the predictions, or the claim of the end.
    """
    if claims_folder(whole).is_dir():
        _join(whole)
        remove_claims(whole)


def cut_ranges(sizes: Sequence[int], replicas: int, at_least: int = 1) -> list[int]:
    """Divides a sequence into ranges that get smaller.

    Args:
        sizes: Size of each item, such as its bytes.
        replicas: Number of replicas.
        at_least: Number of items of a range; the last may have fewer.

    Returns:
        The index behind the last item of each range.
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
    """The claims of one replica on one data set.

    On a file system without locks nobody can tell that a replica has ended: each has the ranges whose number leaves its
    own when it is divided by the number of replicas, and takes nothing over.

    Args:
        whole: The predictions file of the data set, which need not exist.
        replica: The replica. It holds ``lock``.

    Attributes:
        lock: The lock file that the replica holds while it works on the data set.
        journal: Its journal.
        number: Its number.
        earlier: The journal of earlier runs, and those of ended replicas of which it has taken over ranges.
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
        """Begins work on the data set: the first replica of a sweep joins what earlier ones have answered.

        Returns:
            False if the predictions are there.

        Raises:
            DataError: The replica that joins the answers has ended, and the file system has no locks to tell.
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
        """Sets the samples without an answer, which are the same for all replicas; the first one divides them.

        Args:
            order: Their indices, in prefix order.
            sizes: Size of each.
            at_once: Number of samples that this replica works on at once.

        Raises:
            DataError: Another replica has divided other samples.
        """
        at_least = max(1, min(max(_RECORDS, at_once), len(order) // (_LEAST * self._replica.of)))
        digest = hashlib.sha256(json.dumps([list(order), list(sizes)]).encode()).hexdigest()
        mine = Plan(cut_ranges(sizes, self._replica.of, at_least), digest)
        self._make(_PLAN, json.dumps(asdict(mine)))
        plan = read_plan(file := self._folder / _PLAN)
        if self._whole.exists():
            return  # the others have ended, and removed the plan
        if plan is None:
            raise DataError(file, 'the plan of this sweep cannot be read', fix='opencompass ... -r')
        if plan.order != digest:
            divided = plan.stops[-1] if plan.stops else 0
            what = f'another replica has divided {divided} samples, and this one has {len(order)} others'
            raise DataError(file, what, fix='give all nodes the same data, and run again with -r')
        self._order, self._at_once = order, at_once
        self._sums, self._ranges = [0, *accumulate(sizes)], self._ranges_of(plan)

    def take(self, room: int) -> list[int]:
        """Returns the indices of the next samples; claims ranges while fewer samples are open than run at once.

        Args:
            room: Maximum number.

        Returns:
            Indices; empty if nothing may be sent now.
        """
        while self._claim_range():
            pass
        return [self._waiting.popleft() for _ in range(min(room, len(self._waiting)))]

    def arrived(self, indices: Iterable[int]) -> None:
        """Notes samples whose rows are in the journal."""
        gone = set(indices)
        for left in self._open.values():
            left -= gone
        if done := [number for number, left in self._open.items() if not left]:
            self.journal.sync()  # a power cut must not leave the mark without the rows
            for number in done:
                self._make(f'{number}.{_DONE}')
                del self._open[number]

    def has_locks(self) -> bool:
        """Tests if the file system has locks, without which a replica ends after its own ranges."""
        return probe(self._folder / f'{_BEGIN}.0') is not None

    def has_work(self) -> bool:
        """Tests if a range is free, or all are done and nobody writes the predictions. Others may still work.

        Raises:
            DataError: The replica that found all ranges done could not write the predictions.
        """
        if plan := read_plan(self._folder / _PLAN):
            return bool(self._free([_END] if self._are_done(plan) else self._ranges_of(plan)))
        if self._whole.exists():
            return False
        what = 'another replica could not write these predictions: its log says why'
        raise DataError(self._whole, what, fix='opencompass ... -r')

    def finish(self, write: Callable[[list[Journal]], object]) -> None:
        """Writes the predictions of the whole data set if all ranges are done, unless another replica does.

        Args:
            write: Writes them, from the journals of all; a later journal replaces rows of earlier ones. If it raises,
                the journals are joined, so that a run that is resumed asks for what is missing.
        """
        plan = read_plan(self._folder / _PLAN)
        if plan is None or not self._are_done(plan) or not self._claim(_END):
            return
        try:
            write([_journal_of(self._whole), *_journals(self._whole).values()])
        except Exception:
            end_claims(self._whole)
            raise
        remove_claims(self._whole)

    def _make(self, name: str, text: str = '') -> bool:
        """Makes a file of the sweep, by default with this replica's number; its name appears once it is on the disk.

        Returns:
            False if it was there, or the sweep is over.
        """
        try:
            with whole_file(self._folder / name, is_new=True) as temporary:
                temporary.write_text(text or str(self.number))
            return True
        except (FileExistsError, FileNotFoundError):
            return False

    def _last_claims(self) -> dict[str, int | None]:
        """Returns the number of the last claim of each thing that is claimed; None if it is done."""
        last: dict[str, int | None] = {}
        for file in self._folder.glob('*.*'):
            if file.suffix == f'.{_DONE}':
                last[file.stem] = None
            elif file.suffix[1:].isdecimal() and (before := last.get(file.stem, -1)) is not None:
                last[file.stem] = max(before, int(file.suffix[1:]))
        return last

    def _free(self, things: Iterable[str]) -> dict[str, int]:
        """Returns those of some things that nobody has, each with the number of its next claim."""
        last = self._last_claims()
        claims = [(what, number) for what in things if (number := last.get(what, -1)) is not None]
        return {what: number + 1 for what, number in claims if number < 0 or self._is_left(what, number)}

    def _is_left(self, what: str, number: int) -> bool:
        """Tests if the replica with the last claim has ended; one with the number of this one is an earlier process."""
        try:
            replica = int(read_plain(self._folder / f'{what}.{number}', _MOST_BYTES))
        except (OSError, ValueError):
            return True  # damaged by a power cut, which ended it
        return what not in self._open if replica == self.number else self._has_ended(replica)

    def _has_ended(self, replica: int) -> bool:
        return probe(lock_path(part_of(self._whole, replica))) is False

    def _claim(self, what: str) -> bool:
        """Claims something, unless it is done, a replica that has not ended has it, or another is first."""
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
        """Claims the largest free range; returns False if there is none, or enough is in hand."""
        in_hand = sum(map(len, self._open.values()))
        if in_hand >= self._at_once:
            return False
        free = self._free(self._ranges)
        # Otherwise one that sends hundreds at once has all of a short data set, and the others none.
        is_enough = in_hand and in_hand * self._replica.of >= sum(len(self._ranges[what]) for what in free)
        if not free or is_enough or not (self._folder / _PLAN).exists():
            return False
        what = max(free, key=lambda one: self._sums[self._ranges[one].stop] - self._sums[self._ranges[one].start])
        if not self._make(f'{what}.{free[what]}'):
            return True  # another was first: there may be more
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
    """Returns the replica that the config of a task is for; None for a task that shares nothing."""
    given = cfg.get('replica')
    return Replica(**given) if isinstance(given, Mapping) else None
