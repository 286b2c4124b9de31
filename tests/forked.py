"""Python, and with it ``opencompass``, in a process forked from one that has imported OpenCompass once.

A program of its own imports for 7 s, which few tests ask for. A fork is otherwise what a program is: it has its own
session, folder, environment and output, is killed like one, and runs its tasks in processes of their own, those of
OpenCompass's own runner too. So is the ``opencompass`` that ``tooleval retry`` and ``tooleval demo`` start. Real
programs run in ``test_interrupt.py`` and ``test_tasks.py``, and on Slurm, where every task is one; and in
``test_local_runner.py`` the fork servers of tasks with GPUs.

This module is also the process that is forked: ``python -m tests.forked SOCKET``. A line of JSON asks, a line answers.
The workers of pytest-xdist are such forks too, and ask the same process.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 1500.0
SOCKET = 'SOCKET_OF_FORKED_TESTS'
"""Variable of the environment: this checkout, and the path of the socket."""
COMMANDS = {
    'opencompass': ['-m', 'opencompass.cli.main'],
    'tooleval': ['-c', 'from opencompass_tooleval.cli.main import main; main()'],
}
OPENCOMPASS = [sys.executable, '-m', 'opencompass.cli.main']
"""How ``tooleval`` starts it."""
TASKS = ('openicl_infer.py', 'openicl_eval.py')
GPUS = 'CUDA_VISIBLE_DEVICES='
"""Scripts that OpenCompass's own runner starts, and what stands in front of them where there are no GPUs."""
NOWHERE = Path(os.devnull)
NOT_INHERITED = ('COMPASS_DATA_CACHE', 'TOOLEVAL_ENCODER', 'TOOLEVAL_CACHE', 'HF_HOME', 'HF_HUB_CACHE')
"""Settings that libraries read while they are imported; a run has those that its test gives it."""


class Fork:
    """A running ``python``; used as :class:`subprocess.Popen` is."""

    def __init__(self, arguments: Sequence[object], cwd: Path, env: Mapping[str, str], *streams: Path):
        _, self.output, self.errors = streams
        self.returncode: int | None = None
        self.pid: int = _ask(start=[[*map(str, arguments)], str(cwd), dict(env), *map(str, streams)])

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        if self.returncode is None:
            self.returncode = _ask(status=self.pid)
        return self.returncode

    def wait(self, timeout: float = PATIENCE) -> int:
        """Waits for its end and returns the exit status."""
        start = time.monotonic()
        while (status := self.poll()) is None:
            if (waited := time.monotonic() - start) > timeout:
                raise subprocess.TimeoutExpired('python', timeout)
            time.sleep(min(0.01 + waited / 50, 0.5))
        return status

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends it at once."""
        self.send_signal(signal.SIGKILL)


def start_python(
    *arguments: object,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    output: Path = NOWHERE,
    errors: Path | None = None,
) -> Fork:
    """Starts ``python`` in a session of its own.

    Args:
        arguments: ``-m``, a module and its arguments; or ``-c``, code and its arguments.
        cwd: Its folder, by default this process's.
        env: Its environment, by default this process's.
        output: File to which all that it prints is appended; by default nobody reads it.
        errors: Another file for what it prints as errors.
    """
    streams = NOWHERE, output, errors or output
    return Fork(arguments, cwd or Path.cwd(), os.environ if env is None else env, *streams)


def run_python(
    *arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout: float = PATIENCE
) -> subprocess.CompletedProcess[str]:
    """Runs ``python`` to its end, as :func:`subprocess.run` does with ``capture_output``."""
    with tempfile.TemporaryDirectory() as folder:
        files = NOWHERE, Path(folder, 'output'), Path(folder, 'errors')
        fork = Fork(arguments, cwd or Path.cwd(), os.environ if env is None else env, *files)
        try:
            status = fork.wait(timeout)
        finally:
            fork.kill()
        texts = [file.read_text(encoding='utf-8', errors='replace') for file in files[1:]]
    return subprocess.CompletedProcess(['python', *map(str, arguments)], status, *texts)


def write_commands(folder: Path) -> None:
    """Writes ``opencompass`` and ``tooleval`` for a script of a shell, each of which is such a run."""
    folder.mkdir()
    for name, words in COMMANDS.items():
        line = shlex.join([sys.executable, '-S', str(Path(__file__)), '--run', *words])
        (folder / name).write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding='utf-8')
        (folder / name).chmod(0o755)


def worker_spec() -> str:
    """Returns what xdist's ``--tx`` calls a worker that is forked, and so does not import OpenCompass itself."""
    return f'popen//python={shlex.join([sys.executable, "-S", str(Path(__file__)), "--run"])}'


