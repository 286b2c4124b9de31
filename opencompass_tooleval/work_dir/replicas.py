"""Ranges of a data set that the replicas of a model claim as they become free: ``.NAME.claims``, one file for all.

A replica is a task with the model and the data sets of the others, and a number. While it works on a data set it holds
the lock of ``NAME_3``, and journals its answers there as a shard would, by the indices of the whole data set. The file
says which range is whose. The claims of a replica that ended with open ones are recognised by its lock, and are
free again. Who finds all ranges done writes the predictions of the whole data set.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import accumulate, islice, pairwise
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.work_dir.data_files import read_plain
from opencompass_tooleval.work_dir.journal import Journal, Row
from opencompass_tooleval.work_dir.lock import lock_path, probe
from opencompass_tooleval.work_dir.shards import numbered_shards, part_of, whole_of
from opencompass_tooleval.work_dir.whole_file import locked_content

logger = logging.getLogger(__name__)

_MOST_BYTES = 1 << 22
_RECORDS = 16
"""Records of a range, if there are enough; fewer ranges keep more prompts with a common beginning together."""
_MOST, _OF_REST, _LEAST = 8, 4, 32
"""Parts of a replica's share: a range is a quarter of what is left of it, between an eighth and a 32nd of the whole.

A replica of a tenth of the others' speed ends its first range in time, and the last ranges end almost together."""
_ROWS = 256


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


@dataclass
class Range:
    """A range of the records without an answer, in prefix order.

    Attributes:
        stop: Index behind its last record.
        done: True if all its records were asked.
        claimers: Numbers of the replicas that claimed it; the last one has it.
    """

    stop: int
    done: bool = False
    claimers: list[int] = field(default_factory=list)


@dataclass
class Shares:
    """Content of a claims file.

    Attributes:
        sweep: As of :class:`Replica`.
        samples: Number of samples of the data set.
        ranges: The ranges, in order; empty before the data set is divided.
    """

    sweep: str
    samples: int
    ranges: list[Range] = field(default_factory=list)


def claims_file(whole: Path) -> Path:
    """Returns the claims file beside a predictions file; it exists while replicas work on the data set."""
    return whole.with_name(f'.{whole.stem}.claims')


def read_shares(whole: Path) -> Shares | None:
    """Reads a claims file without its lock; None if there is none, or it cannot be read."""
    with suppress(OSError, ValueError):
        return _parsed(read_plain(claims_file(whole), _MOST_BYTES))
    return None


def _parsed(content: bytes) -> Shares | None:
    try:
        value = load_json(content, bounded=True)
        ranges = [
            Range(int(row['stop']), bool(row['done']), [int(number) for number in row['claimers']])
            for row in value['ranges']
        ]
        return Shares(str(value['sweep']), int(value['samples']), ranges)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return None


@contextmanager
def _changing(whole: Path) -> Iterator[list[Shares | None]]:
    """Yields the shares, the only item of a list; None, before and after, is no file."""
    file = claims_file(whole)
    with locked_content(file, _MOST_BYTES) as content:
        shares = [_parsed(content[0])]
        yield shares
        content[0] = json.dumps(asdict(shares[0])).encode('ascii') if shares[0] else b''


def _journal_of(file: Path) -> Journal:
    return Journal(file.with_name(f'tmp_{file.stem}.jsonl'))


def _journals(whole: Path) -> list[Journal]:
    """Returns the journals of the replicas."""
    found = whole.parent.glob('tmp_*.jsonl')
    return [Journal(file) for file in sorted(found) if whole_of(file.stem.removeprefix('tmp_')) == whole.stem]


def _join(whole: Path) -> None:
    """Moves the rows of the replicas' journals to that of the whole data set, where a run that is resumed reads them.

    A dialogue that failed is begun again, with the rounds that the journal has: its row would count their usage twice.
    """
    base = _journal_of(whole)
    base.repair()
    for journal in _journals(whole):
        has_rounds = any('key' in row for row in journal.rows())
        rows = (row for row in journal.rows() if not (has_rounds and 'key' not in row and row.get('infra')))
        while block := list(islice(rows, _ROWS)):
            base.append({row['idx']: row for row in block})
    for journal in _journals(whole):
        journal.remove()


