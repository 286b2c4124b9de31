"""``tooleval retry``: ask again only what got no answer through no fault of the model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rich.console import Console

from opencompass_tooleval.host.retry import accepting, find_unanswered, in_config, reopen
from opencompass_tooleval.host.work_dir import WorkDir


def retry(path: Path, dry_run: bool) -> int:
    """Reopens what is not answered and runs the sweep again; returns its exit status, 0 if there is nothing to do.

    What gets no answer this time either is counted under its name, however much it is.

    Raises:
        DataError: There is no run, or a file in it is damaged.
        InUseError: A sweep is at work there.
    """
    work = WorkDir.find(path).absolute()
    unanswered = list(find_unanswered(work))
    console = Console(soft_wrap=True)
    if not unanswered:
        console.print('every sample has an answer')
        return 0
    config = work.path / 'tmp' / 'retry.py'
    known = accepting(work.config(), config)
    unanswered = in_config(unanswered, known)
    for one in unanswered:
        what = 'not finished' if one.samples is None else f'{one.samples} samples in {one.file.name}'
        left = '' if (one.model, one.dataset) in known else '; left alone: not in the config of the last run'
        console.print(f'{one.model} x {one.dataset}: {what}{left}', markup=False)
    command = [sys.executable, '-m', 'opencompass.cli.main', str(config), '-w', str(work.path.parent)]
    command += ['-r', work.path.name]
    if dry_run:
        console.print(f'would ask them again with: {" ".join(command)}', markup=False)
        return 0
    reopen(work, [one for one in unanswered if (one.model, one.dataset) in known])
    return subprocess.run(command, check=False).returncode
