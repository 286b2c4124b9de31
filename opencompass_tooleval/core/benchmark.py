"""What commands, sweeps and reports need to know of a benchmark, as a value that its room fills.

A benchmark describes itself in its ``files.py``; :data:`BENCHMARKS` says where. What is dear to import, or lies above
it, is named ``package.module:attribute`` and resolved by who needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from opencompass_tooleval.core.subset_names import nearest_first

if TYPE_CHECKING:  # numpy would make `tooleval list` slow
    from opencompass_tooleval.core.aggregate import Aggregate
    from opencompass_tooleval.core.metrics import Metric
    from opencompass_tooleval.core.result import SampleScore
    from opencompass_tooleval.core.variants import VariantKind

BENCHMARKS: dict[str, str] = {}
"""Name on the command line and in results -> where its description is. The package fills it in its ``__init__``."""

VARIANTS: dict[str, str] = {}
"""Name -> where a kind of variants is, which benchmarks are compared with; filled as :data:`BENCHMARKS` is."""


@dataclass(frozen=True)
class Content:
    """What is in files that were read.

    Attributes:
        counts: What -> how many, such as ``{'records': 100, 'tools': 54}``.
        remarks: More in words.
    """

    counts: Mapping[str, int]
    remarks: Sequence[str] = ()

    def __str__(self) -> str:
        return ', '.join([*(f'{count} {what}' for what, count in self.counts.items()), *self.remarks])

    def differences(self, published: Mapping[str, int]) -> str:
        """``4 records, published are 553``; '' if all published counts are met."""
        other = [what for what, count in published.items() if self.counts[what] != count]
        return '; '.join(f'{self.counts[what]} {what}, published are {published[what]}' for what in other)


@dataclass(frozen=True)
class DataFiles:
    """Files of a benchmark that are verified and counted together; mostly one.

    Attributes:
        name: As it is listed, such as ``plan_json v2 EN``.
        places: Where they belong below the data cache, such as ``data/teval/EN/plan_json_v2.json``.
        read: Files -> what is in them; raises :class:`~opencompass_tooleval.core.errors.DataError` if one is damaged.
            An optional file that is not there is None.
        published: What -> how many, as far as it is known.
        optional: Places of files that are verified with them where they are there.
        exact: Whether files with other counts are refused.
        needed: Whether ``prepare`` misses them.
        parts: So many parts of a place, from its end, tell the file in a folder that holds those of others too.
    """

    name: str
    places: tuple[str, ...]
    read: Callable[[Sequence[Any]], Content]
    published: Mapping[str, int] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    exact: bool = True
    needed: bool = True
    parts: int = 1


@dataclass(frozen=True)
class ConfiguredDataset:
    """Where our configs have a data set.

    Attributes:
        configs: Names of files below ``configs/datasets``, or paths, without their ending; behind a colon the variable
            where not all of the file are meant. The first that has the data set is taken.
        name: ``name`` of the data set there.
        file: The data file below the folder ``path``; None where ``path`` is the file.
        method: The method of its dialogues; None where there are no dialogues.
        settings: Settings that the data set gets beside.
    """

    configs: Sequence[str]
    name: str
    file: Path | None = None
    method: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark, as ``list``, ``prepare``, ``doctor``, ``score``, ``prompts``, sweeps and reports see it.

    Attributes:
        name: On the command line and in results.
        title: For people.
        paper: Where it is published.
        subsets: Names of all subsets.
        files: All data files.
        metrics: Those of its data sets, and columns of its tables.
        score: Names the function behind ``tooleval score``: ``(subset, predictions, *, own options) ->
            ScoredAnswers``. Its keyword parameters are the benchmark's own options, as ``Annotated[type, 'help']``.
        configured: Names the function behind ``tooleval prompts``: ``(subset, *, ...) -> ConfiguredDataset``; of
            ``language``, ``version``, ``method``, ``data`` and ``instructions`` it takes those that the benchmark has.
        origin: Where the files come from, as a sentence.
        clone: The command that fetches them.
        fetch: Names a function that fetches them and returns their folder, where no ``--from`` says it.
        hints: Folder of the data cache -> lines that ``prepare`` adds.
        sizes: Subset and data version (None: there is one) -> published number of records.
        protocols: Data version -> the protocol that its published scores were made with.
        groups: Names its summary groups (tables), in the order of their use.
        also_scored: What ``score`` takes for a subset too, though it is no data set.
        are_dialogues: Whether a prediction is a whole dialogue, kept as JSON with its rounds and calls.
    """

    name: str
    title: str
    paper: str
    subsets: tuple[str, ...]
    files: tuple[DataFiles, ...]
    metrics: tuple[Metric, ...] = ()
    score: str = ''
    configured: str = ''
    origin: str = ''
    clone: str = ''
    fetch: str = ''
    hints: Callable[[Path], Iterable[str]] | None = None
    sizes: Mapping[tuple[str, str | None], int] = field(default_factory=dict)
    protocols: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    also_scored: tuple[str, ...] = ()
    are_dialogues: bool = False

    @property
    def prepare(self) -> str:
        """The command that brings its files, or says how to get them."""
        return f'tooleval prepare {self.name}'


