"""Reads ToolBench's test files as tasks: the APIs have the names that published runs and recordings use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.tasks.errata import RENAMED_TOOL, SHARED_NAME, Erratum
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.names import RENAMED_TOOLS, function_of
from opencompass_tooleval.benchmarks.toolbench.data import load_data
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.tool_set import ToolSchema

_FILES = {'toolbench_g1': 'G1', 'toolbench_g2': 'G2', 'toolbench_g3': 'G3'}


def read_toolbench_tasks(file: Path, subset: str, errata: list[Erratum], change: Change | None = None) -> list[Task]:
    """Reads the tasks of a test file; the gold calls are unknown, but the needed APIs are known.

    Args:
        file: A file such as ``G1_instruction.json``.
        subset: Name of the subset.
        errata: Receives the errors in the data.
        change: Changes the rows for a variant.

    Raises:
        DataError: The file is missing or damaged; the error names the record.
    """
    data = load_data(file, _FILES[subset], change)
    records, rows = data.records, data.rows
    tasks = []
    for record, row in zip(records, rows, strict=True):
        tools: dict[str, ToolSchema] = {}
        documents: dict[str, Any] = {}
        names: dict[tuple[str, str], str] = {}
        for api in row['api_list']:
            function = function_of(api)
            pair = api['tool_name'], api['api_name']
            if function.name in tools and pair not in names:
                errata.append(Erratum(record.id, function.name, SHARED_NAME))
            elif api['tool_name'] in RENAMED_TOOLS and pair not in names:
                errata.append(Erratum(record.id, function.name, RENAMED_TOOL))
            names[pair] = function.name
            tools.setdefault(function.name, function)
            documents.setdefault(function.name, api)
        relevant = tuple(dict.fromkeys(names[pair] for pair in record.relevant))
        tasks.append(Task(record.id, subset, record.query, tuple(tools.values()), None, documents, relevant))
    return tasks
