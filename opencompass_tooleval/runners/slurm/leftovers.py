"""Finds the jobs of a killed runner by their commands, cancels them, and waits for their end."""

from __future__ import annotations

import logging
import re
import shlex
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from opencompass_tooleval.runners.slurm.client import Slurm, SlurmError
from opencompass_tooleval.work_dir.lock import exclusive, holder_of, probe

logger = logging.getLogger(__name__)

_PAUSE = 1.0


def job_mark(folder: Path, number: int, is_server: bool = False) -> str:
    """Returns the last word of a job's command, which is unique to the job.

    The word is known before ``sbatch`` answers, so that all jobs of a killed runner can be found.

    Args:
        folder: The runner's folder.
        number: Number of the job.
        is_server: True for a job that runs a server.
    """
    return f'{folder / "server-" if is_server else job_marks(folder)}{number}'


def job_marks(folder: Path) -> str:
    """Returns the beginning of the marks of a runner's jobs, without its servers."""
    return f'{folder}/job-'


def runner_lock(folder: Path) -> Path:
    """Returns the lock that the runner of a folder holds."""
    return folder / 'runner.lock'


def alive(folder: Path) -> AbstractContextManager[object]:
    """Holds, during the block, the lock that shows that the runner of this folder is alive."""
    return exclusive(runner_lock(folder))


def remove(folder: Path) -> None:
    """Removes the folder of a runner that has ended."""
    # Cancelled elements may still write exit codes; after the rename they do not find the folder.
    shutil.rmtree(folder.rename(folder.with_suffix('.gone')), ignore_errors=True)


def cancel_leftovers(parent: Path, slurm: Slurm, patience: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Cancels the jobs of ended runners, waits until they are over, and removes the folders of killed runners.

    Such jobs hold locks on datasets, and would run together with newly submitted jobs.

    Args:
        parent: The folder of runners' folders in the work directory.
        slurm: The client of Slurm's commands.
        patience: Maximum number of seconds until cancelled jobs have ended.
        sleep: Waits the given seconds; raises an exception if the run must end.

    Raises:
        SlurmError: The jobs do not end in time, or it is unknown if their runner is alive.
    """
    deadline = time.monotonic() + patience
    cancelled: set[str] = set()
    while jobs := {job_id for job_id, folder in _jobs(parent, slurm) if _is_gone(folder, job_id)}:
        if new := sorted(jobs - cancelled):
            logger.warning('a run before this one left jobs in the queue: %s; waiting for their end', _scancel(new))
            slurm.cancel(new)
            cancelled |= jobs
        elif time.monotonic() > deadline:
            raise SlurmError(f'jobs of a run before this one do not end: {_scancel(sorted(jobs))}')
        sleep(_PAUSE)
    for lock in parent.glob(runner_lock(Path('*')).as_posix()):
        if holder_of(lock) and _lives(lock) is False:
            remove(lock.parent)  # an element that a late sbatch starts finds no command


def _jobs(parent: Path, slurm: Slurm) -> Iterator[tuple[str, Path]]:
    """Yields the unfinished jobs of this work directory, with their runners' folders."""
    mark = re.compile(rf' {re.escape(str(parent))}/([^/]+)/(?:job|server)-\d+$')
    for job_id, command in slurm.jobs():
        if found := mark.search(command):
            yield job_id, parent / found[1]


def _is_gone(folder: Path, job_id: str) -> bool:
    lives = _lives(runner_lock(folder))
    if lives is None:
        raise SlurmError(
            f'job {job_id} works on the same work directory, and it is unknown from here if its runner is alive '
            f'({holder_of(runner_lock(folder))}); wait for it, or stop it and {_scancel([job_id])}'
        )
    return not lives


def _lives(lock: Path) -> bool | None:
    """Tests if a runner holds its lock; None if unknown, since some file systems do not report locks."""
    held = probe(lock)
    if held is not False:
        return held
    holder = holder_of(lock)
    return False if holder is None or holder.host == socket.gethostname() else None


def _scancel(job_ids: list[str]) -> str:
    return shlex.join(['scancel', *job_ids])
