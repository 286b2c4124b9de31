"""``tooleval report``: pages to look at, and files for a paper."""

from __future__ import annotations

import importlib.util
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from opencompass_tooleval.core.errors import DataError

NEEDED = ('jinja2', 'matplotlib', 'plotly')


def report(work_dirs: Sequence[Path], out: Path, open_it: bool) -> None:
    """Writes a report and says where it is.

    Args:
        work_dirs: Working directories of OpenCompass.
        out: Folder for the report.
        open_it: Whether to show it in a browser.

    Raises:
        DataError: A working directory or ``out`` will not do, or a library is not installed.
    """
    lacking = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if lacking:
        cure = "pip install 'opencompass-tooleval[report]'"
        raise DataError(out, f'a report needs {", ".join(lacking)}', cure=cure)
    from opencompass_tooleval.report.build import write_report

    page = write_report(work_dirs, out)
    Console().print(f'report: {page}', markup=False, soft_wrap=True)
    if open_it:
        webbrowser.open(page.resolve().as_uri())
