"""Converts RestBench's files to typed records. Only this module knows the quirks of the data.

A file is a JSON list of ``{"query": text, "solution": [step, ...]}``. The id of a row is its number, from 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.restbench.description import METRICS
from opencompass_tooleval.benchmarks.restbench.errata import Erratum, find_errata, repair
from opencompass_tooleval.benchmarks.restbench.paths import Inventory
from opencompass_tooleval.benchmarks.restbench.subsets import SUBSETS
from opencompass_tooleval.catalogue.subset_names import SubsetRow, Table
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.work_dir.data_files import check_counts, read_list

FIX = 'tooleval prepare restbench --from DIR'
GOLDS = ('official', 'repaired')


@dataclass(frozen=True)
class Subset(SubsetRow):
    """One row of :data:`~opencompass_tooleval.benchmarks.restbench.subsets.SUBSETS`."""

    METRICS = METRICS
    file: str
    document: str
    instructions: str

    records: int
    steps: int
    tools: int
    errata: int


@dataclass(frozen=True)
class Record:
    """One request and its gold path.

    Attributes:
        id: Row number in the file, from 0.
        query: The request.
        published: The gold path in the file.
        repaired: The gold path with errata fixed.
        gold: Which gold path is scored: one of ``GOLDS``.
        tools: Names of all tools of the service, in the document's order.
        ids: The number of each of ``tools``, if answers choose tools by number; otherwise empty.
    """

    id: str
    query: str
    published: tuple[str, ...]
    repaired: tuple[str, ...]
    gold: str
    tools: tuple[str, ...] = field(repr=False)
    ids: tuple[int, ...] = field(default=(), repr=False)

    @property
    def path(self) -> tuple[str, ...]:
        """The gold path that is scored."""
        return self.repaired if self.gold == 'repaired' else self.published

    def renamed(self, called: Mapping[str, str]) -> Record:
        """Returns the record with other names of tools; published steps keep their errata."""
        pairs = zip(self.published, self.repaired, strict=True)
        return replace(
            self,
            published=tuple(_like(step, meant, called[meant]) for step, meant in pairs),
            repaired=tuple(called[name] for name in self.repaired),
            tools=tuple(called[name] for name in self.tools),
        )

    def to_payload(self) -> str:
        """Converts the record to JSON text for :func:`parse_payload`."""
        return json.dumps(asdict(self))


def _like(step: str, meant: str, new: str) -> str:
    """Returns a published step whose parts of the tool's name are replaced by the same parts of a new name."""
    bare = step.strip()
    parts = zip(bare.split('/'), meant.split('/'), new.split('/'), strict=False)
    return step.replace(bare, '/'.join(c if a == b else a for a, b, c in parts))


TABLE = Table(Subset, SUBSETS, 'RestBench')
""":data:`~opencompass_tooleval.benchmarks.restbench.subsets.SUBSETS`, typed."""
find_subset = TABLE.find


def parse_payload(payload: str) -> Record:
    """Parses the text of :meth:`Record.to_payload`."""
    raw: dict[str, Any] = json.loads(payload)
    return Record(**{**raw, **{key: tuple(raw[key]) for key in ('published', 'repaired', 'tools', 'ids')}})


def _read_row(file: Path, number: int, raw: Any) -> tuple[str, tuple[str, ...]]:
    query = raw.get('query') if isinstance(raw, dict) else None
    solution = raw.get('solution') if isinstance(raw, dict) else None
    if not isinstance(query, str) or not query.strip():
        raise DataError(file, "field 'query' is not a string", str(number), FIX)
    if not isinstance(solution, list) or not solution or not all(isinstance(step, str) for step in solution):
        raise DataError(file, "field 'solution' is not a list of steps", str(number), FIX)
    return query, tuple(solution)


def load_records(
    file: Path, subset: str, inventory: Inventory, gold: str = 'official', ids: Sequence[int] = ()
) -> tuple[list[Record], list[Erratum]]:
    """Reads a data file.

    Args:
        file: Path of ``tmdb.json`` or ``spotify.json``.
        subset: Name of the row in the table.
        inventory: The service's tools.
        gold: ``official``: the gold paths as published. ``repaired``: with their errata fixed.
        ids: The tools' numbers, if answers choose tools by number.

    Returns:
        One record per row, in the file's order, and the errata of all published paths. Counts that differ from the
        published ones are logged.

    Raises:
        DataError: The file is missing or damaged, or a gold step does not name a tool and the intended tool is unknown.
        ValueError: The subset or gold does not exist.
    """
    row = find_subset(subset)
    if gold not in GOLDS:
        raise ValueError(f'RestBench has gold {" and ".join(GOLDS)}, not {gold!r}')
    records: list[Record] = []
    errata: list[Erratum] = []
    for number, raw in enumerate(read_list(file, FIX)):
        query, solution = _read_row(file, number, raw)
        try:
            path_errata = find_errata(str(number), solution, inventory)
        except ValueError as error:
            raise DataError(file, str(error), str(number), FIX) from error
        repaired = repair(solution, path_errata)
        records.append(Record(str(number), query, solution, repaired, gold, inventory.names, tuple(ids)))
        errata += path_errata
    steps = sum(len(record.published) for record in records)
    counts = {'records': len(records), 'steps': steps, 'tools': len(inventory.names), 'errata': len(errata)}
    check_counts(file, row.name, counts, row)
    return records, errata


def gold_answer(path: Sequence[str]) -> str:
    """Returns the gold answer: a JSON list of steps."""
    return json.dumps(list(path), ensure_ascii=False)


def gold_choices(record: Record) -> str:
    """Returns the gold answer with tool numbers: the intended tools, with errata fixed."""
    number = dict(zip(record.tools, record.ids, strict=True))
    return json.dumps([{'Task': step, 'ID': number[step]} for step in record.repaired], ensure_ascii=False)
