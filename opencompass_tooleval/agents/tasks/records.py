"""Reads data files as tasks, with the reader of each subset. Only ``records_*.py`` know the data's quirks."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path

from opencompass_tooleval import plugin
from opencompass_tooleval.agents.description import METRICS
from opencompass_tooleval.agents.subsets import SUBSETS
from opencompass_tooleval.agents.tasks.errata import Erratum
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.benchmarks.teval.tables import VERSIONS
from opencompass_tooleval.catalogue.subset_names import SubsetRow, Table
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.work_dir.data_files import check_counts

logger = logging.getLogger(__name__)

FIX = 'tooleval prepare agents --from DIR'
FIX_DATA = f'{FIX}, or name the file with --data FILE'


@dataclass(frozen=True)
class Subset(SubsetRow):
    """One row of :data:`~opencompass_tooleval.agents.subsets.SUBSETS`."""

    METRICS = METRICS
    format: str
    language: str
    folder: str
    file: str
    bank: str | None
    instructions: str
    stateful_tools: str | None
    tasks: int
    calls: int


@dataclass(frozen=True)
class Data:
    """Content of a data file.

    Attributes:
        tasks: The tasks, in the file's order.
        errata: Errors in the data.
    """

    tasks: tuple[Task, ...]
    errata: tuple[Erratum, ...]

    @property
    def calls(self) -> int:
        """Number of gold calls of all tasks."""
        return sum(len(task.gold or ()) for task in self.tasks)


TABLE = Table(Subset, SUBSETS, 'agents')
""":data:`~opencompass_tooleval.agents.subsets.SUBSETS`, typed: the published data."""

find_subset = TABLE.find


def data_file(name: str, version: str | None = None) -> str:
    """Returns the path of a subset's file below its folder.

    Args:
        name: The subset.
        version: Version of T-Eval's data, with the queries of ``plan_json``: ``v1`` (published: 553), ``v2`` or
            ``v2_subset``.

    Raises:
        ValueError: The subset or version does not exist, or the subset has no versions.
    """
    subset = find_subset(name)
    if version is None:
        return subset.file
    if subset.format != 'teval' or version not in VERSIONS:
        raise ValueError(f'{name} has no version {version!r}; T-Eval has {", ".join(VERSIONS)}')
    return subset.file.replace('_v1', f'_{version}')


def load_data(file: Path, name: str, change: Change | None = None) -> Data:
    """Reads a data file.

    Args:
        file: Its path.
        name: Row of the table; counts that differ from it are logged.
        change: Changes the raw records for a variant, if the benchmark's reader takes a change.

    Raises:
        DataError: The file is missing or damaged; the error names the record.
        ValueError: The subset does not exist.
    """
    subset = find_subset(name)
    errata: list[Erratum] = []
    tasks: list[Task] = plugin.load(plugin.TASK_READERS[subset.format])(
        file, name, errata, **({'change': change} if change else {})
    )
    data = Data(tuple(replace(task, language=subset.language) for task in tasks), tuple(errata))
    if subset.calls and change is None and file.name == Path(subset.file).name:  # ToolBench's reader counts by itself
        check_counts(file, file.name, {'tasks': len(data.tasks), 'calls': data.calls}, subset)
    return data
