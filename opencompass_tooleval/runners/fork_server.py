"""The process that forks the tasks of a local run. It is a fork of the command, so OpenCompass is imported once.

A process can be forked safely only while it has a single thread, since locks of other threads stay locked in a fork.
The fork server is a program that imports OpenCompass again if the command has several threads, if a task needs GPUs
(importing OpenCompass may have initialised CUDA, which a fork cannot use then), or if the fork server was killed.
"""

from __future__ import annotations

import atexit
import gc
import json
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from tqdm import TMonitor

from opencompass_tooleval.work_dir.interrupts import interrupt_held

_PROGRAM = f"""
import sys
sys.path[:] = {{path!r}}
from opencompass_tooleval.tasks.preload import preload
preload()
from {__name__} import serve
serve({{control}})
"""
_LOST = 255
"""Exit code of a task whose fork server was killed."""

_PREPARED_THREADS = {'jemalloc_bg_thd'}
"""Native threads that may run during a fork, because their library is prepared. OpenBLAS ends its threads first."""

_THREADS = Path('/proc/self/task')
_POLLS = 10
_SECONDS_PER_POLL = 0.01


class ForkedTask:
    """A task in a separate session.

    Attributes:
        pid: Its process id; 0 if the fork server was killed before it started the task.
        exit_code: None until :meth:`wait` has returned.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._reports = connection.makefile('r')
        self.pid = int(self._report() or 0)
        self.exit_code: int | None = None

    def wait(self) -> int:
        """Waits for the end of the task, and returns its exit code, or minus the number of the signal that ended it."""
        with self._reports:
            self.exit_code = int(self._report() or _LOST)
        return self.exit_code

    def _report(self) -> str:
        """Returns the next line from the fork server; '' if it was killed."""
        try:
            return self._reports.readline()
        except ConnectionResetError:  # it was killed before it read the job
            return ''


class ForkServer:
    """Starts tasks as forks of another process, which ends with this one.

    Args:
        from_program: True to start the process as a program that imports OpenCompass, not as a fork of this process.
    """

    def __init__(self, from_program: bool = False) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        if not from_program:
            self._control = _fork_server()

    def start(self, **job: Any) -> ForkedTask:
        """Starts a task. If the fork server was killed, starts another one. Threads may call it.

        Args:
            job: Arguments of :func:`_run_task`, and ``modules``, which are imported for later tasks.
        """
        with self._lock:
            connection, used = self._connect(), self._control
        task = _sent(connection, job)
        if task.pid:
            return task
        task.wait()  # closes the connection
        with self._lock:  # the fork server was killed after its socket took the job
            if self._control is used and used:
                used.close()
                self._control = None
            connection = self._connect()
        return _sent(connection, job)

    def _connect(self) -> socket.socket:
        """Returns a connection to the fork server, for one task."""
        here, there = socket.socketpair()
        with there:
            if self._control:
                with suppress(OSError):
                    socket.send_fds(self._control, [b'\0'], [there.fileno()])
                    return here
                self._control.close()
            self._control = _start_program()
            socket.send_fds(self._control, [b'\0'], [there.fileno()])
        return here


def _sent(connection: socket.socket, job: Mapping[str, Any]) -> ForkedTask:
    with connection:
        with suppress(OSError):  # the fork server has just been killed
            connection.sendall(json.dumps(job).encode())
            connection.shutdown(socket.SHUT_WR)
        return ForkedTask(connection)


def _fork_server() -> socket.socket | None:
    """Forks a fork server; returns the connection to it, or None if this process has several threads."""
    if not _is_single_threaded():
        return None
    here, there = socket.socketpair()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # otherwise both processes print buffered output
    with there, interrupt_held():
        if not os.fork():
            try:
                here.close()
                serve(there.detach())
            finally:
                os._exit(1)  # never returns into the command's code
    return here


def _is_single_threaded() -> bool:
    """Tests if this process has a single thread. Ends the threads of progress bars; a fork ends those of libraries."""
    for monitor in threading.enumerate():
        if isinstance(monitor, TMonitor):
            monitor.exit()  # the next progress bar starts another one
    if threading.active_count() > 1 or not _THREADS.is_dir():
        return False
    for number in range(_POLLS):
        names = []
        for thread in _THREADS.iterdir():
            with suppress(OSError):  # the thread has ended
                names.append((thread / 'comm').read_text(errors='replace').strip())
        if len([name for name in names if name not in _PREPARED_THREADS]) == 1:
            return True
        if number:
            time.sleep(_SECONDS_PER_POLL)  # an ended thread is listed for a moment
        elif process := os.fork():
            os.waitpid(process, 0)
        else:
            os._exit(0)
    return False


def _start_program() -> socket.socket:
    """Starts a program as a fork server and returns the connection to it."""
    here, there = socket.socketpair()
    with there, interrupt_held():
        program = _PROGRAM.format(path=sys.path, control=there.fileno())
        subprocess.Popen([sys.executable, '-c', program], pass_fds=[there.fileno()])
    return here


def serve(control: int) -> NoReturn:
    """Forks a task for each connection that it receives, until the command closes its end or has ended.

    Args:
        control: Descriptor of a socket that receives descriptors of connections. Each connection sends one job, and
            receives the task's process id and its exit code.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner ends the tasks
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    has_ended, wakeup = socket.socketpair()
    wakeup.setblocking(False)
    signal.set_wakeup_fd(wakeup.fileno())
    gc.freeze()  # the garbage collector of each task skips objects that all tasks share
    arrivals = socket.socket(fileno=control)
    running: dict[Any, socket.socket] = {}
    stages: set[str] = set()
    while True:
        readable, _, _ = select.select([arrivals, has_ended], [], [])
        if has_ended in readable:
            has_ended.recv(select.PIPE_BUF)
            for task in [task for task in running if task.exitcode is not None]:
                with running.pop(task) as connection:
                    _report(connection, task.exitcode)
        if arrivals in readable:
            _, descriptors, _, _ = socket.recv_fds(arrivals, 1, 1)
            if not descriptors:
                os._exit(0)
            connection = socket.socket(fileno=descriptors[0])
            with connection.makefile() as stream:
                job = json.load(stream)
            modules = job.pop('modules')
            inherited = [arrivals, has_ended, wakeup, connection, *running.values()]
            task = multiprocessing.get_context('fork').Process(target=_run_task, args=[inherited], kwargs=job)
            task.start()
            running[task] = connection
            _report(connection, task.pid or 0)
            if job['stage'] in stages:  # not for a single task; later tasks share the imports
                from opencompass_tooleval.tasks.preload import preload

                preload(modules)
            stages.add(job['stage'])