def _run_command(words: Sequence[str]) -> int:
    """Runs one, with this process's streams."""
    fork = Fork(words, Path.cwd(), os.environ, *(Path(f'/proc/{os.getpid()}/fd/{number}') for number in range(3)))
    try:
        return fork.wait(math.inf)  # a worker of pytest-xdist lasts as long as the suite
    finally:
        fork.kill()


start_opencompass = partial(start_python, *COMMANDS['opencompass'])
run_opencompass = partial(run_python, *COMMANDS['opencompass'])
run_tooleval = partial(run_python, *COMMANDS['tooleval'])


_asking = threading.Lock()


def share_server() -> None:
    """Starts the process that forks all workers of pytest-xdist, and that they ask."""
    _start_server(_listen())


def _listen() -> socket.socket:
    """Opens the socket of the process that is forked, and names it in the environment for workers."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f'{folder.name}/socket')
    listening.listen()
    os.environ[SOCKET] = f'{ROOT}:{folder.name}/socket'
    return listening


def _start_server(listening: socket.socket) -> None:
    """Starts the process that is forked; it ends with this one, which closes its input."""
    home = tempfile.TemporaryDirectory()  # with no models in it
    env = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED} | {'HOME': home.name}
    env['GLIBC_TUNABLES'] = 'glibc.malloc.hugetlb=1'  # huge pages: a fork takes half the time
    command = [sys.executable, '-m', 'tests.forked', str(listening.fileno())]
    streams: dict[str, Any] = {'stdin': subprocess.PIPE, 'stdout': subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=ROOT, env=env, pass_fds=[listening.fileno()], **streams)
    listening.close()

    def end() -> None:
        process.kill()
        process.communicate()
        home.cleanup()

    atexit.register(end)


@cache
def _connection() -> IO[str]:
    """This process's connection to the one that is forked."""
    root, _, path = os.environ.get(SOCKET, '').rpartition(':')
    if root != str(ROOT):  # that of another copy of this package, whose tests run these
        _start_server(_listen())
        path = os.environ[SOCKET].rpartition(':')[2]
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection.makefile('rw')


def _ask(**question: Any) -> Any:
    with _asking:
        connection = _connection()
        connection.write(json.dumps(question) + '\n')
        connection.flush()
        answer = connection.readline()
    assert answer, 'the process that is forked has ended'
    return json.loads(answer)


# --- the process that is forked ---------------------------------------------------------------------------------------


def _serve(listening: socket.socket) -> None:
    from opencompass_tooleval import plugin
    from opencompass_tooleval.tasks.preload import preload

    for module in plugin.MODULES:
        plugin.load(module)
    preload(['fastapi', 'uvicorn', 'mcp', 'hypothesis'])  # of tools/serve_model.py, own tasks and tests
    for at_exit in weakref.finalize._registry:  # type: ignore[attr-defined]
        at_exit.atexit = False  # torch empties its tables of operators, for a tenth of a second in each fork

    connections: dict[socket.socket, IO[str]] = {}
    while True:
        readable: list[Any] = select.select([sys.stdin, listening, *connections], [], [])[0]
        if sys.stdin in readable:  # its end
            return
        for one in readable:
            if one is listening:
                connection = listening.accept()[0]
                connections[connection] = connection.makefile('rw')
            elif line := connections[one].readline():
                question = json.loads(line)
                if 'start' in question:
                    answer: int | None = os.fork()
                    if not answer:
                        opened: list[Any] = [listening, *connections, *connections.values()]
                        for each in opened:
                            each.close()
                        _run(*question['start'])
                else:
                    pid, status = os.waitpid(question['status'], os.WNOHANG)
                    answer = os.waitstatus_to_exitcode(status) if pid else None
                connections[one].write(json.dumps(answer) + '\n')
                connections[one].flush()
            else:
                connections.pop(one).close()
                one.close()


