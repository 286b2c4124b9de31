"""Converts ToolBench's test files to typed records. Only this module knows the quirks of the data.

A file is a JSON list of ``{"query_id", "query", "api_list": [documentation of an API, ...], "relevant APIs": [[tool,
API], ...]}``. A name identifies a tool; tool and name identify an API.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.description import METRICS
from opencompass_tooleval.benchmarks.toolbench.errata import Erratum, find_errata
from opencompass_tooleval.benchmarks.toolbench.subsets import FILES, SUBSETS
from opencompass_tooleval.catalogue.subset_names import SubsetRow, Table
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.sources.toolbench import read_samples
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc
from opencompass_tooleval.work_dir.data_files import check_counts, read_json

FIX = 'tooleval prepare toolbench --from DIR'

Api = tuple[str, str]
"""Names of a tool and of one of its APIs."""


@dataclass(frozen=True)
class File:
    """One row of :data:`~opencompass_tooleval.benchmarks.toolbench.subsets.FILES`."""

    name: str
    file: str
    records: int
    tools: int
    apis: int
    errata: int


@dataclass(frozen=True)
class Subset(SubsetRow):
    """One row of :data:`~opencompass_tooleval.benchmarks.toolbench.subsets.SUBSETS`."""

    METRICS = METRICS
    kind: str
    data: str
    candidates: int

    instructions: str


@dataclass(frozen=True)
class Record:
    """One request.

    Attributes:
        id: The ``query_id``.
        query: The request.
        apis: The APIs of ``api_list``, in the file's order.
        relevant: The needed APIs, in the file's order, each once.
    """

    id: str
    query: str
    apis: tuple[Api, ...]
    relevant: tuple[Api, ...]

    @property
    def tools(self) -> tuple[str, ...]:
        """The needed tools, in the order of ``relevant``."""
        return tuple(dict.fromkeys(tool for tool, _ in self.relevant))


@dataclass(frozen=True)
class Data:
    """One file.

    Attributes:
        records: The requests, in the file's order.
        tools: Name -> documentation, joined from the ``api_list`` of all requests, in the order of first occurrence.
        errata: Errors in the data.
        rows: The raw rows, one for each request.
    """

    records: tuple[Record, ...]
    tools: Mapping[str, ToolDoc]
    errata: tuple[Erratum, ...]
    rows: tuple[Mapping[str, Any], ...]


FILE_TABLE = Table(File, FILES, 'ToolBench', 'file')
""":data:`~opencompass_tooleval.benchmarks.toolbench.subsets.FILES`, typed."""

TABLE = Table(Subset, SUBSETS, 'ToolBench')
""":data:`~opencompass_tooleval.benchmarks.toolbench.subsets.SUBSETS`, typed."""


find_file = FILE_TABLE.find
find_subset = TABLE.find


def _is_api(api: Any) -> bool:
    return isinstance(api, dict) and all(isinstance(api.get(key), str) for key in ('tool_name', 'api_name'))


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(name, str) for name in pair)


def _read_row(file: Path, number: int, raw: Any) -> Record:
    """Checks and parses one row; errors contain its id, if known."""
    record_id = raw.get('query_id') if isinstance(raw, dict) else None
    if isinstance(record_id, bool) or not isinstance(record_id, (int, str)):
        raise DataError(file, "field 'query_id' is not a number or text", f'row {number}', FIX)
    name = str(record_id)
    query, apis, relevant = raw.get('query'), raw.get('api_list'), raw.get('relevant APIs')
    if not isinstance(query, str) or not query.strip():
        raise DataError(file, "field 'query' is not a string", name, FIX)
    if not isinstance(apis, list) or not apis or not all(map(_is_api, apis)):
        raise DataError(file, "field 'api_list' is not a list of APIs with 'tool_name' and 'api_name'", name, FIX)
    if not isinstance(relevant, list) or not relevant or not all(map(_is_pair, relevant)):
        raise DataError(file, "field 'relevant APIs' is not a list of tool and API", name, FIX)
    listed = tuple(dict.fromkeys((api['tool_name'], api['api_name']) for api in apis))
    gold = tuple(dict.fromkeys((tool, api) for tool, api in relevant))
    missing = [pair for pair in gold if pair not in listed]
    if missing:
        raise DataError(file, f'{missing[0]} is relevant, but not in its api_list', name, FIX)
    return Record(name, query, listed, gold)


def load_data(file: Path, name: str, change: Change | None = None) -> Data:
    """Reads a test file.

    Args:
        file: Path of the file.
        name: ``G1``, ``G2`` or ``G3``; counts that differ from the published file's are logged.
        change: Changes the rows for a variant.

    Raises:
        DataError: The file is missing or damaged; the error names the record.
        ValueError: The name is not in the table.
    """
    published = find_file(name)
    rows = read_json(file)
    if not isinstance(rows, list) or not rows:
        raise DataError(file, 'the file is not a list of records', fix=FIX)
    records: dict[str, Record] = {}
    for number, raw in enumerate(rows):
        record = _read_row(file, number, raw)
        if record.id in records:
            raise DataError(file, 'two records have this query_id', record.id, FIX)
        records[record.id] = record
    tools = {tool.name: tool for tool in read_samples(rows, file)}
    data = Data(tuple(records.values()), tools, tuple(find_errata(rows, tools.values())), tuple(rows))
    apis = sum(len(tool.functions) for tool in tools.values())
    counts = {'records': len(records), 'tools': len(tools), 'apis': apis, 'errata': len(data.errata)}
    check_counts(file, published.file, counts, published)
    if change is None:
        return data
    changed = list(change({str(row['query_id']): row for row in rows}).values())
    return Data(
        tuple(_read_row(file, number, raw) for number, raw in enumerate(changed)),
        {tool.name: tool for tool in read_samples(changed, file)},
        data.errata,
        tuple(changed),
    )
