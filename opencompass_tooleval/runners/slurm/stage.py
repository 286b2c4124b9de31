"""Submits, watches, retries and cancels the tasks of one stage as job arrays."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencompass.utils import get_logger

from opencompass_tooleval.runners.slurm.client import Slurm, SlurmError
from opencompass_tooleval.runners.slurm.leftovers import job_mark
from opencompass_tooleval.runners.slurm.syntax import (
    ELEMENT_SCRIPT,
    PREEMPTED,
    Resources,
    State,
    array_indices,
    file_pattern,
    is_submit_limit,
    job_name,
    shares,
)
from opencompass_tooleval.work_dir.server_file import (
    FAILED,
    QUEUED,
    ServerState,
    read_server,
    server_file,
    write_server,
)

NO_EXIT_CODE = -1
"""Exit code of an element that ended without one."""

_POLLS = 20
"""The wait between two polls is the time since the start divided by this, within the limits of ``poll``."""


@dataclass
class Element:
    """One element of an array: a task or a shared server.

    Attributes:
        number: Index of the element in the stage.
        gpus: Number of GPUs per node.
        command: Command line for bash.
        log: File for the output.
        failures: Number of failures so far.
        code: Exit code of the last attempt; None until it has ended.
        state: Slurm's state if it explains the code, such as ``TIMEOUT``; else ''.
        nodes: Number of nodes.
        servers: Names of the shared servers that the task needs.
        server: Name of the shared server; '' for a task.
        label: Model, dataset and part, for the names of jobs.
        requeues: Number of times that Slurm has requeued it.
    """

    number: int
    gpus: int
    command: str
    log: Path
    failures: int = 0
    code: int | None = None
    state: str = ''
    gone_since: float | None = None
    nodes: int = 1
    servers: tuple[str, ...] = ()
    server: str = ''
    label: tuple[str, str, str] = ('', '', '')
    requeues: int = 0


@dataclass(eq=False)
class Array:
    """A job array, submitted or waiting to be submitted.

    Attributes:
        chunk: The numbers of the elements are the array's indices plus ``chunk`` times the cluster's array limit.
        gpus: Number of GPUs per node of each element.
        nodes: Number of nodes of each element.
        servers: Names of the shared servers that the elements need.
        server: Name of the shared server; '' for tasks.
        left: Unfinished elements by index.
        throttle: Number of elements that may run at once; 0 before the array is submitted.
        job_id: Slurm's id; '' before the array is submitted.
    """

    chunk: int
    gpus: int
    nodes: int = 1
    servers: tuple[str, ...] = ()
    server: str = ''
    left: dict[int, Element] = field(default_factory=dict)
    throttle: int = 0
    job_id: str = ''

    @property
    def held(self) -> int:
        """Number of elements that may be running."""
        return min(self.throttle, len(self.left))


@dataclass
class Stage:
    """Runs tasks as job arrays, one per number of nodes and GPUs, set of servers and chunk of ``MaxArraySize``.

    A shared server is a separate job that does not count towards the limit of tasks. It is submitted before the first
    tasks that need it, which Slurm starts after it, and is cancelled after the last of them.

    Slurm schedules the elements. An array of more jobs than the user may have in the queue is submitted in parts, as
    jobs end. Failed elements are submitted again as a separate array, after those already submitted. Once Slurm has
    accepted a job, a refused job is retried at every poll, until no task runs and the patience is over.

    Args:
        folder: An empty folder that all nodes share, for scripts and exit codes.
        slurm: The client of Slurm's commands.
        resources: Resources to request for each task.
        server_options: Other options of ``sbatch`` for shared servers.
        sleep: Waits the given seconds; raises an exception if the run must end.
        limit: Maximum number of elements at once, over all arrays.
        retry: Maximum number of repetitions of a failed element.
        poll: Shortest and longest wait between two calls of ``squeue``, in seconds.
        patience: Seconds for which a refused job is retried if no task runs.
        grace: Maximum number of seconds until the exit code of an ended element appears on the shared file system.
        on_end: Called with each element that has ended and will not run again.
        on_requeue: Called with each element that was running and is queued again.
    """

    folder: Path
    slurm: Slurm
    resources: Resources
    sleep: Callable[[float], None] = time.sleep
    limit: int = 32
    retry: int = 2
    poll: tuple[float, float] = (1.0, 15.0)
    patience: float = 1800.0
    grace: float = 30.0
    on_end: Callable[[Element], None] = lambda element: None
    on_requeue: Callable[[Element], None] = lambda element: None
    server_options: Sequence[str] = ()
    _arrays: list[Array] = field(default_factory=list, init=False)
    _size: int = field(default=0, init=False)
    _submitted: int = field(default=0, init=False)
    _told_waiting: set[State] = field(default_factory=set, init=False)
    _accepted: bool = field(default=False, init=False)
    _refusal: SlurmError | None = field(default=None, init=False)
    _refused_since: float = field(default=0.0, init=False)
    _most: int = field(default=sys.maxsize, init=False)  # elements of an array, since Slurm limits submitted jobs

    def run(self, elements: Sequence[Element]) -> None:
        """Runs all elements to their end and sets their ``code``. Cancels all jobs if it ends early.

        Raises:
            SlurmError: Slurm refused the first job, or has not answered for too long.
        """
        self._size = self.slurm.array_limit()
        (self.folder / 'element.sh').write_text(ELEMENT_SCRIPT, encoding='utf-8')
        for element in elements:
            self._write(element)
        self._arrays = self._group(elements)
        started = time.monotonic()
        try:
            while any(not array.server for array in self._arrays):
                self._let_run()
                shortest, longest = self.poll
                self.sleep(min(max((time.monotonic() - started) / _POLLS, shortest), longest))
                self._look()
        finally:
            self._cancel()

    def _path(self, element: Element, suffix: str) -> Path:
        chunk, index = divmod(element.number, self._size)
        return self.folder / f'{chunk}-{index}{suffix}'

    def _write(self, element: Element) -> None:
        self._path(element, '.sh').write_text(f'{element.command}\n', encoding='utf-8')
        name = job_name([element.label], self._options(element.gpus, element.nodes, bool(element.server)))
        self._path(element, '.name').write_text(name, encoding='utf-8')
        element.log.parent.mkdir(parents=True, exist_ok=True)
        element.log.write_text('', encoding='utf-8')
        # Slurm writes messages ("CANCELLED DUE TO TIME LIMIT") to the file of --output, and --output is one pattern
        # for the whole array. So the pattern names links to the tasks' own logs.
        self._path(element, '.log').symlink_to(os.path.relpath(element.log.resolve(), self.folder.resolve()))

    def _group(self, elements: Iterable[Element]) -> list[Array]:
        arrays: dict[Any, Array] = {}
        for element in elements:
            chunk, index = divmod(element.number, self._size)
            kind = chunk, element.gpus, element.nodes, element.servers, element.server
            arrays.setdefault(kind, Array(*kind)).left[index] = element
        return list(arrays.values())

    def _let_run(self) -> None:
        """Submits waiting arrays, and raises the limits of submitted ones by slots that have become free."""
        needed = {name for array in self._arrays if array.job_id for name in array.servers}
        for array in self._arrays:
            if array.server in needed and not array.job_id:  # the server ended before its tasks
                self._submit(array, 1)
        arrays = [array for array in self._arrays if not array.server]
        while refused := self._share_out(arrays):
            arrays = [array for array in arrays if array not in refused]

    def _share_out(self, arrays: Sequence[Array]) -> list[Array]:
        """Lets elements of these arrays run; returns the arrays that Slurm refused."""
        sizes = [len(array.left) for array in arrays]
        granted = shares(self.limit, sizes, [array.held for array in arrays])
        refused = []
        for array, throttle in zip(arrays, granted, strict=True):
            if array.job_id and throttle > array.throttle:
                array.throttle = throttle
                self._raise(array)
            elif throttle > array.throttle and not self._submit(array, throttle):
                refused.append(array)
        return refused

    def _raise(self, array: Array) -> None:
        try:
            self.slurm.set_throttle(array.job_id, array.throttle)
        except SlurmError as error:  # slower, not wrong; the array may also have just ended
            get_logger().info('%s', error)

    def _submit(self, array: Array, throttle: int) -> bool:
        """Submits an array, after the servers that it needs; returns False if Slurm refuses it.

        If a limit of submitted jobs refuses it, it keeps the elements that fit, and another array gets the others.
        """
        if len(array.left) > self._most:
            others = dict(list(array.left.items())[self._most :])
            array.left = {index: element for index, element in array.left.items() if index not in others}
            self._arrays.append(Array(array.chunk, array.gpus, array.nodes, array.servers, array.server, others))
        servers = [other for other in self._arrays if other.server in array.servers]
        if not all(server.job_id or self._submit(server, 1) for server in servers):
            return False
        for element in array.left.values():
            for suffix in ('.exit', '.starts'):
                self._path(element, suffix).unlink(missing_ok=True)
            element.requeues = 0
            if element.server:
                write_server(server_file(self.folder, element.server), ServerState(QUEUED))
        self._submitted += 1
        base = self.folder / str(array.chunk)
        given = self._options(array.gpus, array.nodes, bool(array.server))
        options = [
            '--requeue',
            *given,
            f'--job-name={job_name([element.label for element in array.left.values()], given)}',
            f'--array={array_indices(array.left)}%{throttle}',
            f'--chdir={Path.cwd()}',
            f'--output={file_pattern(str(base))}-%a.log',
            '--open-mode=append',
            *([f'--dependency=after:{":".join(server.job_id for server in servers)}'] if servers else []),
        ]
        mark = job_mark(self.folder, self._submitted, bool(array.server))
        try:
            array.job_id = self.slurm.submit(mark, options, [str(self.folder / 'element.sh'), str(base)])
        except SlurmError as error:
            if is_limit := is_submit_limit(str(error)):
                self._most = max(1, len(array.left) // 2)
                if len(array.left) > 1:
                    return self._submit(array, throttle)
            if not self._accepted and not is_limit:
                raise
            self._note_refusal(error)
            return False
        array.throttle = throttle
        self._accepted, self._refusal, self._most = True, None, 2 * self._most
        each = f'{array.nodes} nodes of {array.gpus} GPUs' if array.nodes > 1 else f'{array.gpus} GPUs'
        what = f'server {array.server}' if array.server else f'{len(array.left)} tasks'
        get_logger().info('job array %s: %s, %s each', array.job_id, what, each)
        return True

    def _options(self, gpus: int, nodes: int, is_server: bool) -> list[str]:
        return [*self.resources.options(gpus, nodes), *(self.server_options if is_server else ())]

    def _note_refusal(self, error: SlurmError) -> None:
        if self._refusal is None:
            self._refused_since = time.monotonic()
        if str(error) != str(self._refusal):
            get_logger().warning('%s; running tasks continue, and this is tried again', error)
        self._refusal = error

    def _look(self) -> None:
        """Reads all states in one call and removes the elements that have ended."""
        submitted = [array for array in self._arrays if array.job_id]
        waiting = [element for array in self._arrays if not array.job_id for element in array.left.values()]
        works = any(not array.server for array in submitted)
        if not works and self._refusal and time.monotonic() - self._refused_since > self.patience:
            self._give_up([element for element in waiting if not element.server], self._refusal)
            return
        states = self.slurm.states([array.job_id for array in submitted]) if submitted else {}
        self._say_what_is_waited_for(states.values())
        self._cancel_what_is_stuck(states)
        for array in submitted:
            for index, element in list(array.left.items()):
                state = states.get((array.job_id, index))
                if element.server and state and state.name == 'PENDING':
                    self._note_server(element, QUEUED)  # requeued: its old address is no longer valid
                starts = self._number(element, '.starts') if state and state.name == 'PENDING' else None
                if starts and starts > element.requeues:
                    element.requeues = starts
                    self.on_requeue(element)
                if self._has_ended(element, state):
                    del array.left[index]
                    if self._is_to_run_again(element):
                        waiting.append(element)
                    else:
                        self._end(element)
        self._arrays = [array for array in submitted if array.left] + self._group(waiting)
        self._release_servers()

    def _end(self, element: Element) -> None:
        if element.server:
            self._note_server(element, FAILED)
        self.on_end(element)

    def _note_server(self, element: Element, stage: str) -> None:
        """Writes the state of a server that is not running, unless the file already has it."""
        file = server_file(self.folder, element.server)
        known = read_server(file)
        if known is None or known.stage not in (stage, FAILED):
            why = f'{element.server}: its job ended ({element.state or element.code}), see {element.log}'
            write_server(file, ServerState(stage, why=why if stage == FAILED else ''))

    def _release_servers(self) -> None:
        """Cancels the servers that no task needs any longer."""
        needed = {name for array in self._arrays for name in array.servers}
        unused = [array for array in self._arrays if array.server and array.server not in needed]
        self._arrays = [array for array in self._arrays if array not in unused]
        if job_ids := [array.job_id for array in unused if array.job_id]:
            try:
                self.slurm.cancel(job_ids)
            except SlurmError as error:  # the server ends by itself when no job needs it
                get_logger().warning('%s', error)

    def _give_up(self, elements: Iterable[Element], refusal: SlurmError) -> None:
        for element in elements:
            element.code = element.code or NO_EXIT_CODE
            element.state = 'refused'
            with element.log.open('a', encoding='utf-8') as log:
                log.write(f'SlurmError: {refusal}\n')
            self.on_end(element)
        self._arrays = [array for array in self._arrays if array.job_id]

    def _say_what_is_waited_for(self, states: Iterable[State]) -> None:
        """Logs each reason for waiting once. Some are temporary (``Resources``), some not (``PartitionTimeLimit``)."""
        waiting = {state for state in states if state.name == 'PENDING'} - self._told_waiting
        for state in sorted(waiting):
            if state.is_held:
                get_logger().warning('tasks are held until "scontrol release": %s', state.reason)
            elif state.reason not in ('', 'None'):
                get_logger().info('tasks wait in the queue: %s', state.reason)
        self._told_waiting |= waiting

    def _cancel_what_is_stuck(self, states: Mapping[tuple[str, int], State]) -> None:
        """Cancels elements that cannot start. At the next poll they count as failed, like other cancelled elements."""
        stuck = [f'{job_id}_{index}' for (job_id, index), state in states.items() if state.is_stuck]
        if not stuck:
            return
        get_logger().warning('Slurm holds tasks that a node could not start; cancelling  %s', shlex.join(stuck))
        try:
            self.slurm.cancel(stuck)
        except SlurmError as error:
            get_logger().warning('%s; trying again', error)

    def _has_ended(self, element: Element, state: State | None) -> bool:
        """Tests if an element has ended; if so, sets its code and state.

        A file with an exit code is not enough, since a task that is stopped to be requeued may leave one too.
        """
        if state is not None and not state.is_over:
            element.gone_since = None
            return False
        name = state.name if state else 'gone'
        code = self._number(element, '.exit')
        if code is None and name in ('gone', 'COMPLETED'):
            element.gone_since = element.gone_since or time.monotonic()
            if time.monotonic() - element.gone_since < self.grace:
                return False
        element.gone_since = None
        element.code = NO_EXIT_CODE if code is None else code
        element.state = '' if name in ('gone', 'COMPLETED', 'FAILED') and code is not None else name
        return True

    def _number(self, element: Element, suffix: str) -> int | None:
        try:
            return int(self._path(element, suffix).read_text(encoding='utf-8'))
        except (FileNotFoundError, ValueError):
            return None

    def _is_to_run_again(self, element: Element) -> bool:
        if element.code == 0 and not element.server:
            return False
        if element.state != PREEMPTED:
            element.failures += 1
        return element.failures <= self.retry

    def _cancel(self) -> None:
        job_ids = [array.job_id for array in self._arrays if array.job_id]
        if not job_ids:
            return
        get_logger().warning('cancelling %s', shlex.join(['scancel', *job_ids]))
        try:
            self.slurm.cancel(job_ids)
        except SlurmError as error:
            get_logger().error('%s. Cancel by hand: %s', error, shlex.join(['scancel', *job_ids]))
