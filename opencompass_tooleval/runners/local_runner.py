"""Runs tasks on this machine, each forked from a process that has imported OpenCompass."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from mmengine.config import Config
from opencompass.registry import RUNNERS, TASKS
from opencompass.runners import LocalRunner
from opencompass.runners.local import get_command_template
from opencompass.utils import get_logger, model_abbr_from_cfg
from tqdm import tqdm

from opencompass_tooleval.models.api.engine_nodes import lacking_nodes
from opencompass_tooleval.models.gpus import lacking_gpus, visible_gpus
from opencompass_tooleval.models.settings import check_settings, models_and_datasets
from opencompass_tooleval.models.shared_servers import placed, shared_servers
from opencompass_tooleval.runners.fork_server import ForkedTask, ForkServer
from opencompass_tooleval.runners.local_servers import LocalServer
from opencompass_tooleval.runners.task_progress import TaskProgress
from opencompass_tooleval.tasks.eval_task import ToolEvalEvalTask
from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask
from opencompass_tooleval.work_dir.causes import one_line_if_full, resuming
from opencompass_tooleval.work_dir.interrupts import Interrupts, one_line_if_interrupted
from opencompass_tooleval.work_dir.lock import hold_sweep
from opencompass_tooleval.work_dir.trust import trust_own_run
from opencompass_tooleval.work_dir.whole_file import private_folder

_STAGES = {ToolEvalInferTask: 'infer', ToolEvalEvalTask: 'eval'}
_TORCHRUN = 'torch.distributed.run'
_SECONDS_TO_END = 1.0
_SECONDS_PER_LOOK = 0.1


@cache
def _fork_server(has_gpus: bool) -> ForkServer:
    """Returns the fork server of tasks with or without GPUs, which both stages share."""
    return ForkServer(from_program=has_gpus)


@RUNNERS.register_module()
class ToolEvalLocalRunner(LocalRunner):
    """OpenCompass's :class:`LocalRunner`; tasks are forked from a process that has imported OpenCompass.

    A task that starts as a separate program spends seconds on imports. The runner assigns GPUs, logs and parallel slots
    as :class:`LocalRunner` does. Each task has a separate session: it ends with the process that runs the tasks, and
    does not end other tasks. Tasks of other classes, and those that torchrun starts, are run as commands. A shared
    server runs from the first to the last task that needs it, on its own GPUs, and takes no slot of the tasks. Ctrl-C
    and SIGTERM end all tasks and servers at once and start no more.

    Args:
        task: Type of the tasks.
        kwargs: Arguments of :class:`LocalRunner`.
    """

    def __init__(self, task: Any, **kwargs: Any) -> None:
        super().__init__(task, **kwargs)
        self._running: set[ForkedTask | subprocess.Popen[bytes]] = set()
        self._changed = threading.Condition()
        self._stopped = False
        self._free: dict[int, int] = {}
        self._active = 0
        self._servers: dict[int, list[LocalServer]] = {}
        self._progress = TaskProgress()
        if not self.debug:
            _fork_server(has_gpus=False)  # as long as this process has a single thread

    def launch(self, tasks: list[dict[str, Any]]) -> list[tuple[str, int]]:
        """Runs the tasks; an interrupt of this process ends them.

        Returns:
            Name and exit code of each.

        Raises:
            SystemExit: A setting is invalid, or a task needs more GPUs than this machine has; no task is started.
        """
        check_settings(*models_and_datasets(tasks))
        self._check_gpus(tasks)
        work_dir = Path(tasks[0]['work_dir']) if tasks else Path()
        if tasks:
            trust_own_run(work_dir)
        with one_line_if_interrupted(resuming(work_dir)), one_line_if_full(work_dir), self._progress.shown():
            if self.debug:
                return self._debug(tasks)
            with self._with_servers(tasks, work_dir) as placed_tasks:
                return self._run_all(placed_tasks)

    @contextmanager
    def _with_servers(self, tasks: Sequence[dict[str, Any]], work_dir: Path) -> Iterator[Sequence[dict[str, Any]]]:
        """Prepares the servers that tasks share; yields the tasks with the files of these. All servers end with it."""
        stage = self._stage(tasks)
        needed = [shared_servers(stage, task) for task in tasks] if stage else []
        if not any(needed):
            yield tasks
            return
        hold_sweep(work_dir)
        parent = work_dir.resolve() / 'tmp' / 'local'
        shutil.rmtree(parent, ignore_errors=True)  # of a killed sweep
        parent.mkdir(parents=True)
        folder = Path(tempfile.mkdtemp(prefix=time.strftime('%Y%m%d_%H%M%S-'), dir=parent))
        servers = {name: server for names in needed for name, server in names.items()}
        local = {name: LocalServer(server, folder, work_dir) for name, server in servers.items()}
        self._servers = {number: [local[name] for name in names] for number, names in enumerate(needed)}
        for server in (server for some in self._servers.values() for server in some):
            server.left += 1
        try:
            yield [placed(stage, task, folder) for task in tasks]
        finally:
            for server in local.values():
                server.stop(_SECONDS_TO_END)
            self._servers = {}
            shutil.rmtree(folder, ignore_errors=True)

    def _stage(self, tasks: Sequence[dict[str, Any]]) -> str:
        """Returns the stage of the tasks; '' if they are of another class, or none."""
        return _STAGES.get(type(self._build(tasks[0])), '') if tasks else ''

    def _build(self, cfg: dict[str, Any]) -> Any:
        return TASKS.build({'cfg': cfg, 'type': self.task_cfg['type']})

    def _debug(self, tasks: list[dict[str, Any]]) -> list[tuple[str, int]]:
        """Runs the tasks one by one in this process, as OpenCompass does."""
        parameters = Path('tmp')
        was_there = parameters.exists()
        try:
            return list(super().launch(tasks))
        finally:
            if not was_there:
                with suppress(OSError):  # it was not created, or holds a log of torchrun
                    parameters.rmdir()

    def _run_all(self, tasks: Sequence[dict[str, Any]]) -> list[tuple[str, int]]:
        """Runs the tasks in parallel. OpenCompass's own loop starts the waiting ones also after an interrupt."""
        self._free = dict.fromkeys(visible_gpus(), int(self.max_workers_per_gpu))
        # Those that need the same servers run one after the other: fewer servers have to run at once.
        first = {number: list(self._servers.values()).index(some) for number, some in self._servers.items()}
        ordered = sorted(enumerate(tasks), key=lambda pair: first.get(pair[0], 0))
        waiting: deque[tuple[int, dict[str, Any]]] = deque(ordered)
        ended: Queue[tuple[int, tuple[str, int] | BaseException]] = Queue()
        results: dict[int, tuple[str, int]] = {}
        with tqdm(total=len(tasks)) as bar, Interrupts() as interrupts:
            try:
                for _ in range(min(self.max_num_workers, len(tasks))):
                    # Daemons: this process does not wait for one that waits for a fork server's imports.
                    threading.Thread(target=self._work, args=(waiting, ended, bar), daemon=True).start()
                while len(results) < len(tasks):
                    interrupts.check()
                    with suppress(Empty):
                        number, outcome = ended.get(timeout=_SECONDS_PER_LOOK)
                        if isinstance(outcome, BaseException):
                            raise outcome
                        results[number] = outcome
            except BaseException:
                self._end_all()
                raise
        return [results[number] for number in range(len(tasks))]

    def _work(
        self,
        waiting: deque[tuple[int, dict[str, Any]]],
        ended: Queue[tuple[int, tuple[str, int] | BaseException]],
        bar: Any,
    ) -> None:
        while waiting and not self._stopped:
            with suppress(IndexError):  # another thread took the last one
                number, cfg = waiting.popleft()
                try:
                    ended.put((number, self._run_one(cfg, number, bar)))
                except BaseException as error:
                    ended.put((number, error))

    def _run_one(self, cfg: dict[str, Any], number: int, bar: Any) -> tuple[str, int]:
        task = self._build(cfg)
        servers = self._servers.get(number, [])
        gpu_ids = self._take_gpus(task.num_gpus, servers)
        try:
            if self._stopped:
                return task.name, 1
            where = 'GPU ' + ','.join(map(str, gpu_ids)) if gpu_ids else 'CPU'
            name = task.name.partition('[')[2].removesuffix(']') or task.name
            tqdm.write(f'{Path(task.log_subdir).name} on {where}: {name}')
            return self._launch(task, gpu_ids, number)
        finally:
            with self._changed:
                self._active -= 1
                self._give_back(gpu_ids)
                for server in servers:
                    server.left -= 1
                unused = self._stoppable(server for server in servers if not server.left)
                bar.update()
            self._stop(unused)

    def _take_gpus(self, count: int, servers: Sequence[LocalServer]) -> list[int]:
        """Takes GPUs for a task, and starts the servers that it needs; none after an interrupt.

        It waits until there is room for all of them: two tasks that each had a part would wait for ever.
        """
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or self._has_room(count, servers) or not self._active)
                if self._stopped or self._has_room(count, servers):
                    self._active += 1
                    if self._stopped:
                        return []
                    for server in servers:
                        if server.gpu_ids is None:
                            gpu_ids = self._first_free(server.gpus)
                            server.start(gpu_ids, _environment(gpu_ids))
                    return self._first_free(count)
                running = {id(server): server for some in self._servers.values() for server in some}
                idle = self._stoppable(server for server in running.values() if server not in servers)
                if not idle:
                    self._changed.wait(_SECONDS_PER_LOOK)  # until another thread has stopped them
            self._stop(idle)

    def _has_room(self, count: int, servers: Sequence[LocalServer]) -> bool:
        needed = count + sum(server.gpus for server in servers if server.gpu_ids is None)
        are_ready = not any(server.is_stopping for server in servers)
        return are_ready and sum(free > 0 for free in self._free.values()) >= needed

    def _first_free(self, count: int) -> list[int]:
        taken = [gpu for gpu, free in self._free.items() if free > 0][:count]
        for gpu in taken:
            self._free[gpu] -= 1
        return taken

    def _give_back(self, gpu_ids: Iterable[int]) -> None:
        for gpu in gpu_ids:
            self._free[gpu] += 1
        self._changed.notify_all()

    @staticmethod
    def _stoppable(servers: Iterable[LocalServer]) -> list[LocalServer]:
        """Returns those that run, marked as being stopped."""
        running = [server for server in servers if server.gpu_ids is not None and not server.is_stopping]
        for server in running:
            server.is_stopping = True
        return running

    def _stop(self, servers: Iterable[LocalServer]) -> None:
        for server in servers:
            server.stop()
            with self._changed:
                gpu_ids, server.gpu_ids, server.is_stopping = server.gpu_ids, None, False
                self._give_back(gpu_ids or ())

    def _check_gpus(self, tasks: Sequence[Any]) -> None:
        needed: dict[str, int] = {}
        several: dict[str, int] = {}
        stage = '' if self.debug else self._stage(tasks)
        for cfg in tasks:
            servers = shared_servers(stage, cfg) if stage else {}
            needing = placed(stage, cfg, Path()) if servers else cfg
            task = self._build(needing)
            gpus = task.num_gpus + sum(server.gpus for server in servers.values())
            for model in cfg['models']:
                name = model_abbr_from_cfg(model)
                needed[name] = max(gpus, needed.get(name, 0))
                several[name] = getattr(task, 'num_nodes', 1)
        if lacking := lacking_gpus(needed):
            raise SystemExit(f'tooleval: {lacking}')
        for name, nodes in several.items():
            if lacking := lacking_nodes(nodes):
                raise SystemExit(f'tooleval: {name}: {lacking}')

    def _launch(self, task: Any, gpu_ids: Iterable[int], index: int) -> tuple[str, int]:
        if _STAGES.get(type(task)) != 'infer':
            return self._run(task, gpu_ids)
        with self._progress.task(task.cfg):
            return self._run(task, gpu_ids)

    def _run(self, task: Any, gpu_ids: Iterable[int]) -> tuple[str, int]:
        stage = _STAGES.get(type(task))
        log = Path(task.get_log_path(file_extension='out'))
        log.parent.mkdir(parents=True, exist_ok=True)
        with private_folder('task') as folder:  # readable by its owner alone: it may hold keys
            config = str(Path(folder, 'params.py'))
            Config(task.cfg.to_dict(), format_python_code=False).dump(config)  # formatting takes longer than a task
            template = get_command_template(list(gpu_ids))
            command = task.get_command(config, template)
            if stage is None or _TORCHRUN in command:
                with log.open('w', encoding='utf-8') as stream:
                    code = self._wait_for(subprocess.Popen(command, shell=True, stdout=stream, stderr=stream))
            else:
                environment = _environment(gpu_ids)
                job = {'stage': stage, 'config': config, 'starter': os.getpid(), 'log': str(log), 'command': command}
                with self._changed:
                    server = _fork_server(has_gpus=bool(gpu_ids))
                code = self._wait_for(server.start(**job, environment=environment, has_gpus=bool(gpu_ids)))
        if code and not self._stopped:
            get_logger().error(f'task {task.name} fail, see\n{log}')
        return task.name, code

    def _wait_for(self, process: ForkedTask | subprocess.Popen[bytes]) -> int:
        """Waits for a process and returns its exit code; minus the signal number if a signal ended it."""
        with self._changed:
            self._running.add(process)
        if self._stopped:  # since before it was noted
            _signal(process, signal.SIGKILL)
        code = process.wait()
        with self._changed:
            self._running.discard(process)
            self._changed.notify_all()
        return code

    def _end_all(self) -> None:
        """Ends the running tasks and starts no more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            running = list(self._running)
        for process in running:
            _signal(process, signal.SIGTERM)
        with self._changed:
            self._changed.wait_for(lambda: not self._running, _SECONDS_TO_END)
        for process in running:
            _signal(process, signal.SIGKILL)


def _environment(gpu_ids: Iterable[int]) -> dict[str, str]:
    """Returns the environment of a process with some GPUs, as OpenCompass sets it."""
    words = get_command_template(list(gpu_ids)).split()
    return {**os.environ, **dict(word.split('=', 1) for word in words if '=' in word)}


def _signal(process: ForkedTask | subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Sends a signal to a task and all processes that it started, if it still runs; of a command to that alone."""
    if isinstance(process, subprocess.Popen):
        process.send_signal(number)
    elif process.pid and process.exit_code is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
