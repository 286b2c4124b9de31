"""Writes options for Slurm and parses its output; pure functions, so that tests need no Slurm."""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

ELEMENT_SCRIPT = """#!/bin/bash
# Runs one element of a job array, then writes the exit code to a file, unless Slurm told it to stop. It ends only after
# its command has ended, so that Slurm does not consider a job finished while its command still runs.
# On SIGUSR1, which "sbatch --signal=B:USR1@SECONDS" sends before the time limit, it has itself requeued; Slurm then
# tells it to stop. This happens at most a hundred times, so that a job without progress does not run forever.
stopped=
# Not $SLURM_JOB_ID: for one of the elements it is the id of the whole array.
job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
trap stopped=1 TERM
trap '[ "${SLURM_RESTART_COUNT:-0}" -ge 100 ] || scontrol requeue "$job"' USR1
element=$1-$SLURM_ARRAY_TASK_ID
rm -f "$element.exit"
echo "$((${SLURM_RESTART_COUNT:-0} + 1))" >"$element.starts"
[ ! -e "$element.name" ] || timeout 60 scontrol update JobId="$job" JobName="$(<"$element.name")" &>/dev/null &
echo "slurm: job $job on $SLURMD_NODENAME, restart ${SLURM_RESTART_COUNT:-0}"
bash "$element.sh" &
# A trap waits for a command in the foreground to end. It interrupts wait, but not the command.
while wait $!; kill -0 $! 2>/dev/null; do :; done
wait $!
code=$?
# Slurm signals one process after another: the signal to stop may arrive a moment after it has ended the command.
[ "$code" -le 128 ] || [ "$stopped" ] || sleep 1
[ "$stopped" ] || { echo "$code" >"$element.exit.new" && mv -f "$element.exit.new" "$element.exit"; }
exit "$code"
"""
"""Script of an element. Its argument is folder and chunk: with ``/folder/0``, element 7 runs ``/folder/0-7.sh``."""

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
"""Final states of a job. In any other state it runs or will run: a requeued job is PENDING."""

PREEMPTED = 'PREEMPTED'
"""State of a job that a job of higher priority ended, if the partition's PreemptMode is CANCEL, not REQUEUE."""

STUCK = {'launch_failed_requeued_held', 'JobHoldMaxRequeue'}
"""Reasons of jobs that Slurm holds because a node could not start them; they wait until someone releases them."""

HELD = {'JobHeldUser', 'JobHeldAdmin', 'job_requeued_in_held_state'}
"""Reasons of jobs that a user or an administrator holds."""

JOB_FORMAT = '%F %T %o'
"""Format for ``squeue``: job, state, command."""

STATE_FORMAT = '%F %K %T %r'
"""Format for ``squeue --array``: job, index in its array, state, reason."""

_MOST_OF_NAME = 200
_PASSING = re.compile(
    r'unable to contact|timed out|connection (?:refused|reset)|temporarily|communication|zero bytes|'
    r'backup controller|in standby',
    re.IGNORECASE,
)
_SUBMIT_LIMIT = re.compile(r'job submit limit|MaxSubmitJob', re.IGNORECASE)


class State(NamedTuple):
    """The state of an element.

    Attributes:
        name: Name of the state, such as ``RUNNING``.
        reason: Reason for waiting, such as ``Priority`` or ``PartitionTimeLimit``.
    """

    name: str
    reason: str = ''

    @property
    def is_over(self) -> bool:
        """True if the element will not run again."""
        return self.name in ENDED

    @property
    def is_stuck(self) -> bool:
        """True if a node could not start the element, and Slurm will not try again."""
        return self._waits_for(STUCK)

    @property
    def is_held(self) -> bool:
        """True if a user or an administrator holds the element."""
        return self._waits_for(HELD)

    def _waits_for(self, reasons: Container[str]) -> bool:
        return self.name == 'PENDING' and self.reason.replace(' ', '_') in reasons


@dataclass(frozen=True)
class Resources:
    """Resources to request for each task.

    Attributes:
        partition: Name of the partition; None is the cluster's default, here and below.
        qos: Quality of service.
        account: Slurm's account.
        time: Time limit of each task in Slurm's notation: ``04:00:00``, or minutes.
        gpu_request: Option that requests GPUs; ``{n}`` is their number.
        extra_command: Other options of ``sbatch``, each as one string, such as ``--mem=64G`` or ``-c 8``.
    """

    partition: str | None = None
    qos: str | None = None
    account: str | None = None
    time: str | int | None = None
    gpu_request: str = '--gres=gpu:{n}'
    extra_command: Sequence[str] = ()

    def options(self, gpus: int, nodes: int = 1) -> list[str]:
        """Returns the options of ``sbatch`` and ``srun``. The user's options come last and take precedence.

        Args:
            gpus: Number of GPUs per node.
            nodes: Number of nodes. Several nodes are exclusive, with one task on each.
        """
        named = {'partition': self.partition, 'qos': self.qos, 'account': self.account, 'time': self.time}
        options = [f'--nodes={nodes}', f'--ntasks={nodes}']
        if nodes > 1:
            options += ['--ntasks-per-node=1', '--exclusive']
        options += [f'--{name}={value}' for name, value in named.items() if value]
        if gpus:
            options += shlex.split(self.gpu_request.format(n=gpus))
        return options + [word for option in self.extra_command for word in shlex.split(option)]


