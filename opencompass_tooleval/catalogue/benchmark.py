"""Description of a benchmark for commands, sweeps and reports.

The ``tables.py`` of a benchmark has the literals of its description. Its ``data.py`` has its data files.
:mod:`~opencompass_tooleval.plugin` lists both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from opencompass_tooleval import plugin
from opencompass_tooleval.catalogue.labels import SHARED, Metric
from opencompass_tooleval.catalogue.provenance import Provenance, names_that_are_no_text
from opencompass_tooleval.catalogue.subset_names import nearest_first
from opencompass_tooleval.core.errors import DataError, Fault
from opencompass_tooleval.core.statistics.sample import SEED, TWIN
from opencompass_tooleval.core.text.jsonable import is_number
from opencompass_tooleval.plugin import BENCHMARKS, USERS

if TYPE_CHECKING:  # numpy would make `tooleval list` slow
    from opencompass_tooleval.core.scoring.scorer import Scored, Scorer

FIRST = 'first'
"""Key in ``samples`` of the number of records, if they are the first of their data set."""
OUR_PREFIX = 'tooleval-'
"""Prefix of the abbrs of published data; abbrs of a user's own data begin with the name of their set."""


@dataclass(frozen=True)
class Content:
    """Content of files that were read.

    Attributes:
        counts: Name -> number, such as ``{'records': 100, 'tools': 54}``.
        remarks: Further remarks in words.
    """

    counts: Mapping[str, int]
    remarks: Sequence[str] = ()

    def __str__(self) -> str:
        return ', '.join([*(f'{count} {what}' for what, count in self.counts.items()), *self.remarks])

    def differences(self, published: Mapping[str, int]) -> str:
        """Formats differences: ``4 records, published are 553``; '' if all counts are as published."""
        other = [what for what, count in published.items() if self.counts[what] != count]
        return '; '.join(f'{self.counts[what]} {what}, published are {published[what]}' for what in other)


@dataclass(frozen=True)
class DataFiles:
    """Files of a benchmark that are verified and counted together; usually one.

    Attributes:
        name: Name in lists, such as ``plan_json v2 EN``.
        paths: Their paths below the data cache, such as ``data/teval/EN/plan_json_v2.json``.
        read: Reads the content of the files; raises :class:`~opencompass_tooleval.core.errors.DataError` if one is
            damaged. A missing optional file is None.
        published: Name -> published number, if known.
        optional: Paths of files that are verified with them if they exist.
        exact: True if files with other counts are refused.
        needed: True if ``prepare`` reports them when missing.
        parts: Number of parts of a path, from its end, that identify the file in a folder with other files.
        is_prepared: False if another command makes them, which loading them names.
        folders: Names of the published folders that hold the files, if files in other folders have the same names;
            else empty.
    """

    name: str
    paths: tuple[str, ...]
    read: Callable[[Sequence[Any]], Content]
    published: Mapping[str, int] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    exact: bool = True
    needed: bool = True
    parts: int = 1
    is_prepared: bool = True
    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConfiguredDataset:
    """Place of a data set in the package's configs.

    Attributes:
        configs: Names of files below ``configs/datasets``, or paths, without extension. A variable of the file may
            follow after a colon; by default all are searched. The first file with the data set is used.
        name: ``name`` of the data set there.
        file: The data file below the folder ``path``; None if ``path`` is the file.
        method: The method of its dialogues; None without dialogues.
        settings: Further settings of the data set.
    """

    configs: Sequence[str]
    name: str
    file: Path | None = None
    method: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BenchmarkFiles:
    """Data files of a benchmark, and where they come from.

    Attributes:
        files: All of them.
        origin: A sentence on their source.
        clone: The command that fetches them.
        hints: Folder of the data cache -> lines that ``prepare`` adds.
        encoder: Name of a data set, or of a file without extension -> language of the sentence encoder that it needs
            (``EN`` or ``ZH``), or ``''``; None if no data set needs one.
    """

    files: tuple[DataFiles, ...]
    origin: str = ''
    clone: str = ''
    hints: Callable[[Path], Iterable[str]] | None = None
    encoder: Callable[[str], str] | None = None


