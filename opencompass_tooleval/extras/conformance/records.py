"""Converts Conformance's files to typed records.

``requests.json`` is a JSON list of ``{"id", "kind", "messages", "gold"}``, and optionally ``tools`` (names), ``choice``
and ``register``; ``tools.json`` is a list of tools. ``tools/make_conformance_requests.py`` in the repository writes
both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.catalogue.subset_names import SubsetRow, Table
from opencompass_tooleval.core.calls.messages import Message, read_message
from opencompass_tooleval.core.calls.tool_calls import GoldCall, ToolCall, parse_gold_call, write_answer
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.conformance.description import METRICS
from opencompass_tooleval.extras.conformance.subsets import SUBSETS
from opencompass_tooleval.work_dir.data_files import check_counts, read_list

FIX = 'pip install --force-reinstall opencompass-tooleval'
REQUESTS, TOOLS = 'requests.json', 'tools.json'


@dataclass(frozen=True)
class Subset(SubsetRow):
    """One row of :data:`~opencompass_tooleval.extras.conformance.subsets.SUBSETS`."""

    METRICS = METRICS
    requests: int
    tools: int


@dataclass(frozen=True)
class Register:
    """A long text before a request, which contains the requested line.

    Attributes:
        lines: Number of lines.
        at: Number of lines before the requested line.
        line: The requested line.
    """

    lines: int
    at: int
    line: str


@dataclass(frozen=True)
class Record:
    """One request and its gold answer: calls, or a result.

    Attributes:
        id: Id in the file.
        kind: Kind of request, which is also a metric.
        messages: The messages in the file, without the register.
        tools: The offered tools.
        choice: ``required`` if the server must require a call; else None.
        register: The text before the request; None without one.
        calls: The gold calls, in any order.
        form: Form of the result (:mod:`~opencompass_tooleval.extras.typed_result`); ``''`` if the gold answer consists
            of calls.
        result: The gold result.
        payload: JSON of all these fields, for :func:`parse_payload`.
    """

    id: str
    kind: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    choice: str | None
    register: Register | None
    calls: tuple[GoldCall, ...]
    form: str
    result: str
    payload: str


TABLE = Table(Subset, SUBSETS, 'Conformance')
""":data:`~opencompass_tooleval.extras.conformance.subsets.SUBSETS`, typed."""
find_subset = TABLE.find


def parse_payload(payload: str) -> Record:
    """Parses ``Record.payload``."""
    return _read(json.loads(payload))


def _read(row: Mapping[str, Any]) -> Record:
    """Parses a request that contains its tools in full.

    Raises:
        LookupError, TypeError, ValueError: A member is missing or has another type.
    """
    gold = row['gold']
    kind = row['kind']
    if kind not in {metric.name for metric in METRICS[1:]}:
        raise ValueError(f'unknown kind {kind!r}')
    return Record(
        str(row['id']),
        kind,
        tuple(map(read_message, row['messages'])),
        tuple(ToolSchema(**tool) for tool in row.get('tools', ())),
        row.get('choice'),
        Register(**row['register']) if 'register' in row else None,
        tuple(map(parse_gold_call, gold.get('calls', ()))),
        gold.get('form', ''),
        gold.get('result', ''),
        json.dumps(row),
    )


def load_records(folder: Path) -> list[Record]:
    """Reads the requests of a folder with both files.

    Raises:
        DataError: A file is missing or damaged.
    """
    file = folder / REQUESTS
    records = []
    try:
        tools = {tool['name']: tool for tool in read_list(folder / TOOLS, FIX)}
    except (LookupError, TypeError) as error:
        raise DataError(folder / TOOLS, f'damaged: {error!r}', fix=FIX) from error
    for number, row in enumerate(read_list(file, FIX)):
        try:
            records.append(_read({**row, 'tools': [tools[name] for name in row.get('tools', ())]}))
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise DataError(file, f'damaged: {error!r}', str(number), FIX) from error
    counts = {'requests': len(records), 'tools': len(tools)}
    check_counts(file, TABLE[0].name, counts, TABLE[0])
    return records


def gold_answer(record: Record) -> str:
    """Returns the gold answer."""
    content = f'Result: {record.result}' if record.form else ''
    return write_answer(content, (ToolCall(call.name, call.arguments) for call in record.calls))
