"""What Slurm is told, and how its answers read; pure, so that it is tested where there is no Slurm."""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

ELEMENT_SCRIPT = """#!/bin/bash
# One element of a job array: runs its command, then leaves the exit code in a file, unless it was told to stop.
# It stops when its command has: else Slurm could take a job for over whose command still works.
# On SIGUSR1, which "sbatch --signal=B:USR1@SECONDS" sends before the time limit, it has itself queued again: Slurm then
# tells it to stop. No more than a hundred times, lest what never gets anywhere goes on for ever.
stopped=
trap stopped=1 TERM
trap '[ "${SLURM_RESTART_COUNT:-0}" -ge 100 ] || scontrol requeue "$SLURM_JOB_ID"' USR1
element=$1-$SLURM_ARRAY_TASK_ID
rm -f "$element.exit"
echo "slurm: job ${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID on $SLURMD_NODENAME, restart ${SLURM_RESTART_COUNT:-0}"
bash "$element.sh" &
# A trap waits for the end of a command in the foreground; and it ends a wait, but not the command.
while wait $!; kill -0 $! 2>/dev/null; do :; done
wait $!
code=$?
# Slurm signals one process after the other: the word to stop may come a moment after the command died of it.
[ "$code" -le 128 ] || [ "$stopped" ] || sleep 1
[ "$stopped" ] || { echo "$code" >"$element.exit.new" && mv -f "$element.exit.new" "$element.exit"; }
exit "$code"
"""
"""Its argument is the folder and the number of the chunk: ``/folder/0`` and element 7 are ``/folder/0-7.sh``."""

ENDED = {
    'BOOT_FAIL',
    'CANCELLED',
    'COMPLETED',
    'DEADLINE',
    'FAILED',
    'NODE_FAIL',
    'OUT_OF_MEMORY',
    'PREEMPTED',
    'REVOKED',
    'TIMEOUT',
}
"""States that a job does not leave. In any other it runs, or will: one that is queued again is PENDING."""

PREEMPTED = 'PREEMPTED'
"""Ended by a job of higher priority, where the partition's PreemptMode is CANCEL and not REQUEUE."""

STUCK = {'launch_failed_requeued_held', 'JobHoldMaxRequeue'}
"""Reasons for which Slurm itself holds a job that a node could not start; it waits until someone acts."""

HELD = {'JobHeldUser', 'JobHeldAdmin', 'job_requeued_in_held_state'}
"""Reasons that someone wanted."""

JOB_FORMAT = '%F %T %j'
"""For ``squeue``: job, state, name."""

STATE_FORMAT = '%F %K %T %r'
"""For ``squeue --array``: job, index in its array, state, reason."""

_PASSING = re.compile(
    r'unable to contact|timed out|connection (?:refused|reset)|temporarily|communication|zero bytes|'
    r'backup controller|in standby',
    re.IGNORECASE,
)


class State(NamedTuple):
    """Of an element.

    Attributes:
        name: Such as ``RUNNING``.
        reason: Why it waits, such as ``Priority`` or ``PartitionTimeLimit``.
    """

    name: str
    reason: str = ''

    @property
    def is_over(self) -> bool:
        """Whether it will not run again."""
        return self.name in ENDED

    @property
    def is_stuck(self) -> bool:
        """Whether a node could not start it, and Slurm will not try again."""
        return self._waits_for(STUCK)

    @property
    def is_held(self) -> bool:
        """Whether someone holds it."""
        return self._waits_for(HELD)

    def _waits_for(self, reasons: Container[str]) -> bool:
        return self.name == 'PENDING' and self.reason.replace(' ', '_') in reasons


@dataclass(frozen=True)
class Resources:
    """What is asked for each task.

    Attributes:
        partition: Name of the partition; None is the cluster's default, here and below.
        qos: Quality of service.
        account: Who pays.
        time: Limit of one task, as Slurm writes it: ``04:00:00``, or minutes.
        gpu_request: Option for tasks that need GPUs; ``{n}`` is their number.
        extra_command: More options of ``sbatch``, each one string such as ``--mem=64G`` or ``-c 8``.
    """

    partition: str | None = None
    qos: str | None = None
    account: str | None = None
    time: str | int | None = None
    gpu_request: str = '--gres=gpu:{n}'
    extra_command: Sequence[str] = ()

    def options(self, gpus: int) -> list[str]:
        """Options that ``sbatch`` and ``srun`` share, for a task of so many GPUs. The user's own come last and win."""
        named = {'partition': self.partition, 'qos': self.qos, 'account': self.account, 'time': self.time}
        options = ['--nodes=1', '--ntasks=1', *(f'--{name}={value}' for name, value in named.items() if value)]
        if gpus:
            options += shlex.split(self.gpu_request.format(n=gpus))
        return options + [word for option in self.extra_command for word in shlex.split(option)]


