"""``tooleval list``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from opencompass_tooleval.cli.teval_files import file_states, file_total
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