@dataclass(frozen=True)
class Benchmark:
    """Description of a benchmark for commands, sweeps and reports.

    Attributes:
        name: Name on the command line and in results.
        title: Title for people.
        paper: Its publication.
        subsets: Names of all subsets.
        metrics: Metrics of its data sets, and columns of its tables.
        sizes: Subset and data version (None if there is one version) -> published number of records.
        protocols: Data version -> the protocol of its published scores.
        also_scored: Further names that ``score`` accepts as a subset, although they are not data sets.
        are_agents: True if the model carries out the tasks itself; each data set is then a separate table.
        are_dialogues: True if a prediction is a whole dialogue, kept as JSON with its rounds and calls.
        words: Word in the abbrs of its data sets and tables -> the same for people, such as ``{'zh': 'Chinese'}``.
    """

    name: str
    title: str
    paper: str
    subsets: tuple[str, ...]
    metrics: tuple[Metric, ...] = ()
    sizes: Mapping[tuple[str, str | None], int] = field(default_factory=dict)
    protocols: Mapping[str, str] = field(default_factory=dict)
    also_scored: tuple[str, ...] = ()
    are_agents: bool = False
    are_dialogues: bool = False
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def prepare(self) -> str:
        """The command that prepares its files, or prints how to get them."""
        return f'tooleval prepare {self.name}'

    @property
    def data(self) -> BenchmarkFiles:
        """Its data files. Imports the modules that read them."""
        found: BenchmarkFiles = plugin.load(plugin.FILES[self.name])
        return found

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Benchmark:
        """Builds a description from the literals of a ``tables.py``; a metric is a row, or the name of a shared one."""
        metrics = tuple(SHARED[row] if isinstance(row, str) else Metric(**row) for row in table['metrics'])
        return cls(**{**table, 'subsets': tuple(table['subsets']), 'metrics': metrics})


def find_benchmark(name: str) -> Benchmark:
    """Returns a benchmark's description.

    Raises:
        ValueError: No benchmark has this name; the message lists the existing ones.
    """
    if name not in BENCHMARKS:
        raise ValueError(f'no benchmark {name!r}; there are {nearest_first(name, BENCHMARKS)}')
    return find_description(name)


def find_description(name: str) -> Benchmark:
    """Returns the description of a benchmark of :data:`BENCHMARKS` or :data:`USERS`."""
    return _described({**BENCHMARKS, **USERS}[name])


@cache
def _described(entry: str) -> Benchmark:
    """Loads a description: a :class:`Benchmark`, or the literals of a ``tables.py``."""
    found = plugin.load(entry)
    return found if isinstance(found, Benchmark) else Benchmark.of(found)


def holds_dialogues(result: Any) -> bool:
    """Tests if the predictions of a result are whole dialogues."""
    about = Provenance.of(result)
    return bool(about.loop) or (about.benchmark in BENCHMARKS and find_benchmark(about.benchmark).are_dialogues)


def all_benchmarks() -> Iterator[Benchmark]:
    """Yields every benchmark's description, in the table's order."""
    return map(find_benchmark, BENCHMARKS)


def are_agents(name: object) -> bool:
    """Tests by a benchmark's name in results if the model carries out its tasks itself."""
    return isinstance(name, str) and name in {**BENCHMARKS, **USERS} and find_description(name).are_agents


def is_private(dataset: str, result: Mapping[str, Any]) -> bool:
    """Tests if a result is on a user's own data, such as a task set.

    Args:
        dataset: The abbr; abbrs of published data begin with ``tooleval-``.
        result: The result; its provenance names no benchmark for data sets of other packages.
    """
    benchmark = Provenance.of(result).benchmark
    return bool(benchmark) and (benchmark in USERS or not dataset.startswith(OUR_PREFIX))


def part_of(dataset: str, result: Mapping[str, Any]) -> tuple[int, int] | None:
    """Returns the number of a result's records, and the number of all records.

    The number of all records is that of the data set or of the published data, the larger of the two. Returns None if
    the result has all records, or a number is unknown.

    Args:
        dataset: The abbr.
        result: The result.
    """
    samples, count = result.get('samples'), record_count(result)
    of = samples.get('of') if isinstance(samples, Mapping) else None
    size = max((size for size in (of, published_size(dataset, result)) if type(size) is int), default=0)
    return (count, size) if count is not None and count < size else None


def is_sampled(result: Mapping[str, Any]) -> bool:
    """Tests if the records of a result were drawn as a sample."""
    return SEED in Provenance.of(result).stored


def part_in_words(dataset: str, result: Mapping[str, Any]) -> str:
    """Formats :func:`part_of` for every screen: ``100 of 1,000, sampled``; '' for all records."""
    if not (part := part_of(dataset, result)):
        return ''
    shown, samples = f'{part[0]:,} of {part[1]:,}', result.get('samples')
    if is_sampled(result):
        return f'{shown}, sampled'
    is_first = isinstance(samples, Mapping) and samples.get(FIRST) == part[0]
    ending = '' if TWIN in Provenance.of(result).stored else ', not a sample'  # some records have no twin
    return f'{"the first " if is_first else ""}{shown}{ending}'


