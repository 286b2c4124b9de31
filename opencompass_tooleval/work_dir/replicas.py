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
import os
import secrets
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from itertools import accumulate, islice, pairwise
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import read_plain
from opencompass_tooleval.work_dir.journal import Journal
from opencompass_tooleval.work_dir.lock import lock_path, probe
from opencompass_tooleval.work_dir.shards import part_of, parts_of
from opencompass_tooleval.work_dir.whole_file import write_whole

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
"""How long a replica waits for the one that joins the journals, if the file system cannot tell that it has ended."""


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
        samples: Number of samples of the data set.
        stops: Index behind the last record of each range of the records without an answer, in prefix order.
        order: SHA-256 of these records.
    """

    samples: int
    stops: Sequence[int]
    order: str


def claims_folder(whole: Path) -> Path:
    """Returns the folder of claims beside a predictions file; it exists while replicas work on the data set."""
    return whole.with_name(f'.{whole.stem}.claims')


def read_plan(whole: Path) -> Plan | None:
    """Returns the plan of the replicas that work on a data set; None if there is none, or it cannot be read."""
    return next(map(_read, claims_folder(whole).glob(f'*/{_PLAN}')), None)


def _read(file: Path) -> Plan | None:
    try:
        value = load_json(read_plain(file, _MOST_BYTES), bounded=True)
        return Plan(int(value['samples']), [int(stop) for stop in value['stops']], str(value['order']))
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
    _remove_file(folder)


def _remove_file(folder: Path) -> None:
    """Removes the one file of claims that version 0.2 had in place of the folder, and the file that was locked."""
    for file in (folder, folder.with_name(f'{folder.name}.mutex')):
        if file.is_file():
            file.unlink(missing_ok=True)


def end_claims(whole: Path) -> None:
    """Gives what replicas of an earlier sweep left to a single task. The caller holds the lock of the predictions."""
    if claims_folder(whole).exists():
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
        self._mine: Path | None = None
        self._samples = 0
        self._order: Sequence[int] = ()
        self._bounds: Sequence[tuple[int, int]] = ()
        self._weights: Sequence[int] = ()
        self._own: Sequence[str] = ()
        self._at_once = 1
        self._waiting: deque[int] = deque()
        self._open: dict[str, set[int]] = {}

    def begin(self, samples: int) -> bool:
        """Begins work on the data set: the first replica of a sweep joins what earlier ones have answered.

        Args:
            samples: Number of samples of the data set.

        Returns:
            False if the predictions are there.

        Raises:
            DataError: The replica that joins the answers has ended, and the file system has no locks to tell.
        """
        claims, self._samples = claims_folder(self._whole), samples
        if not self._whole.exists():
            _remove_file(claims)
            self._folder.mkdir(parents=True, exist_ok=True)
        latest = time.monotonic() + _MOST_SECONDS
        while not (self._whole.exists() or (self._folder / f'{_BEGIN}.{_DONE}').exists()):
            if not self._claim(_BEGIN):
                if not self.has_locks() and time.monotonic() > latest:
                    what = f'the replica that joins the earlier answers has not ended for {_MOST_SECONDS:.0f} s'
                    raise DataError(self._folder, what, fix='opencompass ... -r')
                time.sleep(_SECONDS_PER_LOOK)
            elif not self._whole.exists():  # otherwise the others have ended, and removed their claims
                _join(self._whole)
                for folder in claims.iterdir():
                    if folder != self._folder:
                        shutil.rmtree(folder, ignore_errors=True)
                self._link(f'{_BEGIN}.{_DONE}')
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
        file, stops = self._folder / _PLAN, cut_ranges(sizes, self._replica.of, at_least)
        with suppress(FileExistsError, FileNotFoundError):
            os.link(self._write(_PLAN, json.dumps(asdict(Plan(self._samples, stops, digest)))), file)
        plan = _read(file)
        if self._whole.exists():
            return  # the others have ended, and removed the plan
        if plan is None:
            raise DataError(file, 'the plan of this sweep cannot be read', fix='opencompass ... -r')
        if plan.order != digest:
            divided = plan.stops[-1] if plan.stops else 0
            what = f'another replica has divided {divided} samples, and this one has {len(order)} others'
            raise DataError(file, what, fix='give all nodes the same data, and run again with -r')
        self._order, self._at_once = order, at_once
        sums = [0, *accumulate(sizes)]
        self._bounds, self._own = list(pairwise([0, *plan.stops])), self._ranges(plan)
        self._weights = [sums[stop] - sums[start] for start, stop in self._bounds]

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
                self._link(f'{number}.{_DONE}')
                del self._open[number]

    def has_locks(self) -> bool:
        """Tests if the file system has locks, without which a replica ends after its own ranges."""
        return probe(self._folder / f'{_BEGIN}.0') is not None

    def has_work(self) -> bool:
        """Tests if a range is free, or all are done and nobody writes the predictions. Others may still work.

        Raises:
            DataError: The replica that found all ranges done could not write the predictions.
        """
        if plan := _read(self._folder / _PLAN):
            return bool(self._free([_END] if self._are_done(plan) else self._ranges(plan)))
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
        plan = _read(self._folder / _PLAN)
        if plan is None or not self._are_done(plan) or not self._claim(_END):
            return
        try:
            write([_journal_of(self._whole), *_journals(self._whole).values()])
        except Exception:
            _join(self._whole)
            remove_claims(self._whole)
            raise
        remove_claims(self._whole)

    def _write(self, name: str, text: str) -> Path:
        """Writes a file of this replica, which gets a name for all as a link."""
        write_whole(file := self._folder / f'{name}-{secrets.token_hex(8)}', text)
        return file

    def _link(self, name: str) -> bool:
        """Makes a name of the file of this replica; returns False if another did, or the sweep is over."""
        try:
            self._mine = self._mine or self._write('replica', str(self.number))
            with suppress(FileExistsError):
                os.link(self._mine, self._folder / name)
            return self._mine.samefile(self._folder / name)  # NFS may report an error of a link that it made
        except FileNotFoundError:
            self._bounds = ()  # others have removed the claims
            return False

    def _last_claims(self) -> dict[str, int | None]:
        """Returns the number of the last claim of each thing that is claimed; None if it is done."""
        last: dict[str, int | None] = {}
        with suppress(FileNotFoundError):
            for name in os.listdir(self._folder):
                what, _, number = name.rpartition('.')
                if number == _DONE:
                    last[what] = None
                elif number.isdecimal() and (before := last.get(what, -1)) is not None:
                    last[what] = max(before, int(number))
        return last

    def _free(self, things: Iterable[str]) -> dict[str, int]:
        """Returns those of some things that nobody has, with the number of the next claim."""

        @cache
        def has_ended(replica: int) -> bool:
            return probe(lock_path(part_of(self._whole, replica))) is False

        def is_free(what: str, claim: str) -> bool:
            try:
                replica = int(read_plain(self._folder / claim, _MOST_BYTES))
            except (OSError, ValueError):
                return True  # damaged by a power cut, which ended its replica
            # With the number of this one: of an earlier process.
            return what not in self._open if replica == self.number else has_ended(replica)

        last, free = self._last_claims(), dict[str, int]()
        for what in things:
            number = last.get(what, -1)
            if number is not None and (number < 0 or is_free(what, f'{what}.{number}')):
                free[what] = number + 1
        return free

    def _claim(self, what: str) -> bool:
        """Claims something, unless it is done, a replica that has not ended has it, or another is first."""
        return any(self._link(f'{what}.{number}') for number in self._free([what]).values())

    def _ranges(self, plan: Plan) -> list[str]:
        """Returns the ranges that this replica may claim."""
        own = range(len(plan.stops)) if self.has_locks() else range(self.number, len(plan.stops), self._replica.of)
        return list(map(str, own))

    def _are_done(self, plan: Plan) -> bool:
        last = self._last_claims()
        return all(last.get(str(number), 0) is None for number in range(len(plan.stops)))

    def _claim_range(self) -> bool:
        """Claims the largest free range; returns False if there is none, or enough is in hand."""
        in_hand = sum(map(len, self._open.values()))
        if in_hand >= self._at_once or not self._bounds:
            return False
        free = self._free(self._own)
        left = sum(self._bounds[int(what)][1] - self._bounds[int(what)][0] for what in free)
        # Otherwise one that sends hundreds at once has all of a short data set, and the others none.
        if not free or (in_hand and in_hand * self._replica.of >= left) or not (self._folder / _PLAN).exists():
            return False
        what = max(free, key=lambda what: self._weights[int(what)])
        if not self._link(f'{what}.{free[what]}'):
            return True  # another was first: there may be more
        journals = []
        if free[what]:
            ended = (
                (number, journal)
                for number, journal in _journals(self._whole).items()
                if number == self.number or probe(lock_path(part_of(self._whole, number))) is False
            )
            journals = [journal for _, journal in ended]
        asked = {row['idx'] for journal in journals for row in journal.rows() if 'prediction' in row}
        indices = [index for index in self._order[slice(*self._bounds[int(what)])] if index not in asked]
        known = {journal.path for journal in self.earlier}
        self.earlier += [journal for journal in journals if journal.path not in known]
        self._open[what] = set(indices)
        self._waiting.extend(indices)
        self.arrived(())
        return True


def replica_of(cfg: Mapping[str, object]) -> Replica | None:
    """Returns the replica that the config of a task is for; None for a task that shares nothing."""
    given = cfg.get('replica')
    return Replica(**given) if isinstance(given, Mapping) else None
