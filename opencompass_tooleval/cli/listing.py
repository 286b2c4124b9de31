"""``tooleval list``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from opencompass_tooleval.cli.funcqa_files import funcqa_files
from opencompass_tooleval.cli.restbench_files import restbench_files
from opencompass_tooleval.cli.teval_files import file_states, file_total
from opencompass_tooleval.cli.toolbench_files import toolbench_files
from opencompass_tooleval.cli.ultratool_files import ultratool_file_total, ultratool_files


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for column in (*columns, 'on disk', 'file'):
        table.add_column(column, overflow='fold')
    return table


def _on_disk(path: Path | None, count: int | None, fault: str) -> tuple[str, str]:
    shown = 'damaged' if fault else '-' if count is None else str(count)
    return shown, str(path or '')


def show_list() -> None:
    """Prints every benchmark, subset and file."""
    console, errors = Console(), Console(stderr=True)
    table = _table('T-Eval (arXiv 2312.14033)', 'subset', 'version', 'language', 'published')
    for state in track(file_states(), total=file_total(), description='T-Eval', console=errors, transient=True):
        published = str(state.published or '-')
        on_disk = _on_disk(state.path, state.count, state.fault)
        table.add_row(state.subset.name, state.version, state.language, published, *on_disk)
    console.print(table)
    table = _table('UltraTool (arXiv 2401.17167)', 'task', 'language', 'rows', 'source')
    files = track(
        ultratool_files(), total=ultratool_file_total(), description='UltraTool', console=errors, transient=True
    )
    for file in files:
        source = 'official' if file.subset.official else 'built'
        on_disk = _on_disk(file.path, file.count, file.fault)
        table.add_row(file.subset.name, file.language, str(file.subset.count), source, *on_disk)
    console.print(table)
    table = _table('RestBench (arXiv 2306.06624)', 'service', 'records', 'tools', 'errata', 'instructions')
    for service in restbench_files():
        row = service.subset
        on_disk = _on_disk(service.path, service.count, service.fault)
        instructions = 'on disk' if service.instructions else '-'
        table.add_row(row.name, str(row.records), str(row.tools), str(row.errata), instructions, *on_disk)
    console.print(table)
    table = _table('FuncQA (arXiv 2305.11554)', 'subset', 'questions', 'repaired answers')
    for part in funcqa_files():
        on_disk = _on_disk(part.path, part.count, part.fault)
        table.add_row(part.subset.name, str(part.subset.count), str(part.subset.repaired), *on_disk)
    console.print(table)
    table = _table('ToolBench (arXiv 2307.16789)', 'file', 'records', 'tools', 'APIs', 'errata')
    for found in toolbench_files():
        of = found.file
        counts = map(str, (of.records, of.tools, of.apis, of.errata))
        table.add_row(of.name, *counts, *_on_disk(found.path, found.count, found.fault))
    console.print(table)
