"""Runs one task as a process: ``python -m opencompass_tooleval.tasks.task_process infer|eval CONFIG [STARTER]``.

A task has OpenCompass's modules and all samples of a dataset in memory: a million objects with hardly any cycles.
Searches of the garbage collector took a fifth of importing, a fifth of evaluation, and 1.5 s at exit.
"""

from __future__ import annotations

import gc
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module

import psutil

_LOOK_EVERY = 1.0
_SECONDS_TO_END = 10.0


def _ancestors() -> Iterator[int]:
    """Yields the ids of the parent, its parent and so on, up to one that has ended."""
    with suppress(psutil.Error):
        process = psutil.Process().parent()
        while process is not None:
            yield process.pid
            process = process.parent()


def _end_after(starter: int) -> None:
    while starter in _ancestors():
        time.sleep(_LOOK_EVERY)
    print(f'process {starter}, which started this task, is gone: the task ends', file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS_TO_END)
    os.kill(os.getpid(), signal.SIGKILL)


def end_with(starter: int) -> None:
    """Ends this process soon after the process ``starter`` has ended, if it is an ancestor."""
    if starter in _ancestors():
        threading.Thread(target=_end_after, args=[starter], daemon=True, name='end_with_starter').start()


MODULE = 'opencompass_tooleval.tasks.task_process'
TASKS = {'infer': 'ToolEvalInferTask', 'eval': 'ToolEvalEvalTask'}

_THRESHOLDS = 50_000, 20, 100
"""Thresholds of the garbage collector; Python's defaults are 700, 10, 10."""


def shell_word(path: str) -> str:
    """Quotes a path as one shell word. A path that is already quoted (as by Slurm runners) stays unchanged."""
    try:
        words = shlex.split(path)
    except ValueError:
        words = []
    return path if len(words) == 1 and shlex.quote(words[0]) == path else shlex.quote(path)


def as_module(command: str, script: str, stage: str) -> str:
    """Returns the command of a task with this module instead of OpenCompass's script. The task ends with this process.

    Args:
        command: OpenCompass's command without the runner's template; the config is one shell word.
        script: OpenCompass's script in the command.
        stage: ``infer`` or ``eval``.

    Raises:
        ValueError: The script is not in the command.
    """
    interpreter, separator, config = command.partition(f' {script} ')
    if not separator:
        raise ValueError(f'{script} is not in the command {command!r}')
    if interpreter.startswith(sys.executable):  # OpenCompass does not quote it
        interpreter = shlex.quote(sys.executable) + interpreter.removeprefix(sys.executable)
    return f'{interpreter} -m {MODULE} {stage} {config} {os.getpid()}'


def main(stage: str, config: str, starter: str = '0') -> None:
    """Runs the task of a config.

    Args:
        stage: ``infer`` or ``eval``.
        config: A file written by OpenCompass's runners.
        starter: Id of the process whose end also ends the task; '0' for none.
    """
    end_with(int(starter))
    started = time.perf_counter()
    gc.disable()
    from mmengine.config import Config
    from opencompass.utils import get_logger

    task_type = getattr(import_module(f'opencompass_tooleval.tasks.{stage}_task'), TASKS[stage])
    task = task_type(Config.fromfile(config))
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    gc.enable()
    try:
        task.run()
    finally:
        get_logger().info(f'time elapsed: {time.perf_counter() - started:.2f}s')  # same wording as OpenCompass
        gc.freeze()


if __name__ == '__main__':
    main(*sys.argv[1:])
