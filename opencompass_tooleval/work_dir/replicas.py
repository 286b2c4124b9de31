"""Divides a dataset into ranges that replicas of a model claim, by files in the folder ``.NAME.claims``.

A replica is a task with the same model and datasets as the other replicas, and a number. While it works on a dataset it
holds the lock of ``NAME_3``, and adds its answers to the dataset's :mod:`~opencompass_tooleval.work_dir.store`.

Each sweep has a subfolder with ``stored`` (how much of the store was there when the sweep began), ``begun`` (the plans
of earlier sweeps are removed), ``plan`` (the ranges), ``7.0`` (a replica claims range 7), ``7.1`` (another replica
claims it because the first has ended), ``7.done``, and the same names for ``end``. Each of these files is made as a
link to a complete file, so it exists whole or not at all, only one process makes it, and it never changes. The next
sweep does not need these files.

Whether a replica has ended is told by its :mod:`~opencompass_tooleval.work_dir.heartbeat`, so that no file system needs
locks. If a replica that was paused or cut off for a minute continues, the samples that it had in flight may have two
answers, of which the predictions have one; it gives up what others have taken over.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import read_plain
from opencompass_tooleval.work_dir.heartbeat import Heartbeat, Worker, heartbeat_of
from opencompass_tooleval.work_dir.names import (
    Replica,
    answers_folder,
    claims_folder,
    replica_file,
    replica_lock,
)
from opencompass_tooleval.work_dir.store import AnswerStore
from opencompass_tooleval.work_dir.whole_file import whole_file

_MOST_BYTES = 1 << 22
_RECORDS = 16
"""Minimum number of records in a range, if there are enough. Large ranges keep similar prompts together."""
_MOST, _OF_REST, _LEAST = 8, 4, 32
"""Sizes of ranges: a quarter of what is left of a replica's share, at most an eighth of the share and at least a 32nd.
So a replica with a tenth of the others' speed ends its first range in time, and all end almost together."""
_STORED, _BEGUN, _PLAN, _END, _DONE = 'stored', 'begun', 'plan', 'end', 'done'


@dataclass(frozen=True)
class Plan:
    """The division of a dataset into ranges.

    Attributes:
        stops: End index (exclusive) of each range, over the records without an answer in prefix order.
        order: SHA-256 of these records.
    """

    stops: Sequence[int]
    order: str


def read_plan(file: Path) -> Plan | None:
    """Reads a plan; returns None if it is missing or invalid."""
    try:
        value = load_json(read_plain(file, _MOST_BYTES), bounded=True)
        return Plan([int(stop) for stop in value['stops']], str(value['order']))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return None


def read_claim(file: Path) -> Worker | None:
    """Reads which replica has made a claim; returns None if the content is invalid.

    Raises:
        OSError: The file is missing or cannot be read.
    """
    try:
        worker = Worker(**load_json(read_plain(file, _MOST_BYTES), bounded=True))
    except (ValueError, TypeError):
        return None
    # isinstance would take true for attempt 1.
    kinds = (type(worker.number), type(worker.start), type(worker.attempt), type(worker.machine))
    return worker if kinds == (int, str, int, str) and worker.start.isalnum() else None


def remove_claims(whole: Path) -> None:
    """Removes the claims of replicas."""
    folder = claims_folder(whole)
    for plan in folder.glob(f'*/{_PLAN}'):
        plan.unlink(missing_ok=True)  # first: without a plan no replica claims a range whose done mark is removed
    shutil.rmtree(folder, ignore_errors=True)


