"""Calls Slurm's commands, and retries while its controller restarts."""

from __future__ import annotations

import logging
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from opencompass_tooleval.runners.slurm.syntax import (
    JOB_FORMAT,
    STATE_FORMAT,
    State,
    is_forgotten,
    is_passing,
    read_array_limit,
    read_job_id,
    read_jobs,
    read_states,
)

logger = logging.getLogger(__name__)

_PAUSE = 2.0
_TIMEOUT = 120.0
_CANCEL_PATIENCE = 60.0
_KEPT = {'SLURM_CONF', 'SLURM_CONF_SERVER', 'SLURM_JWT'}
_DROPPED = ('SLURM_', 'SQUEUE_', 'SCANCEL_', 'SCONTROL_', 'SBATCH_CLUSTERS', 'SBATCH_WAIT')


class SlurmError(RuntimeError):
    """Raised if Slurm refuses a command, or has not answered for too long."""


class _PassingError(SlurmError):
    """Raised if Slurm does not answer at the moment."""


def slurm_environment() -> dict[str, str]:
    """Returns this process's environment without Slurm's variables of the job in which it may run.

    Variables with which users set options of Slurm's commands are removed too: ``SQUEUE_PARTITION`` would hide jobs,
    ``SCANCEL_STATE`` would spare them, ``SBATCH_WAIT`` would make ``sbatch`` wait.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED) or name in _KEPT}


class Slurm:
    """Client of Slurm's commands.

    Args:
        patience: Seconds for which commands are repeated if the controller is unreachable.
        sleep: Waits the given seconds; raises an exception if the run must end.
    """

    def __init__(self, patience: float = 1800, sleep: Callable[[float], None] = time.sleep) -> None:
        self._patience = patience
        self._sleep = sleep

    def array_limit(self) -> int:
        """Returns the maximum number of elements of an array.

        Raises:
            SlurmError: Slurm is not installed, or does not answer.
            ValueError: The cluster has no job arrays.
        """
        return read_array_limit(self._patiently(lambda: self._call('scontrol', 'show', 'config')))

    def submit(self, mark: str, options: Sequence[str], script: Sequence[str]) -> str:
        """Submits a job exactly once, even if the reply to the first attempt is lost.

        Args:
            mark: The last argument of the script, which is unique to this job.
            options: Options of ``sbatch``.
            script: The script and its arguments before the mark.

        Returns:
            The id of the job.

        Raises:
            SlurmError: Slurm refuses the job.
        """

        def submit() -> str:
            return read_job_id(self._call('sbatch', '--parsable', *options, *script, mark))

        try:
            return self._patiently(submit, lambda: self._job_with(mark) or submit())
        except BaseException:
            with suppress(SlurmError):  # an attempt whose reply was lost may have succeeded
                if job_id := self._job_with(mark):
                    self._call('scancel', job_id)
            raise

    def states(self, job_ids: Sequence[str]) -> dict[tuple[str, int], State]:
        """Returns the states of all elements of these arrays that Slurm still knows, with one call.

        Raises:
            SlurmError: Slurm has not answered for too long.
        """

        def ask() -> str:
            try:
                return self._squeue(f'--jobs={",".join(job_ids)}', '--array', f'--format={STATE_FORMAT}')
            except SlurmError as error:
                if is_forgotten(str(error)):
                    return ''
                raise _PassingError(str(error)) from error  # whatever error squeue has, the tasks continue

        return read_states(self._patiently(ask))

    def jobs(self) -> set[tuple[str, str]]:
        """Returns id and command of all unfinished jobs of the user.

        Raises:
            SlurmError: Slurm has not answered for too long.
        """
        return read_jobs(self._patiently(lambda: self._squeue(f'--format={JOB_FORMAT}')))

    def set_throttle(self, job_id: str, number: int) -> None:
        """Sets the number of elements of an array that may run at once."""
        self._patiently(lambda: self._call('scontrol', 'update', f'JobId={job_id}', f'ArrayTaskThrottle={number}'))

    def cancel(self, job_ids: Sequence[str]) -> None:
        """Cancels arrays; has no effect on those that have ended.

        Raises:
            SlurmError: Slurm refuses, or does not answer for a minute.
        """
        self._patiently(lambda: self._call('scancel', *job_ids), patience=min(self._patience, _CANCEL_PATIENCE))

    def _job_with(self, mark: str) -> str:
        rows = (line.rstrip().partition(' ') for line in self._squeue('--format=%F %o').splitlines())
        return next((job_id for job_id, _, command in rows if command.endswith(f' {mark}')), '')

    def _squeue(self, *arguments: str) -> str:
        return self._call('squeue', f'--user={os.getuid()}', '--states=all', '--noheader', *arguments)

    def _call(self, *command: str) -> str:
        """Runs a command, protected from Ctrl-C in the terminal, and returns its output."""
        try:
            done = subprocess.run(
                command,
                env=slurm_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors='replace',
                timeout=_TIMEOUT,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise SlurmError(
                f'{command[0]} is not on PATH: run this on a login node of the cluster, or take infer and eval '
                'from configs/tooleval_local.py'
            ) from error
        except subprocess.TimeoutExpired as error:
            raise _PassingError(f'{command[0]} timed out') from error
        if done.returncode:
            lines = [*filter(None, map(str.strip, done.stderr.splitlines()))] or [f'exit status {done.returncode}']
            if passing := [*filter(is_passing, lines)]:
                raise _PassingError(f'{command[0]}: {passing[-1]}')
            raise SlurmError(f'{command[0]}: {"; ".join(lines)}')
        return done.stdout

    def _patiently(
        self, attempt: Callable[[], str], again: Callable[[], str] | None = None, patience: float | None = None
    ) -> str:
        """Calls ``attempt``, and while Slurm is unreachable ``again`` (default: ``attempt``); returns the result."""
        deadline = time.monotonic() + (self._patience if patience is None else patience)
        while True:
            try:
                return attempt()
            except _PassingError as error:
                if time.monotonic() > deadline:
                    raise SlurmError(f'{error} (after many tries)') from error
                logger.warning('%s; trying again', error)
            self._sleep(_PAUSE)
            attempt = again or attempt
