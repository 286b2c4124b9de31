"""Runs tasks on this machine, each forked from a process that has imported OpenCompass once."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from mmengine.config import Config
from opencompass.registry import RUNNERS, TASKS
from opencompass.runners import LocalRunner
from opencompass.runners.local import get_command_template
from opencompass.utils import get_logger, model_abbr_from_cfg

from opencompass_tooleval.models.gpus import lacking_gpus
from opencompass_tooleval.runners.task_progress import TaskProgress
from opencompass_tooleval.tasks.eval_task import ToolEvalEvalTask
from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask
from opencompass_tooleval.work_dir.trust import trust_own_run
from opencompass_tooleval.work_dir.whole_file import private_folder

_STAGES = {ToolEvalInferTask: 'infer', ToolEvalEvalTask: 'eval'}
_TORCHRUN = 'torch.distributed.run'
_SECONDS_TO_END = 5.0


def _run_forked(stage: str, config: str, starter: int, log: str, environment: Mapping[str, str], command: str) -> None:
    """Runs one task in a separate process: opens its session and its log, sets its GPUs, then runs it.

    Args:
        stage: ``infer`` or ``eval``.
        config: The task's parameter file.
        starter: Id of the process that runs the tasks.
        log: File for its output.
        environment: Its complete environment.
        command: Shell command that runs the same task, used if a fork cannot use the GPUs.
    """
    # So that killpg ends the task and all processes that it started, and no other task.
    os.setsid()
    with open(log, 'w', encoding='utf-8') as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os.environ.clear()
    os.environ.update(environment)
    import numpy
    import torch

    if torch.cuda._is_in_bad_fork():  # CUDA was initialised before the fork: only a separate program can use it
        os.execvp('sh', ['sh', '-c', command])
    numpy.random.seed()  # otherwise every fork draws the same random numbers as its siblings
    from opencompass_tooleval.tasks.task_process import main

    try:
        main(stage, config, str(starter))
    finally:
        atexit._run_exitfuncs()  # a fork of multiprocessing ends without


@RUNNERS.register_module()
class ToolEvalLocalRunner(LocalRunner):
    """OpenCompass's :class:`LocalRunner`; tasks are forked from a process that has imported OpenCompass once.

    A task that starts as a separate program spends seconds on imports. The runner assigns GPUs, logs and parallel slots
    as :class:`LocalRunner` does. Each task has a separate session: it ends with the process that runs the tasks, and
    does not end other tasks. Tasks of other classes, and those that torchrun starts, are run as commands.

    Args:
        task: Type of the tasks.
        kwargs: Arguments of :class:`LocalRunner`.
    """

    def __init__(self, task: Any, **kwargs: Any) -> None:
        super().__init__(task, **kwargs)
        self._processes: set[ForkServerProcess] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._progress = TaskProgress()
        self._context = multiprocessing.get_context('forkserver')
        if not self.debug:
            self._context.set_forkserver_preload(['opencompass_tooleval.tasks.preload'])
            forkserver.ensure_running()  # it imports while the tasks are built

    def launch(self, tasks: list[dict[str, Any]]) -> list[tuple[str, int]]:
        """Runs the tasks; an interrupt of this process ends them.

        Returns:
            Name and exit code of each.

        Raises:
            SystemExit: A task needs more GPUs than this machine has; no task is started.
        """
        self._check_gpus(tasks)
        if tasks:
            trust_own_run(Path(tasks[0]['work_dir']))
        parameters = Path('tmp')  # of LocalRunner's debug mode
        was_there = parameters.exists()
        try:
            with self._progress.shown():
                return list(super().launch(tasks))
        except BaseException:
            self._end_all()
            raise
        finally:
            if not was_there:
                with suppress(OSError):  # it was not created, or holds a log of torchrun
                    parameters.rmdir()

    def _check_gpus(self, tasks: Sequence[Any]) -> None:
        needed: dict[str, int] = {}
        for cfg in tasks:
            gpus = TASKS.build({'cfg': cfg, 'type': self.task_cfg['type']}).num_gpus
            for model in cfg['models']:
                name = model_abbr_from_cfg(model)
                needed[name] = max(gpus, needed.get(name, 0))
        if lacking := lacking_gpus(needed):
            raise SystemExit(f'tooleval: {lacking}')

    def _launch(self, task: Any, gpu_ids: Iterable[int], index: int) -> tuple[str, int]:
        if _STAGES.get(type(task)) != 'infer':
            return self._run(task, gpu_ids)
        with self._progress.task(task.cfg):
            return self._run(task, gpu_ids)

    def _run(self, task: Any, gpu_ids: Iterable[int]) -> tuple[str, int]:
        stage = _STAGES.get(type(task))
        if self._stopped:
            return task.name, 1
        log = Path(task.get_log_path(file_extension='out'))
        log.parent.mkdir(parents=True, exist_ok=True)
        with private_folder('task') as folder:  # readable by its owner alone: it may hold keys
            config = str(Path(folder, 'params.py'))
            Config(task.cfg.to_dict(), format_python_code=False).dump(config)  # formatting takes longer than a task
            template = get_command_template(list(gpu_ids))
            command = task.get_command(config, template)
            if stage is None or _TORCHRUN in command:
                with log.open('w', encoding='utf-8') as stream:
                    code = subprocess.run(command, shell=True, stdout=stream, stderr=stream).returncode
            else:
                environment = {**os.environ, **dict(word.split('=', 1) for word in template.split() if '=' in word)}
                arguments = (stage, config, os.getpid(), str(log), environment, command)
                code = self._wait_for(self._context.Process(target=_run_forked, args=arguments))
        if code:
            get_logger().error(f'task {task.name} fail, see\n{log}')
        return task.name, code

    def _wait_for(self, process: ForkServerProcess) -> int:
        """Starts a process, waits for it and returns its exit code; minus the signal number if a signal ended it."""
        with self._lock:
            if self._stopped:
                return 1
            # Under the lock: a task that starts while _end_all makes its list would outlive the sweep.
            process.start()
            self._processes.add(process)
        process.join()
        with self._lock:
            self._processes.discard(process)
        return 1 if process.exitcode is None else process.exitcode

    def _end_all(self) -> None:
        """Ends the running tasks and starts no more."""
        with self._lock:
            self._stopped = True
            running = list(self._processes)
        for process in running:
            _signal(process, signal.SIGTERM)
        end = time.monotonic() + _SECONDS_TO_END
        while any(process in self._processes for process in running) and time.monotonic() < end:
            time.sleep(0.05)
        for process in running:
            _signal(process, signal.SIGKILL)


def _signal(process: ForkServerProcess, number: signal.Signals) -> None:
    """Sends a signal to a task and all processes that it started, if it still runs."""
    if process.pid is not None and process.exitcode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
