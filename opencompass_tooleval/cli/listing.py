"""``tooleval list``."""

from __future__ import annotations

from rich.console import Console
from rich.progress import track
from rich.table import Table

from opencompass_tooleval.cli.teval_files import file_states, file_total


def show_list() -> None:
    """Prints every benchmark, subset and file."""
    console = Console()
    table = Table(title='T-Eval (arXiv 2312.14033)')
    for column in ('subset', 'version', 'language', 'published', 'on disk', 'file'):
        table.add_column(column, overflow='fold')
    errors = Console(stderr=True)
    for state in track(file_states(), total=file_total(), description='reading', console=errors, transient=True):
        count = 'damaged' if state.fault else '-' if state.count is None else str(state.count)
        table.add_row(
            state.subset.name,
            state.version,
            state.language,
            str(state.published or '-'),
            count,
            str(state.path or ''),
        )
    console.print(table)