def _report(connection: socket.socket, number: int) -> None:
    with suppress(OSError):  # the command was killed
        connection.sendall(b'%d\n' % number)


def _run_task(
    inherited: Iterable[socket.socket],
    stage: str,
    config: str,
    starter: int,
    log: str,
    environment: Mapping[str, str],
    command: str,
    has_gpus: bool,
) -> None:
    """Runs one task in its process, after setting up session, log and GPUs.

    Args:
        inherited: The fork server's sockets.
        stage: ``infer`` or ``eval``.
        config: The task's parameter file.
        starter: Id of the process that runs the tasks.
        log: File for the task's output.
        environment: The task's complete environment.
        command: Shell command that runs the same task, used if a fork cannot use the GPUs.
        has_gpus: True if the task has GPUs.
    """
    # So that killpg ends the task and all processes that it started, but no other task.
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for opened in inherited:
        opened.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # drops one that arrived before setsid: the runner ends this task
    signal.signal(signal.SIGINT, signal.default_int_handler)  # under `tooleval retry` it would be ignored
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # blocked by interrupt_held
    with open(log, 'w', encoding='utf-8') as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os.environ.clear()
    os.environ.update(environment)
    import numpy
    import torch
    from tqdm import tqdm

    if not has_gpus:
        os.environ.setdefault('PYTORCH_NVML_BASED_CUDA_CHECK', '1')  # counts GPUs without CUDA
    elif torch.cuda._is_in_bad_fork():  # CUDA was initialised before the fork: only a separate program can use it
        os.execvp('sh', ['sh', '-c', command])
    # tqdm's own lock is a semaphore of multiprocessing, which warns in the terminal if a task is killed.
    tqdm.set_lock(threading.RLock())
    numpy.random.seed()  # otherwise all forks would draw the same random numbers
    from opencompass_tooleval.tasks.task_process import main

    try:
        main(stage, config, str(starter))
    finally:
        atexit._run_exitfuncs()  # multiprocessing's forks do not call them
