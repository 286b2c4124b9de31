"""Tasks on this machine, each forked from a process that has imported OpenCompass once."""

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
from tempfile import TemporaryDirectory
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

_STAGES = {ToolEvalInferTask: 'infer', ToolEvalEvalTask: 'eval'}
_TORCHRUN = 'torch.distributed.run'
_SECONDS_TO_END = 5.0


def _run_forked(stage: str, config: str, starter: int, log: str, environment: Mapping[str, str], command: str) -> None:
    """The life of one task, in a process of its own: its session, its log, its GPUs, then the task.

    Args:
        stage: ``infer`` or ``eval``.
        config: The task's parameter file.
        starter: Id of the process that runs the tasks.
        log: File for what it prints.
        environment: All of its environment.
        command: What a shell would run instead, for where a fork cannot use GPUs.
    """
    # So that killpg ends the task with all that it started, and no other task.
    os.setsid()
    with open(log, 'w', encoding='utf-8') as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os.environ.clear()
    os.environ.update(environment)
    import numpy
    import torch

    if torch.cuda._is_in_bad_fork():  # CUDA was begun before the fork: only a program of its own can use it
        os.execvp('sh', ['sh', '-c', command])
    numpy.random.seed()  # otherwise every fork draws what its siblings draw
    from opencompass_tooleval.tasks.task_process import main

    try:
        main(stage, config, str(starter))
    finally:
        atexit._run_exitfuncs()  # a fork of multiprocessing ends without


@RUNNERS.register_module()
class ToolEvalLocalRunner(LocalRunner):
    """OpenCompass's :class:`LocalRunner`, whose tasks fork from a process that has imported OpenCompass once.

    Importing takes seconds, which each task spends again when it is a program of its own. GPUs, logs and parallel tasks
    are those of :class:`LocalRunner`. Each task is a session of its own: it ends with the process that runs the tasks,
    and takes no other task along. Tasks of other classes and those that torchrun starts are run as commands, as before.

    Args:
        task: As :class:`LocalRunner`.
        kwargs: As there.
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
            forkserver.ensure_running()  # it imports while the tasks are made

    def launch(self, tasks: list[dict[str, Any]]) -> list[tuple[str, int]]:
        """Runs the tasks; whatever interrupts this process ends them.

        Returns:
            Name and exit code of each.

        Raises:
            SystemExit: A task needs more GPUs than there are; nothing is asked then.
        """
        self._check_gpus(tasks)
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
                with suppress(OSError):  # it was not made, or holds a log of torchrun
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
        with TemporaryDirectory(prefix='tooleval-task-') as folder:  # readable for its owner alone: it may hold keys
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
        """Starts a process and returns its exit code; negative: the signal that ended it."""
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
        """Ends what runs and starts nothing more."""
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
    """Sends a signal to a task and all that it started, if it still runs."""
    if process.pid is not None and process.exitcode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
