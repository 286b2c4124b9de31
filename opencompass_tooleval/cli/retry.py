"""``tooleval retry``: ask again only what got no answer through no fault of the model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rich.console import Console

from opencompass_tooleval.host.retry import find_unanswered, reopen
from opencompass_tooleval.host.work_dir import WorkDir


def retry(path: Path, dry_run: bool) -> int:
    """Reopens what is not answered and runs the sweep again; returns its exit status, 0 if there is nothing to do.

    Raises:
        DataError: There is no run, or a file in it is damaged.
        InUseError: A sweep is at work there.
    """
    work = WorkDir.find(path).absolute()
    unanswered = list(find_unanswered(work))
    console = Console(soft_wrap=True)
    for one in unanswered:
        console.print(f'{one.model} x {one.dataset}: {one.samples} samples in {one.file.name}', markup=False)
    if not unanswered:
        console.print('every sample has an answer')
        return 0
    config = work.config()
    command = [sys.executable, '-m', 'opencompass.cli.main', str(config), '-w', str(work.path.parent)]
    command += ['-r', work.path.name]
    if dry_run:
        console.print(f'would ask them again with: {" ".join(command)}', markup=False)
        return 0
    for one in unanswered:
        reopen(work, one)
    return subprocess.run(command, check=False).returncode