def shares(limit: int, sizes: Sequence[int], held: Sequence[int]) -> list[int]:
    """How many elements of each array may run at once.

    What nobody holds is dealt out one by one: first to arrays that have nothing, then in proportion to size, and to
    none more than its size.

    Args:
        limit: Elements that may run at once, of all arrays together.
        sizes: Unfinished elements of each array.
        held: What each has already; it is not taken back.

    Returns:
        A number for each array; 0 where it has to wait.
    """
    result = list(held)
    for _ in range(limit - sum(held)):
        open_ones = [i for i, size in enumerate(sizes) if result[i] < size]
        if not open_ones:
            break
        neediest = max(open_ones, key=lambda i: (not result[i], sizes[i] / (result[i] + 1), -i))
        result[neediest] += 1
    return result


def array_indices(indices: Iterable[int]) -> str:
    """Indices as ``--array`` takes them: ``0-3,7``."""
    runs = groupby(enumerate(sorted(indices)), key=lambda pair: pair[1] - pair[0])
    ends = ([index for _, index in run] for _, run in runs)
    return ','.join(f'{run[0]}-{run[-1]}' if len(run) > 1 else str(run[0]) for run in ends)


def read_job_id(output: str) -> str:
    """The job of ``sbatch --parsable``: ``7``, or ``7;cluster``.

    Raises:
        ValueError: It says something else.
    """
    job_id = output.strip().partition('\n')[0].partition(';')[0]
    if not job_id.isdigit():
        raise ValueError(f'sbatch --parsable printed {output!r}, not a job id')
    return job_id


def read_states(output: str) -> dict[tuple[str, int], State]:
    """States of elements by job and index, from ``squeue --noheader --array --format=STATE_FORMAT``."""
    # The reason may hold blanks: 'launch failed requeued held'.
    rows = (line.split(maxsplit=3) for line in output.splitlines())
    return {(row[0], int(row[1])): State(*row[2:]) for row in rows if len(row) > 2 and row[1].isdigit()}


def read_jobs(output: str) -> set[tuple[str, str]]:
    """Id and name of jobs that are not over, from ``squeue --noheader --format=JOB_FORMAT``."""
    # A name may hold blanks, too: 'sbatch --job-name "my job"'.
    rows = (line.split(maxsplit=2) for line in output.splitlines())
    return {(row[0], row[2]) for row in rows if len(row) > 2 and not State(row[1]).is_over}


def read_array_limit(output: str) -> int:
    """Elements that an array may have, from ``scontrol show config``; indices are below it.

    Raises:
        ValueError: It is not in there, or the cluster has job arrays switched off.
    """
    largest_array = re.search(r'^[ \t]*MaxArraySize[ \t]*=[ \t]*(\d{1,12})', output, re.MULTILINE)
    if largest_array is None:
        raise ValueError('scontrol show config names no MaxArraySize')
    tasks = re.search(r'^[ \t]*SchedulerParameters[ \t]*=.*\bmax_array_tasks=(\d{1,12})', output, re.MULTILINE)
    limit = min(int(number[1]) for number in (largest_array, tasks) if number)
    if limit < 1:
        raise ValueError('this cluster allows no job arrays (MaxArraySize=0)')
    return limit


def is_passing(output: str) -> bool:
    """Whether an error of a Slurm command is one that passes: its controller is busy, restarting or out of reach."""
    return bool(_PASSING.search(output))


def is_forgotten(output: str) -> bool:
    """Whether ``squeue`` means that the jobs have ended so long ago that Slurm forgot them."""
    return 'Invalid job id' in output


def file_pattern(path: str) -> str:
    """A path for ``--output``, in which ``%`` would be a placeholder."""
    return path.replace('%', '%%')
