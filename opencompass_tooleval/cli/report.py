"""``tooleval report``: writes HTML pages, and tables as files.

``tooleval demo`` runs the whole chain on shipped records, with gold answers as the model, and shows its report.
"""

from __future__ import annotations

import importlib.util
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.cli.retry import run_program
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.embedding.locate import OFFLINE, locate_encoder
from opencompass_tooleval.work_dir.interrupts import Interrupts, one_line_if_interrupted
from opencompass_tooleval.work_dir.printing import Screen, say

NEEDED = ('jinja2', 'plotly')


def show_report(
    work_dirs: Annotated[
        list[Path],
        typer.Argument(metavar='WORK_DIR', help='Work directories of OpenCompass; the latest run in each is used.'),
    ],
    out: Annotated[Path, typer.Option('--out', '-o', help='Folder for the pages; replaces an earlier report.')] = Path(
        'report'
    ),
    in_browser: Annotated[bool, typer.Option('--open', help='Show it in a browser.')] = False,
    include_private: Annotated[
        bool, typer.Option('--include-private', help='Of several working directories, show your own tools too.')
    ] = False,
) -> None:
    """Writes a report and prints its path.

    Raises:
        DataError: A working directory or ``out`` cannot be used, or a library is not installed.
    """
    lacking = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if lacking:
        fix = "pip install 'opencompass-tooleval[report]'"
        raise DataError(out, f'a report needs {", ".join(lacking)}', fix=fix)
    from opencompass_tooleval.report.build import write_report

    page = write_report(work_dirs, out, include_private)
    Screen().print(f'report: {page}', soft_wrap=True)
    if in_browser:
        webbrowser.open(page.resolve().as_uri())


_CONFIG = Path(__file__).resolve().parent.parent / 'configs' / 'eval_demo.py'


def run_demo(
    work_dir: Annotated[
        Path, typer.Option('--work-dir', '-w', metavar='WORK_DIR', help='Where everything is written.')
    ] = Path('outputs/demo'),
) -> int:
    """Runs the demo config, then builds its report if the extra ``report`` is installed; returns the exit status.

    Raises:
        EncoderMissingError: The packaged encoder is not installed.
        DataError: The report cannot be written.
    """
    locate_encoder(OFFLINE)
    return run_and_report([str(_CONFIG), '-w', str(work_dir)], work_dir, f'tooleval demo -w {work_dir}')


def run_and_report(arguments: Sequence[str], work_dir: Path, again: str) -> int:
    """Runs ``opencompass``, then builds the report if the extra ``report`` is installed; returns the exit status.

    Args:
        arguments: The arguments of ``opencompass``.
        work_dir: The working directory, or a run in it; the report is written there.
        again: The command that continues the run after Ctrl-C.

    Raises:
        DataError: The report cannot be written.
    """
    return run_sweep(arguments, again) or report_on(work_dir)


def run_sweep(arguments: Sequence[str], again: str) -> int:
    """Runs ``opencompass`` with the arguments of :func:`run_and_report`; returns its exit status."""
    with one_line_if_interrupted(again), Interrupts() as interrupts:
        return run_program([sys.executable, '-m', 'opencompass.cli.main', *arguments], interrupts)


def report_on(work_dir: Path) -> int:
    """Writes a report into its working directory, if the extra ``report`` is installed; returns 0.

    Raises:
        DataError: The report cannot be written.
    """
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        say("no report, since it needs more: pip install 'opencompass-tooleval[report]'")
        return 0
    show_report([work_dir], work_dir / 'report')
    return 0
