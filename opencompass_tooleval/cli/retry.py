"""``tooleval retry``: ask again only what got no answer through no fault of the model."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from opencompass_tooleval.cli.options import WorkDirArgument
from opencompass_tooleval.sweep.interrupts import Interrupts
from opencompass_tooleval.sweep.unanswered import accepting, find_unanswered, in_config, reopen
from opencompass_tooleval.sweep.work_dir import WorkDir


def retry_sweep(
    work_dir: WorkDirArgument,
    dry_run: Annotated[bool, typer.Option(help='Say what would be asked again, and do nothing.')] = False,
) -> int:
    """Reopens what is not answered and runs the sweep again; returns its exit status, 0 if there is nothing to do.

    What gets no answer this time either is counted under its name, however much it is.

    Raises:
        DataError: There is no run, or a file in it is damaged.
        InUseError: A sweep is at work there.
    """
    work = WorkDir.find(work_dir).absolute()
    unanswered = list(find_unanswered(work))
    console = Console(soft_wrap=True)
    if not unanswered:
        console.print('every sample has an answer')
        return 0
    config = accepting(work.config())
    unanswered = in_config(unanswered, config.pairs)
    for entry in unanswered:
        what = 'not finished' if entry.samples is None else f'{entry.samples} samples in {entry.file.name}'
        left = '' if (entry.model, entry.dataset) in config.pairs else '; left alone: not in the config of the last run'
        console.print(f'{entry.model} x {entry.dataset}: {what}{left}', markup=False)
    command = [sys.executable, '-m', 'opencompass.cli.main', 'CONFIG', '-w', str(work.path.parent)]
    command += ['-r', work.path.name]
    if dry_run:
        shown = f'{shlex.join(command)} (CONFIG: as in the last run, and max_infra_share=1)'
        console.print(f'would ask them again with: {shown}', markup=False)
        return 0
    with Interrupts() as interrupts, tempfile.TemporaryDirectory(prefix='tooleval-retry-') as folder:
        file = Path(folder, 'retry.py')
        config.write(file)
        reopen(work, [entry for entry in unanswered if (entry.model, entry.dataset) in config.pairs])
        return _run([str(file) if word == 'CONFIG' else word for word in command], interrupts)


def _run(command: Sequence[str], interrupts: Interrupts) -> int:
    with subprocess.Popen(command) as process:
        try:
            while process.poll() is None:
                interrupts.sleep(0.1)
        finally:
            process.terminate()  # does nothing to one that has ended
    return process.returncode