def _ranges_of(plan: Plan) -> dict[str, range]:
    return {str(number): range(*bounds) for number, bounds in enumerate(pairwise([0, *plan.stops]))}


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

    Args:
        whole: The predictions file of the dataset, which need not exist.
        replica: The replica, which must hold ``lock``.

    Attributes:
        lock: The lock file that the replica holds while it works on the dataset.
        store: The answers. After :meth:`begin` it shows what was stored before the sweep, and the answers of replicas
            whose ranges this one has taken over.
    """

    def __init__(self, whole: Path, replica: Replica) -> None:
        self.lock = replica_lock(whole, replica.number)
        self.store = AnswerStore(answers_folder(whole))
        self._whole = whole
        self._replica = replica
        self._folder = claims_folder(whole) / replica.sweep
        self._heartbeat: Heartbeat | None = None
        self._order: Sequence[int] = ()
        self._sums: Sequence[int] = ()
        self._ranges: Mapping[str, range] = {}
        self._asked: Callable[[], Collection[int]] = set
        self._at_once = 1
        self._looked = 0
        self._waiting: deque[int] = deque()
        self._open: dict[str, set[int]] = {}

    def begin(self) -> bool:
        """Begins work on the dataset.

        Returns:
            False if the predictions exist already.

        Raises:
            DataError: The list of what was stored before cannot be read.
        """
        while not self._whole.exists():
            self._folder.mkdir(parents=True, exist_ok=True)  # the others may have failed, and removed their claims
            if self._begins_attempt():
                self._make(_STORED, json.dumps(self.store.sizes()))
                if not (self._folder / _BEGUN).exists():
                    self._end_earlier_sweeps()
                    self._make(_BEGUN)
                if (sizes := self._stored()) is not None:
                    self.store.visible = sizes
                    return True
        remove_claims(self._whole)
        return False

    def _end_earlier_sweeps(self) -> None:
        for plan in self._folder.parent.glob(f'*/{_PLAN}'):
            if plan.parent != self._folder:
                plan.unlink(missing_ok=True)

    def _stored(self) -> dict[str, float] | None:
        """Returns the sizes of the files that were stored before the sweep; None if the claims have been removed."""
        file = self._folder / _STORED
        try:
            sizes = load_json(read_plain(file, _MOST_BYTES), bounded=True)
            return {str(name): float(size) for name, size in sizes.items()}
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise DataError(file, f'it cannot be read ({error})', fix='opencompass ... -r') from error

    def _begins_attempt(self) -> bool:
        """Shows the others that this replica works here; returns False if they have just removed their claims."""
        with suppress(FileNotFoundError):
            heartbeat = heartbeat_of(self._folder, self._replica.number)
            if heartbeat is not self._heartbeat:
                heartbeat.begin(self.lock)
                self._heartbeat = heartbeat
                self.store = AnswerStore(self.store.folder, self._file_of(heartbeat.worker))
            return True
        return False

    def _file_of(self, worker: Worker) -> str:
        return replica_file(self._replica.sweep, worker.number, f'{worker.start}{worker.attempt:04d}')

    @property
    def _worker(self) -> Worker:
        assert self._heartbeat, 'claims are made between begin() and leave()'
        return self._heartbeat.worker

    def leave(self) -> None:
        """Ends the work of this process on the dataset: the others may claim what it has claimed and not done."""
        if self._heartbeat:
            self._heartbeat.end()
        if self._whole.exists():  # another replica wrote the predictions while this one began
            remove_claims(self._whole)

    def divide(
        self, order: Sequence[int], sizes: Sequence[int], at_once: int, asked: Callable[[], Collection[int]]
    ) -> None:
        """Sets the samples without an answer, the same for all replicas. The first replica divides them into ranges.

        Args:
            order: Indices of the samples, in prefix order.
            sizes: Size of each sample, such as its bytes.
            at_once: Number of samples that this replica works on at once.
            asked: Reads what other files of the store have become visible, and returns the indices of samples that
                other replicas have asked.

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
        self._order, self._at_once, self._asked = order, at_once, asked
        self._sums, self._ranges = [0, *accumulate(sizes)], _ranges_of(plan)

    def take(self, room: int) -> list[int]:
        """Returns the indices of the next samples. Claims ranges while fewer samples are open than are sent at once.

        Args:
            room: Maximum number of indices.

        Returns:
            The indices; empty if nothing may be sent now.
        """
        if self._heartbeat and self._heartbeat.beats != self._looked:
            self._looked = self._heartbeat.beats
            self._leave_lost_ranges()
        while self._claim_range():
            pass
        return [self._waiting.popleft() for _ in range(min(room, len(self._waiting)))]

    def _leave_lost_ranges(self) -> None:
        """Gives up the samples in hand of ranges that other replicas have taken over, as this one was paused."""
        for what in [what for what in self._open if not self._is_mine(what)]:
            lost = self._open.pop(what)
            self._waiting = deque(index for index in self._waiting if index not in lost)

    def arrived(self, indices: Iterable[int]) -> None:
        """Records that rows of these samples are in the store."""
        gone = set(indices)
        for left in self._open.values():
            left -= gone
        if done := [number for number, left in self._open.items() if not left]:
            self.store.sync()  # a power cut must not leave a done mark without its rows
            for number in done:
                if self._is_mine(number):  # otherwise others have taken it over, or divided the samples again
                    self._make(f'{number}.{_DONE}')
                del self._open[number]

    def has_work(self) -> bool:
        """Tests if there is work for this replica: a free range, or predictions that nobody writes yet.

        Raises:
            DataError: Another replica could not write the predictions.
        """
        if plan := read_plan(self._folder / _PLAN):
            return bool(self._free([_END] if self._are_done(plan) else _ranges_of(plan)))
        if self._whole.exists():
            return False
        what = 'another replica could not write these predictions: its log says why'
        raise DataError(self._whole, what, fix='opencompass ... -r')

    def finish(self, write: Callable[[], object]) -> None:
        """Writes the predictions of the whole dataset if all ranges are done, unless another replica does.

        Args:
            write: Writes the predictions from the store, whose files are all visible then.
        """
        plan = read_plan(self._folder / _PLAN)
        if plan is None or not self._are_done(plan) or not self._claim(_END):
            return
        self.store.visible = None
        try:
            if not self._whole.exists():  # otherwise another replica has written them, and removes the claims
                write()
        except Exception:
            if self._is_mine(_END):  # otherwise another replica has written them, as this one did not go on
                remove_claims(self._whole)
                raise
            return
        remove_claims(self._whole)

    def _make(self, name: str, text: str = '') -> bool:
        """Makes a file of the sweep, by default with the worker. It appears only when complete.

        Returns:
            False if the file exists already, or the sweep is over.
        """
        try:
            with whole_file(self._folder / name, is_new=True) as temporary:
                temporary.write_text(text or json.dumps(asdict(self._worker)))
            return True
        except FileExistsError:
            return False
        except FileNotFoundError:
            # Where locks hold for each process only, another one may have removed the temporary file as a leftover.
            return self._folder.exists() and not (self._folder / name).exists() and self._make(name, text)

    def _last_claims(self) -> dict[str, int | None]:
        """Returns the number of the last claim on each range (or ``end``); None if it is done."""
        last: dict[str, int | None] = {}
        for file in self._folder.glob('*.*'):
            if file.suffix == f'.{_DONE}':
                last[file.stem] = None
            elif file.suffix[1:].isdecimal() and (before := last.get(file.stem, -1)) is not None:
                last[file.stem] = max(before, int(file.suffix[1:]))
        return last

    def _free(self, things: Collection[str]) -> dict[str, int]:
        """Returns which of ``things`` (ranges, ``end``) are free, with the number of the next claim.

        These are the unclaimed ones. If there are none, they are those of ended replicas.
        """
        last = self._last_claims()
        claims = {what: number for what in things if (number := last.get(what, -1)) is not None}
        unclaimed = {what: 0 for what, number in claims.items() if number < 0}
        if unclaimed or self._open:
            return unclaimed
        return {what: number + 1 for what, number in claims.items() if self._is_left(what, number)}

    def _is_left(self, what: str, number: int) -> bool:
        """Tests if the attempt with the last claim has ended."""
        with suppress(OSError):
            worker = read_claim(self._folder / f'{what}.{number}')
            if worker is None:
                return True  # damaged by a power cut, which also ended the replica
            heartbeat = self._heartbeat or heartbeat_of(self._folder, self._replica.number)
            return heartbeat.has_ended(worker, replica_lock(self._whole, worker.number))
        return False  # unknown, or the claims have just been removed

    def _is_mine(self, what: str) -> bool:
        """Tests if the last claim is of this replica, and not done."""
        number = self._last_claims().get(what)
        return number is not None and self._claimant(what, number) == self._worker

    def _claimant(self, what: str, number: int) -> Worker | None:
        """Returns which replica has made a claim; None if the claim cannot be read."""
        with suppress(OSError):
            return read_claim(self._folder / f'{what}.{number}')
        return None

    def _claim(self, what: str) -> bool:
        """Claims a range (or ``end``); returns False if it is done or claimed by a running replica."""
        return any(self._make(f'{what}.{number}') for number in self._free([what]).values())

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
        for number in range(free[what]):
            self._show(self._claimant(what, number))
        asked = self._asked() if free[what] else ()
        indices = [index for place in self._ranges[what] if (index := self._order[place]) not in asked]
        self._open[what] = set(indices)
        self._waiting.extend(indices)
        self.arrived(())
        return True

    def _show(self, worker: Worker | None) -> None:
        """Makes the answers of a replica in this sweep visible; of all if the claim cannot be read."""
        files = [file.name for file in self.store.files() if file.name.startswith(f'{self._replica.sweep}-')]
        shown = files if worker is None else [self._file_of(worker)]
        self.store.visible = {**(self.store.visible or {}), **dict.fromkeys(shown, math.inf)}