def find_benchmark(name: str) -> Benchmark:
    """Returns a benchmark's description.

    Raises:
        ValueError: There is none of this name; the message lists those there are.
    """
    if name not in BENCHMARKS:
        raise ValueError(f'no benchmark {name!r}; there are {nearest_first(name, BENCHMARKS)}')
    benchmark: Benchmark = resolve_name(BENCHMARKS[name])
    return benchmark


def holds_dialogues(provenance: Any) -> bool:
    """Whether the predictions of a result are whole dialogues, by its provenance."""
    if not isinstance(provenance, Mapping):
        return False
    name = provenance.get('benchmark')
    is_known_benchmark = isinstance(name, str) and name in BENCHMARKS
    return bool(provenance.get('loop')) or (is_known_benchmark and find_benchmark(str(name)).are_dialogues)


def all_benchmarks() -> Iterator[Benchmark]:
    """Every benchmark's description, in the table's order."""
    return map(find_benchmark, BENCHMARKS)


def find_variant(name: str) -> VariantKind:
    """Returns a kind of variants, one of :data:`VARIANTS`."""
    kind: VariantKind = resolve_name(VARIANTS[name])
    return kind


def part_of(result: Mapping[str, Any]) -> tuple[int, int] | None:
    """How many records a result is of, and of how many: those of its data set, or as many as are published.

    None where it is of all of them, or nobody knows how many there are.
    """
    samples, count = result.get('samples'), records_of(result)
    of = samples.get('of') if isinstance(samples, Mapping) else None
    size = max((size for size in (of, published_size(result)) if type(size) is int), default=0)
    return (count, size) if count is not None and count < size else None


def records_of(result: Mapping[str, Any]) -> int | None:
    """How many records a result is of, however often each was asked; None where it does not say that."""
    samples, runs = result.get('samples'), result.get('runs')
    count = samples.get('all') if isinstance(samples, Mapping) else None
    return count // (len(runs) if isinstance(runs, list) and runs else 1) if type(count) is int else None


def published_size(result: Mapping[str, Any]) -> int | None:
    """The published number of records of a result's data set; None if that is not known."""
    about = result.get('provenance')
    if not isinstance(about, Mapping) or (name := str(about.get('benchmark'))) not in BENCHMARKS:
        return None
    version = about.get('data_version') and str(about['data_version'])
    return find_benchmark(name).sizes.get((str(about.get('subset')), version))


@dataclass(frozen=True)
class ScoredAnswers:
    """Recorded answers, scored: what ``tooleval score`` writes and prints.

    Attributes:
        scores: One per sample, in the data's order.
        total: Their aggregate.
        title: What was scored, for people, without the benchmark's name.
        settings: What the numbers depend on, ``version`` among it.
        more: Counts and the like.
        counts: Which counts in ``more`` are printed, beside the reasons.
        lines: What is printed more.
        notes: What keeps the numbers from being compared with published ones.
        expected: Published number of samples; None if it is not known.
        unit: What a sample is called.
    """

    scores: Sequence[SampleScore]
    total: Aggregate
    title: str
    settings: Mapping[str, Any]
    more: Mapping[str, Any] = field(default_factory=dict)
    counts: Sequence[str] = ()
    lines: Sequence[str] = ()
    notes: Sequence[str] = ()
    expected: int | None = None
    unit: str = 'samples'