def job_name(labels: Sequence[Sequence[str]], options: Sequence[str]) -> str:
    """Returns the name of a job: ``[PREFIX-]MODEL-DATASET-PART``, where ``--job-name`` gives the prefix.

    Args:
        labels: Model, dataset and part of each element. For several elements of one model, the name has what they all
            share; for several models, the first element's model and dataset and the number of the other elements:
            ``gpt-plan+3``.
        options: Other options of the job.
    """
    prefix = ''
    for word, following in zip(options, [*options[1:], ''], strict=True):
        given = re.fullmatch(r'--job-name=(.*)|-J(.+)', word, re.DOTALL)
        prefix = following if word in ('-J', '--job-name') else (given[1] or given[2] or '') if given else prefix
    same = [values[0] for values in zip(*labels, strict=True) if len(set(values)) == 1]
    words = same if same and same[0] == labels[0][0] else [*labels[0][:1], f'{labels[0][1]}+{len(labels) - 1}']
    return re.sub(r'[\s/]+', '-', '-'.join(filter(None, [prefix, *words])))[:_MOST_OF_NAME]


def shares(limit: int, sizes: Sequence[int], held: Sequence[int]) -> list[int]:
    """Returns the number of elements of each array that may run at once.

    Free slots are distributed one by one: first to arrays without a slot, then in proportion to size. No array gets
    more slots than its size.

    Args:
        limit: Maximum number of elements at once, over all arrays.
        sizes: Number of unfinished elements of each array.
        held: Number of slots that each array has; they are not taken back.

    Returns:
        The number for each array; 0 if it must wait.
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
    """Formats indices for ``--array``: ``0-3,7``."""
    runs = groupby(enumerate(sorted(indices)), key=lambda pair: pair[1] - pair[0])
    ends = ([index for _, index in run] for _, run in runs)
    return ','.join(f'{run[0]}-{run[-1]}' if len(run) > 1 else str(run[0]) for run in ends)


def read_job_id(output: str) -> str:
    """Parses the job id in the output of ``sbatch --parsable``: ``7``, or ``7;cluster``.

    Raises:
        ValueError: The output has another format.
    """
    ids = re.findall(r'^(\d+)(?:;\S*)?[ \t\r]*$', output, re.MULTILINE)
    if not ids:
        raise ValueError(f'sbatch --parsable printed {output!r}, not a job id')
    return str(ids[-1])


def read_states(output: str) -> dict[tuple[str, int], State]:
    """Parses states by job and index from ``squeue --noheader --array --format=STATE_FORMAT``."""
    # The reason may contain blanks: 'launch failed requeued held'.
    rows = (line.split(maxsplit=3) for line in output.splitlines())
    return {(row[0], int(row[1])): State(*row[2:]) for row in rows if len(row) > 2 and row[1].isdigit()}


def read_jobs(output: str) -> set[tuple[str, str]]:
    """Parses id and command of unfinished jobs from ``squeue --noheader --format=JOB_FORMAT``."""
    rows = (line.split(maxsplit=2) for line in output.splitlines())
    return {(row[0], row[2]) for row in rows if len(row) > 2 and not State(row[1]).is_over}


def read_array_limit(output: str) -> int:
    """Parses the maximum number of elements of an array from ``scontrol show config``; indices are below it.

    Raises:
        ValueError: The output lacks the number, or the cluster does not allow job arrays.
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
    """Tests if an error of a Slurm command is temporary: the controller is busy, restarting or unreachable."""
    return bool(_PASSING.search(output))


def is_submit_limit(output: str) -> bool:
    """Tests if ``sbatch`` refused an array because the user may not have as many jobs in the queue."""
    return bool(_SUBMIT_LIMIT.search(output))


def is_forgotten(output: str) -> bool:
    """Tests if ``squeue`` reports that the jobs ended so long ago that Slurm no longer knows them."""
    return 'Invalid job id' in output


def file_pattern(path: str) -> str:
    """Escapes a path for ``--output``, in which ``%`` would be a placeholder."""
    return path.replace('%', '%%')