def _run(words: list[str], cwd: str, env: dict[str, str], stdin: str, output: str, errors: str) -> NoReturn:
    """The life of a fork."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.dup2(os.open(stdin, os.O_RDONLY), 0)
    for number, name in ((1, output), (2, errors)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, 'w', 1)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path.insert(0, cwd)
    import numpy

    numpy.random.seed()
    if words[0] == '-u':  # a worker of pytest-xdist; its tests start real programs
        sys.argv = ['-c']
        _end_with(lambda: exec(words[-1], {'__name__': '__main__'}))
    option, what, *_ = words
    sys.argv = [option, *words[2:]]
    import yapf.yapflib.yapf_api

    # Up to a second for the line breaks of each task's config, which nobody reads. Real programs do it.
    yapf.yapflib.yapf_api.FormatCode = lambda text, **_: (text, True)
    subprocess.run = partial(_run_task, subprocess.run)
    subprocess.Popen = _Program  # type: ignore[misc]
    if option == '-c':
        _end_with(lambda: exec(what, {'__name__': '__main__'}))
    _end_with(lambda: runpy.run_module(what, run_name='__main__', alter_sys=True))


def _run_task(run: Any, command: Any, **options: Any) -> Any:
    """As :func:`subprocess.run`; a task of OpenCompass's own runner is a fork that runs the same script."""
    words = shlex.split(command) if options.get('shell') else []
    if len(words) != 4 or words[:2] != [GPUS, sys.executable] or not words[2].endswith(TASKS):
        return run(command, **options)
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        _forget_threads()
        for number in (1, 2):
            os.dup2(options['stdout'].fileno(), number)
        os.environ['CUDA_VISIBLE_DEVICES'] = ''
        subprocess.run = run
        sys.argv = words[2:]
        _end_with(lambda: runpy.run_path(words[2], run_name='__main__'))
    return subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


class _Program(subprocess.Popen[Any]):
    """A program; ``opencompass`` is a fork."""

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, *options: Any) -> None:
        if not isinstance(args, list) or args[:3] != OPENCOMPASS:
            super()._execute_child(args, executable, preexec_fn, *options)  # type: ignore[misc]
            return
        sys.stdout.flush()
        self.pid = os.fork()
        self._child_created = True
        if not self.pid:
            _forget_threads()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            if preexec_fn:
                preexec_fn()
            sys.argv = args[2:]
            _end_with(lambda: runpy.run_module(args[2], run_name='__main__', alter_sys=True))


def _forget_threads() -> None:
    """After a fork by a thread of a pool, whose others are not here, and cannot give back what they hold."""
    from concurrent.futures import thread

    from tqdm import tqdm

    thread._threads_queues.clear()  # type: ignore[attr-defined]
    kinds = [tqdm]
    for kind in kinds:  # the thread with the bar of OpenCompass's runner may hold the lock
        kind.set_lock(threading.RLock())
        kinds += kind.__subclasses__()


def _end_with(work: Any) -> NoReturn:
    """Does the work and ends as Python does."""
    status, interrupted = 1, False
    try:
        work()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except BaseException as end:
        sys.excepthook(type(end), end, end.__traceback__)
        interrupted = isinstance(end, KeyboardInterrupt)
    finally:
        threading._shutdown()  # type: ignore[attr-defined]  # waits for threads that are no daemons
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        if interrupted:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        os._exit(status)


if __name__ == '__main__':
    if sys.argv[1] == '--run':
        sys.exit(_run_command(sys.argv[2:]))
    _serve(socket.socket(fileno=int(sys.argv[1])))
