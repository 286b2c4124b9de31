"""``tooleval report``: pages to look at, tables as files, and charts as files where they are asked for."""

from __future__ import annotations

import importlib.util
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.report.figure import FORMATS

NEEDED = ('jinja2', 'plotly')
NEEDED_FOR_FIGURES = ('matplotlib',)


def report(work_dirs: Sequence[Path], out: Path, figures: str, open_it: bool) -> None:
    """Writes a report and says where it is.

    Args:
        work_dirs: Working directories of OpenCompass.
        out: Folder for the report.
        figures: What charts are written as, such as 'svg,pdf'; '' for none.
        open_it: Whether to show it in a browser.

    Raises:
        DataError: A working directory or ``out`` cannot be used, or a library is not installed.
        ValueError: A format is not one of ours.
    """
    formats = tuple(dict.fromkeys(filter(None, figures.lower().replace(' ', '').split(','))))
    if unknown := [name for name in formats if name not in FORMATS]:
        raise ValueError(f'--figures takes {", ".join(FORMATS)}, separated by commas, not {unknown[0]!r}')
    lacking = [
        name for name in (*NEEDED, *(NEEDED_FOR_FIGURES if formats else ())) if importlib.util.find_spec(name) is None
    ]
    if lacking:
        cure = "pip install 'opencompass-tooleval[report]'"
        raise DataError(out, f'a report needs {", ".join(lacking)}', cure=cure)
    from opencompass_tooleval.report.build import write_report

    page = write_report(work_dirs, out, formats)
    Console().print(f'report: {page}', markup=False, soft_wrap=True)
    if open_it:
        webbrowser.open(page.resolve().as_uri())
