"""``tooleval demo``: runs the whole chain on shipped records, with gold answers as the model."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.cli.report import NEEDED, show_report
from opencompass_tooleval.cli.retry import run_program
from opencompass_tooleval.embedding.locate import OFFLINE, locate_encoder
from opencompass_tooleval.work_dir.interrupts import Interrupts

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
    with Interrupts() as interrupts:
        command = [sys.executable, '-m', 'opencompass.cli.main', str(_CONFIG), '-w', str(work_dir)]
        status = run_program(command, interrupts)
    if status:
        return status
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        typer.echo("no report, since it needs more: pip install 'opencompass-tooleval[report]'")
        return 0
    show_report([work_dir], work_dir / 'report')
    return 0