def end_claims(whole: Path) -> None:
    """Gives what replicas of an earlier sweep left to a single task. The caller holds the lock of the predictions."""
    if claims_file(whole).exists():
        with _changing(whole) as shares:
            _join(whole)
            shares[0] = None


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
        self._order: Sequence[int] = ()
        self._weights: Sequence[int] = ()
        self._at_once = 1
        self._waiting: deque[int] = deque()
        self._open: dict[int, set[int]] = {}

    def begin(self, samples: int, is_row: Callable[[int, Row], bool] = lambda index, row: True) -> bool:
        """Begins work on the data set: the first replica of a sweep voids what an earlier sweep claimed.

        Without a readable claims file, as after a power cut, it joins the journals whose rows belong to the data set.

        Args:
            samples: Number of samples of the data set.
            is_row: Tests if a row belongs to the sample at an index of the whole data set; any does by default.

        Returns:
            False if the predictions are there.

        Raises:
            DataError: An earlier run has split the data set otherwise, or the file system has no locks.
        """
        if probe(self.lock) is None:
            fix = 'split the data sets with ToolEvalNumWorkerPartitioner'
            raise DataError(self.lock, 'this file system has no locks, which replicas need', fix=fix)
        with _changing(self._whole) as shares:
            if self._whole.exists():
                shares[0] = None
                return False
            journals = _journals(self._whole) if shares[0] is None else []
            foreign = [
                journal.path
                for journal in journals
                if not all('key' in row or is_row(row['idx'], row) for row in journal.rows())
            ]
            if parts := [*numbered_shards(self._whole).values(), *foreign]:
                what = 'an earlier run has split the data set by num_worker, and this one shares it by replicas'
                raise DataError(parts[0], what, fix='give num_worker again, or delete the parts with their answers')
            if journals:
                logger.warning(
                    '%s is missing or damaged: the answers of its replicas are kept', claims_file(self._whole)
                )
            if shares[0] is None or shares[0].sweep != self._replica.sweep:
                _join(self._whole)
                shares[0] = Shares(self._replica.sweep, samples)
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
        with _changing(self._whole) as shares:
            if (state := shares[0]) is None:
                return
            state.ranges = state.ranges or [Range(stop) for stop in cut_ranges(sizes, self._replica.of, at_least)]
            ends = [one.stop for one in state.ranges]
        if (divided := ends[-1] if ends else 0) != len(order):
            what = f'another replica has divided {divided} samples, and this one has {len(order)}'
            raise DataError(claims_file(self._whole), what, fix='give all nodes the same data, and run again with -r')
        self._order, self._at_once = order, at_once
        sums = [0, *accumulate(sizes)]
        self._weights = [sums[stop] - sums[start] for start, stop in pairwise([0, *ends])]

    def take(self, room: int) -> list[int]:
        """Returns the indices of the next samples; claims ranges while fewer samples are open than run at once.

        Args:
            room: Maximum number.

        Returns:
            Indices; empty if nothing may be sent now.
        """
        while self._claim():
            pass
        return [self._waiting.popleft() for _ in range(min(room, len(self._waiting)))]

    def arrived(self, indices: Iterable[int]) -> None:
        """Notes samples whose rows are in the journal."""
        gone = set(indices)
        for left in self._open.values():
            left -= gone
        if done := [number for number, left in self._open.items() if not left]:
            with _changing(self._whole) as shares:
                state = self._current(shares)
                for number in done:
                    del self._open[number]
                    if state:
                        state.ranges[number].done = True

    def has_work(self) -> bool:
        """Tests if a range is free, or all are done and the predictions not written. Others may still work.

        Raises:
            DataError: The replica that found all ranges done could not write the predictions.
        """
        with _changing(self._whole) as shares:
            if state := self._current(shares):
                return all(one.done for one in state.ranges) or bool(self._free(state))
            if self._whole.exists():
                return False
        what = 'another replica could not write these predictions: its log says why'
        raise DataError(self._whole, what, fix='opencompass ... -r')

    def finish(self, write: Callable[[list[Journal]], object]) -> None:
        """Writes the predictions of the whole data set if all ranges are done.

        Args:
            write: Writes them, from the journals of all; a later journal replaces rows of earlier ones. If it raises,
                the journals are joined, so that a run that is resumed asks for what is missing.
        """
        with _changing(self._whole) as shares:
            state = self._current(shares)
            if state is None or not all(one.done for one in state.ranges):
                return
            try:
                write([_journal_of(self._whole), *_journals(self._whole)])
                for journal in _journals(self._whole):
                    journal.remove()
            except Exception:
                _join(self._whole)
                claims_file(self._whole).unlink()
                raise
            shares[0] = None

    def _current(self, shares: Sequence[Shares | None]) -> Shares | None:
        """Returns the shares, unless a later sweep has begun others."""
        return next((one for one in shares if one and one.sweep == self._replica.sweep), None)

    def _free(self, shares: Shares) -> list[int]:
        """Returns the numbers of the ranges that nobody has."""
        held: dict[int, bool] = {}

        def is_held(number: int, claimer: int) -> bool:
            if claimer == self.number:
                return number in self._open  # otherwise of an earlier process with this number
            if claimer not in held:
                held[claimer] = probe(lock_path(part_of(self._whole, claimer))) is not False
            return held[claimer]

        ranges = enumerate(shares.ranges)
        return [
            number
            for number, one in ranges
            if not one.done and not (one.claimers and is_held(number, one.claimers[-1]))
        ]

    def _claim(self) -> bool:
        in_hand = sum(map(len, self._open.values()))
        if in_hand >= self._at_once:
            return False
        with _changing(self._whole) as shares:
            state = self._current(shares)
            if state is None or not self._weights or not (free := self._free(state)):
                return False
            ranges = state.ranges
            bounds = list(pairwise([0, *(one.stop for one in ranges)]))
            # Otherwise one that sends hundreds at once has all of a short data set, and the others none.
            if in_hand and in_hand * self._replica.of >= sum(bounds[number][1] - bounds[number][0] for number in free):
                return False
            number = max(free, key=lambda number: self._weights[number])
            journals = [_journal_of(part_of(self._whole, one)) for one in dict.fromkeys(ranges[number].claimers)]
            ranges[number].claimers.append(self.number)
        asked = {row['idx'] for journal in journals for row in journal.rows() if 'prediction' in row}
        indices = [index for index in self._order[slice(*bounds[number])] if index not in asked]
        known = {journal.path for journal in self.earlier}
        self.earlier += [journal for journal in journals if journal.path not in known]
        self._open[number] = set(indices)
        self._waiting.extend(indices)
        self.arrived(())
        return True


def replica_of(cfg: Mapping[str, object]) -> Replica | None:
    """Returns the replica that the config of a task is for; None for a task that shares nothing."""
    given = cfg.get('replica')
    return Replica(**given) if isinstance(given, Mapping) else None