def check_parts(result: Mapping[str, Any]) -> None:
    """Checks the numbers of a stored result and the names that identify its data set: a file may hold anything.

    Raises:
        Fault: A count, a standard error or a sample's value is not a number, or a name is not a string.
    """
    errors, details = result.get('standard_errors'), result.get('details')
    rows = details if isinstance(details, list) else ()
    samples = (row['values'] for row in rows if isinstance(row, Mapping) and 'id' in row and 'values' in row)
    for part, values in (('standard_errors', errors), *(('values of a sample', values) for values in samples)):
        numbers = values if isinstance(values, Mapping) else {}
        if wrong := [
            name
            for name, value in numbers.items()
            if not (value is None or isinstance(value, bool) or is_number(value))
        ]:
            raise Fault(f'{part}: {str(wrong[0])[:50]} is not a number')
    of_runs = result.get('samples')
    for of_run in of_runs if isinstance(of_runs, list) else [of_runs]:
        counts = of_run if isinstance(of_run, Mapping) else {}
        if wrong := [
            name for name, count in counts.items() if not (type(count) is int and is_number(count) and count >= 0)
        ]:
            raise Fault(f'samples: {wrong[0][:50]} is not a count')
    if wrong := names_that_are_no_text(result):
        raise Fault(f'provenance: {wrong[0]} is not a string')


def record_count(result: Mapping[str, Any]) -> int | None:
    """Returns the number of a result's records, each counted once for all trials; None if unknown."""
    samples, runs = result.get('samples'), result.get('runs')
    count = samples.get('all') if isinstance(samples, Mapping) else None
    return count // (len(runs) if isinstance(runs, list) and runs else 1) if type(count) is int else None


def published_size(dataset: str, result: Mapping[str, Any]) -> int | None:
    """Returns the published number of records of a result's data set; None if unknown, or for a user's own data.

    Args:
        dataset: The abbr; abbrs of published data begin with ``tooleval-``.
        result: The result.
    """
    about = Provenance.of(result)
    if not dataset.startswith(OUR_PREFIX) or about.benchmark not in BENCHMARKS:
        return None
    return find_benchmark(about.benchmark).sizes.get((about.subset, about.data_version or None))


@dataclass(frozen=True)
class RecordedRun:
    """Recorded answers to one subset, for ``tooleval score``.

    Attributes:
        scorer: Scores them.
        records: The records, in the data's order.
        answers: Record id -> its answer, in the same order: as an inferencer stores it, or the value that the authors'
            script parsed from it.
        title: Title for people, without the benchmark's name; names in braces are settings of the scorer.
        settings: Names of the scorer's settings to store in the result, such as ``version``; None for all.
        more: Further members of the result, placed before those of the scorer's breakdown.
        counts: Names of counts in the result to print in addition to the reasons.
        lines: Returns further lines to print from the breakdown.
        notes: Reasons why the scores are not comparable with published ones.
        expected: Published number of samples; None if unknown.
        unit: Name of a sample.
        postprocess: Extracts the scored parts of the answers' texts.
    """

    scorer: Scorer
    records: Sequence[Any]
    answers: Mapping[str, Any]
    title: str
    settings: Sequence[str] | None = ('version',)
    more: Mapping[str, Any] = field(default_factory=dict)
    counts: Sequence[str] = ()
    lines: Callable[[Mapping[str, Any]], Iterable[str]] = lambda breakdown: ()
    notes: Sequence[str] = ()
    expected: int | None = None
    unit: str = 'samples'
    postprocess: Callable[[list[str]], Iterable[str]] = list

    def score(self, file: object) -> Scored:
        """Scores the answers like those of a model in a sweep.

        Args:
            file: Their file, for messages.

        Raises:
            DataError: An answer does not have the format of this benchmark.
        """
        from opencompass_tooleval.core.calls.answer import postprocessed

        answers = postprocessed(list(self.answers.values()), self.postprocess)
        try:
            scores = self.scorer.score_answers(self.records, answers)
        except Fault as fault:
            raise DataError(file, str(fault)) from fault
        return self.scorer.summarize(scores, list(self.answers))


class Erratum(Protocol):
    """One fault of published data."""

    @property
    def kind(self) -> str:
        """The kind of fault, one of the kinds of its benchmark."""


def count_kinds(errata: Collection[Erratum], kinds: Sequence[str]) -> dict[str, int]:
    """Counts errata: kind -> number, in the order of ``kinds``."""
    counts = Counter(erratum.kind for erratum in errata)
    return {kind: counts[kind] for kind in kinds}


def errata_in_words(errata: Collection[Erratum], kinds: Sequence[str]) -> str:
    """Formats counts: ``5 errata (blank 4, placeholder 1)``, or ``0 errata``."""
    if not errata:
        return '0 errata'
    counted = ', '.join(f'{kind} {count}' for kind, count in count_kinds(errata, kinds).items() if count)
    return f'{len(errata)} errata ({counted})'
