"""Runs tasks on this machine, forked from a process that has imported OpenCompass."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from mmengine.config import Config
from opencompass.registry import RUNNERS, TASKS
from opencompass.runners import LocalRunner
from opencompass.runners.local import get_command_template
from opencompass.tasks import OpenICLInferTask
from opencompass.utils import get_logger, model_abbr_from_cfg
from tqdm import tqdm

from opencompass_tooleval.models.api.engine_nodes import lacking_nodes
from opencompass_tooleval.models.gpus import lacking_gpus, visible_gpus
from opencompass_tooleval.models.preflight import check_settings, of_tasks
from opencompass_tooleval.models.settings import API_TASKS, needs_encoder, runs_beside_others
from opencompass_tooleval.models.shared_servers import SharedServer, placed, shared_servers
from opencompass_tooleval.runners.fork_server import ForkedTask, ForkServer
from opencompass_tooleval.runners.local_servers import LocalServers, environment
from opencompass_tooleval.runners.task_progress import RunsNextStage, TaskProgress
from opencompass_tooleval.tasks.eval_task import ToolEvalEvalTask
from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask
from opencompass_tooleval.tasks.preload import named_modules
from opencompass_tooleval.work_dir.causes import one_line_if_unusable, resuming
from opencompass_tooleval.work_dir.interrupts import Interrupts, one_line_if_interrupted
from opencompass_tooleval.work_dir.trust import trust_own_run
from opencompass_tooleval.work_dir.whole_file import private_folder, remove_left_folders

_STAGES = {ToolEvalInferTask: 'infer', ToolEvalEvalTask: 'eval'}
_TORCHRUN = 'torch.distributed.run'
_SECONDS_TO_END = 1.0
_SECONDS_PER_LOOK = 0.1


@cache
def _fork_server(has_gpus: bool) -> ForkServer:
    """Returns the fork server for tasks with or without GPUs, which both stages share."""
    return ForkServer(from_program=has_gpus)


@RUNNERS.register_module()
class ToolEvalLocalRunner(RunsNextStage, LocalRunner):
    """OpenCompass's :class:`LocalRunner`, but tasks are forked from a process that has imported OpenCompass.

    A task that starts as a separate program spends seconds on imports. The runner assigns GPUs, logs and parallel slots
    as :class:`LocalRunner` does. Each task has its own session; it ends when the process that runs the tasks ends, and
    its end does not affect other tasks. Tasks of other classes, and tasks that need torchrun, run as commands. Ctrl-C
    and SIGTERM end all tasks at once.

    Servers that tasks share run at the same time, on their own GPUs. The number of servers at once is limited by
    workers and GPUs: tasks that need the running servers run before tasks that need others.

    Tasks of models behind an API, and of replays, wait most of the time. Unless ``max_num_workers`` is set, up to 8
    of them (``API_TASKS``) run beside the others; but no evaluation with a sentence encoder, which takes memory.

    Args:
        task: Config with the type of the tasks.
        max_num_workers: Maximum number of tasks at once. None for one, and API models beside it.
        kwargs: Other arguments of :class:`LocalRunner`.
    """

    def __init__(self, task: Any, max_num_workers: int | None = None, **kwargs: Any) -> None:
        super().__init__(task, max_num_workers=max_num_workers or 1, **kwargs)
        self._lets_apis_run_beside = max_num_workers is None
        self._running: set[ForkedTask | subprocess.Popen[bytes]] = set()
        self._changed = threading.Condition()
        self._stopped = False
        self._free: dict[str, int] = {}
        self._progress = TaskProgress()
        if not self.debug:
            _fork_server(has_gpus=False)  # now, while this process has a single thread

    def launch(self, tasks: list[dict[str, Any]]) -> list[tuple[str, int]]:
        """Runs the tasks; an interrupt of this process ends them.

        Returns:
            Name and exit code of each task.

        Raises:
            SystemExit: A setting is invalid, or a task needs more GPUs than this machine has; No task is started.
        """
        check_settings(of_tasks(tasks))
        self._check_gpus(tasks)
        work_dir = Path(tasks[0]['work_dir']) if tasks else Path()
        if tasks:
            trust_own_run(work_dir)
        with one_line_if_interrupted(resuming(work_dir)), one_line_if_unusable(work_dir), self._progress.shown():
            try:
                return self._debug(tasks) if self.debug else self._run_with_servers(tasks, work_dir)
            finally:
                remove_left_folders()  # left by killed tasks

    def _debug(self, tasks: Sequence[dict[str, Any]]) -> list[tuple[str, int]]:
        """Runs the tasks one by one in this process, or as commands if they need torchrun.

        OpenCompass's own loop parses the UUIDs of GPUs as numbers.
        """
        ended: list[tuple[str, int]] = []
        loaded: dict[str, Any] = {}
        for task in map(self._build, tasks):
            if _TORCHRUN in task.get_command('', '{task_cmd}'):
                ended.append(self._run(task, visible_gpus()[: task.num_gpus]))
                continue
            task.run(**loaded)
            if isinstance(task, OpenICLInferTask):  # so that the next task need not load the same model again
                loaded = {'cur_model': task.model, 'cur_model_abbr': model_abbr_from_cfg(task.model_cfg)}
            ended.append((task.name, 0))
        return ended

    def _run_with_servers(self, tasks: Sequence[dict[str, Any]], work_dir: Path) -> list[tuple[str, int]]:
        """Runs the tasks, in batches if the servers that they share cannot all run at once."""
        stage = _STAGES.get(type(self._build(tasks[0])), '') if tasks else ''
        needed = [shared_servers(stage, task) if stage else {} for task in tasks]
        if not any(needed):
            return self._run_all(tasks)
        results: dict[int, tuple[str, int]] = {}
        with LocalServers(work_dir) as servers:
            ready = [placed(stage, task, servers.folder) for task in tasks]
            for batch in self._batches(needed, max(self._build(task).num_gpus for task in ready)):
                servers.run({name: server for number in batch for name, server in needed[number].items()})
                ended = self._run_all([ready[number] for number in batch], servers)
                results |= zip(batch, ended, strict=True)
        return [results[number] for number in range(len(tasks))]

    def _batches(self, needed: Sequence[Mapping[str, SharedServer]], task_gpus: int) -> list[list[int]]:
        """Groups tasks into batches, so that the servers of each batch fit into workers and GPUs.

        Args:
            needed: The servers of each task.
            task_gpus: Number of GPUs that a task needs.

        Returns:
            The indices of the tasks in each batch.
        """
        groups: dict[frozenset[str], list[int]] = {}
        for number, servers in enumerate(needed):
            groups.setdefault(frozenset(servers), []).append(number)
        batches: list[list[int]] = []
        running: dict[str, SharedServer] = {}
        for numbers in groups.values():
            both = {**running, **needed[numbers[0]]}
            gpus = sum(server.gpus for server in both.values()) + task_gpus
            if not batches or len(both) > self.max_num_workers or (gpus > len(visible_gpus())):
                batches.append([])
                both = dict(needed[numbers[0]])
            batches[-1] += numbers
            running = both
        return batches

    def _build(self, cfg: dict[str, Any]) -> Any:
        return TASKS.build({'cfg': cfg, 'type': self.task_cfg['type']})

    def _run_all(self, tasks: Sequence[dict[str, Any]], servers: LocalServers | None = None) -> list[tuple[str, int]]:
        """Runs the tasks in parallel, on the GPUs that servers do not use.

        OpenCompass's own loop would start waiting tasks even after an interrupt.
        """
        taken = servers.gpu_ids if servers else ()
        self._free = {gpu: int(self.max_workers_per_gpu) for gpu in visible_gpus() if gpu not in taken}
        queues: dict[bool, deque[tuple[int, dict[str, Any]]]] = {False: deque(), True: deque()}
        for number, task in enumerate(tasks):
            queues[self._runs_beside(task)].append((number, task))
        ended: Queue[tuple[int, tuple[str, int] | BaseException]] = Queue()
        results: dict[int, tuple[str, int]] = {}
        with tqdm(total=len(tasks)) as bar, Interrupts() as interrupts:
            try:
                for is_beside, waiting in queues.items():
                    for _ in range(min(API_TASKS if is_beside else self.max_num_workers, len(waiting))):
                        # Daemons: this process does not wait for a thread that waits for a fork server's imports.
                        threading.Thread(target=self._work, args=(waiting, ended, bar), daemon=True).start()
                while len(results) < len(tasks):
                    interrupts.check()
                    if servers:
                        servers.check()
                    with suppress(Empty):
                        number, outcome = ended.get(timeout=_SECONDS_PER_LOOK)
                        if isinstance(outcome, BaseException):
                            raise outcome
                        results[number] = outcome
            except BaseException:
                self._end_all()
                raise
        return [results[number] for number in range(len(tasks))]

    def _runs_beside(self, task: dict[str, Any]) -> bool:
        if not self._lets_apis_run_beside or not all(map(runs_beside_others, task['models'])):
            return False
        is_scoring = _STAGES.get(type(self._build(task))) != 'infer'
        return not is_scoring or not any(needs_encoder(dataset) for part in task['datasets'] for dataset in part)

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
        gpu_ids = self._take_gpus(task.num_gpus)
        try:
            if self._stopped:
                return task.name, 1
            where = 'GPU ' + ','.join(gpu_ids) if gpu_ids else 'CPU'
            name = task.name.partition('[')[2].removesuffix(']') or task.name
            tqdm.write(f'{Path(task.log_subdir).name} on {where}: {name}')
            return self._launch(task, gpu_ids, number)
        finally:
            with self._changed:
                for gpu in gpu_ids:
                    self._free[gpu] += 1
                self._changed.notify_all()
                bar.update()

    def _take_gpus(self, count: int) -> list[str]:
        """Waits until ``count`` GPUs have room, and takes them; returns an empty list after an interrupt."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or sum(free > 0 for free in self._free.values()) >= count)
            taken = [] if self._stopped else [gpu for gpu, free in self._free.items() if free > 0][:count]
            for gpu in taken:
                self._free[gpu] -= 1
        return taken

    def _check_gpus(self, tasks: Sequence[Any]) -> None:
        needed: dict[str, int] = {}
        several: dict[str, int] = {}
        for cfg in tasks:
            task = self._build(cfg)
            servers = {} if self.debug else shared_servers(_STAGES.get(type(task), ''), cfg)
            needing = self._build(placed(task.stage, cfg, Path())) if servers else task
            gpus = needing.num_gpus + sum(server.gpus for server in servers.values())
            for model in cfg['models']:
                name = model_abbr_from_cfg(model)
                needed[name] = max(gpus, needed.get(name, 0))
                several[name] = getattr(task, 'num_nodes', 1)
        if lacking := lacking_gpus(needed):
            raise SystemExit(f'tooleval: {lacking}')
        for name, nodes in several.items():
            if lacking := lacking_nodes(nodes):
                raise SystemExit(f'tooleval: {name}: {lacking}')

    def _launch(self, task: Any, gpu_ids: Iterable[str], index: int) -> tuple[str, int]:
        if _STAGES.get(type(task)) != 'infer':
            return self._run(task, gpu_ids)
        with self._progress.task(task.cfg):
            return self._run(task, gpu_ids)

    def _run(self, task: Any, gpu_ids: Iterable[str]) -> tuple[str, int]:
        stage = _STAGES.get(type(task))
        log = Path(task.get_log_path(file_extension='out'))
        log.parent.mkdir(parents=True, exist_ok=True)
        with private_folder('task') as folder:  # readable only by its owner, since it may contain keys
            config = str(Path(folder, 'params.py'))
            Config(task.cfg.to_dict(), format_python_code=False).dump(config)  # formatting takes longer than a task
            template = get_command_template(list(gpu_ids))
            command = task.get_command(config, template)
            if stage is None or _TORCHRUN in command:
                with log.open('w', encoding='utf-8') as stream:
                    code = self._wait_for(subprocess.Popen(command, shell=True, stdout=stream, stderr=stream))
            else:
                job = {'stage': stage, 'config': config, 'starter': os.getpid(), 'log': str(log), 'command': command}
                job['modules'] = named_modules(task.cfg)
                with self._changed:
                    server = _fork_server(has_gpus=bool(gpu_ids))
                code = self._wait_for(server.start(**job, environment=environment(gpu_ids), has_gpus=bool(gpu_ids)))
        if code and not self._stopped:
            get_logger().error(f'task {task.name} fail, see\n{log}')
        return task.name, code

    def _wait_for(self, process: ForkedTask | subprocess.Popen[bytes]) -> int:
        """Waits for a process, and returns its exit code, or minus the number of the signal that ended it."""
        with self._changed:
            self._running.add(process)
        if self._stopped:  # stopped before the process was added
            _signal(process, signal.SIGKILL)
        code = process.wait()
        with self._changed:
            self._running.discard(process)
            self._changed.notify_all()
        return code

    def _end_all(self) -> None:
        """Ends the running tasks, and prevents further starts."""
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


def _signal(process: ForkedTask | subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Sends a signal to a running task and all its child processes; for a command, only to the command."""
    if isinstance(process, subprocess.Popen):
        process.send_signal(number)
    elif process.pid and process.exit_code is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
