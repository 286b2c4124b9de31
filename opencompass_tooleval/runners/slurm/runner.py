"""Runs a stage's tasks as job arrays of unmodified Slurm."""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from mmengine.config import Config
from opencompass.registry import RUNNERS, TASKS
from opencompass.utils import dataset_abbr_from_cfg, get_logger, model_abbr_from_cfg
from tqdm import tqdm

from opencompass_tooleval.models.api.engine_nodes import nodes_of
from opencompass_tooleval.models.preflight import check_settings, of_tasks
from opencompass_tooleval.models.shared_servers import SharedServer, placed, shared_servers
from opencompass_tooleval.runners.local_servers import prepare_server
from opencompass_tooleval.runners.slurm.client import Slurm, SlurmError, slurm_environment
from opencompass_tooleval.runners.slurm.leftovers import (
    alive,
    cancel_leftovers,
    job_mark,
    job_marks,
    remove,
    runner_lock,
)
from opencompass_tooleval.runners.slurm.stage import Element, Stage
from opencompass_tooleval.runners.slurm.syntax import Resources, job_name
from opencompass_tooleval.runners.task_progress import RunsNextStage
from opencompass_tooleval.work_dir.causes import one_line_if_unusable, resuming
from opencompass_tooleval.work_dir.interrupts import Interrupts, one_line_if_interrupted
from opencompass_tooleval.work_dir.names import is_shard, replica_of, whole_of
from opencompass_tooleval.work_dir.progress import look
from opencompass_tooleval.work_dir.trust import trust_own_run
from opencompass_tooleval.work_dir.work_dir import WorkDir, last_error

_REFUSED = ('account', 'qos', 'partition', 'time')
"""Keys of the runner that occur in messages of ``sbatch``."""


@RUNNERS.register_module()
class SlurmArrayRunner(RunsNextStage):
    """Submits a stage as one job array per number of GPUs; Slurm schedules the tasks.

    Needs ``sbatch``, ``squeue``, ``scancel`` and ``scontrol``, but no accounting and no ``quotatype``. A task that is
    requeued or preempted does not count as failed. A server that tasks share is a separate job. Ctrl-C, SIGTERM and
    SIGHUP cancel all submitted jobs. With ``debug``, tasks run one after another under ``srun``, in the terminal.

    Args:
        task: Config with the type of the tasks.
        max_num_workers: Maximum number of tasks at once.
        retry: Maximum number of repetitions of a failed task.
        partition: Slurm's partition; None is the cluster's default, here and below.
        qos: Quality of service.
        account: Slurm's account.
        time: Time limit of each task in Slurm's notation: ``04:00:00``, or minutes.
        gpu_request: Option of this cluster that requests GPUs; ``{n}`` is their number.
        extra_command: Other options of ``sbatch``, such as ``['--mem=64G', '-c 8']``.
        server_command: Options for the jobs of shared servers, which take precedence, such as ``['--partition=gpu']``.
        poll: Shortest and longest wait between two calls of ``squeue``, in seconds.
        patience: Seconds to wait for an unreachable controller, and to retry a refused job.
        grace: Maximum number of seconds until the exit code of an ended job appears on the shared file system.
        debug: True to run tasks one after another under ``srun``.
        lark_bot_url: As in OpenCompass.
        keep_tmp_file: True to keep the folder of parameters, scripts and exit codes. After a failure it is always kept.
    """

    def __init__(
        self,
        task: Mapping[str, Any],
        max_num_workers: int = 32,
        retry: int = 2,
        partition: str | None = None,
        qos: str | None = None,
        account: str | None = None,
        time: str | int | None = None,
        gpu_request: str = '--gres=gpu:{n}',
        extra_command: Sequence[str] = (),
        server_command: Sequence[str] = (),
        poll: tuple[float, float] = (1.0, 15.0),
        patience: float = 1800.0,
        grace: float = 30.0,
        debug: bool = False,
        lark_bot_url: str | None = None,
        keep_tmp_file: bool = False,
    ) -> None:
        super().__init__(task=task, debug=debug, lark_bot_url=lark_bot_url)
        if max_num_workers < 1 or retry < 0 or not 0 < poll[0] <= poll[1]:
            raise ValueError(f'max_num_workers={max_num_workers}, retry={retry}, poll={poll}: out of range')
        self.resources = Resources(partition, qos, account, time, gpu_request, tuple(extra_command))
        self.server_options = [word for option in server_command for word in shlex.split(option)]
        self.max_num_workers = max_num_workers
        self.retry = retry
        self.poll = (poll[0], poll[1])
        self.patience = patience
        self.grace = grace
        self.keep_tmp_file = keep_tmp_file
        _say_where(partition)

    def launch(self, tasks: Sequence[Any]) -> list[tuple[str, int]]:
        """Runs the tasks.

        Returns:
            Name and exit code of each task, in the order of ``tasks``; -1 if a task left no exit code.

        Raises:
            SystemExit: A setting is invalid (no task is submitted), or Slurm is not installed, refuses a command, or
                has not answered for too long.
        """
        check_settings(of_tasks(tasks))
        built = [self._build(task) for task in tasks]
        if not built:
            return []
        if self.debug and (several := [task.name for task in built if _nodes(task) > 1]):
            raise SystemExit(f'tooleval: {several[0]}: its engine takes several nodes: run it without --debug')
        work_dir = Path(built[0].work_dir)
        trust_own_run(work_dir)
        with one_line_if_interrupted(resuming(work_dir)), one_line_if_unusable(work_dir), _one_line_if_refused():
            folder = _new_folder(work_dir)
            stage = '' if self.debug else getattr(built[0], 'stage', '')
            elements = list(self._elements(tasks, built, stage, folder))
            names = [task.name for task in built]

            def say_progress(element: Element) -> None:
                if not element.server and stage != 'eval':
                    _say_progress(element, tasks[element.number], names[element.number], work_dir)

            with alive(folder):
                return self._run(elements, names, folder, say_progress)

    def _build(self, task: Any) -> Any:
        return TASKS.build(dict(cfg=task, type=self.task_cfg['type']))

    def _elements(self, tasks: Sequence[Any], built: Sequence[Any], stage: str, folder: Path) -> Iterator[Element]:
        """Yields the elements of the tasks, and then of the servers that they share."""
        servers: dict[str, SharedServer] = {}
        for number, (cfg, task) in enumerate(zip(tasks, built, strict=True)):
            needed = shared_servers(stage, cfg) if stage else {}
            servers |= needed
            yield _element(number, self._build(placed(stage, cfg, folder)) if needed else task, folder, tuple(needed))
        look = {'jobs': job_marks(folder), 'runner': str(runner_lock(folder)), 'seconds': 4 * self.poll[1]}
        for number, server in enumerate(servers.values(), start=len(tasks)):
            command, log = prepare_server(server, folder, Path(built[0].work_dir), **look)
            nodes = nodes_of({'engine': server.engine})
            label = server.name, 'server', ''
            yield Element(number, server.gpus, shlex.join(command), log, nodes=nodes, server=server.name, label=label)

    def _run(
        self, elements: Sequence[Element], names: Sequence[str], folder: Path, on_requeue: Callable[[Element], None]
    ) -> list[tuple[str, int]]:
        status: list[tuple[str, int]] = []
        try:
            with Interrupts() as interrupts:
                slurm = Slurm(self.patience, interrupts.sleep)
                cancel_leftovers(folder.parent, slurm, self.patience, interrupts.sleep)
                if self.debug:
                    self._run_one_by_one(elements, folder, interrupts)
                else:
                    self._run_arrays(elements, names, folder, slurm, interrupts, on_requeue)
            tasks = elements[: len(names)]  # without the servers
            status = [(name, _code(element)) for name, element in zip(names, tasks, strict=True)]
        finally:
            if all(code == 0 for _, code in status) and not self.keep_tmp_file:
                remove(folder)
            else:
                get_logger().info(f'parameters and scripts are kept in {folder}')
        return status

    def _run_arrays(
        self,
        elements: Sequence[Element],
        names: Sequence[str],
        folder: Path,
        slurm: Slurm,
        interrupts: Interrupts,
        on_requeue: Callable[[Element], None],
    ) -> None:
        with tqdm(total=len(names), desc='Finished') as bar:

            def on_end(element: Element) -> None:
                bar.update(not element.server)
                if element.code:
                    name = element.server or names[element.number]
                    why = ', '.join(filter(None, [element.state, f'code {element.code}', f'{element.failures} times']))
                    error = last_error(element.log) or 'its log names no error'
                    get_logger().error(f'task {name} fail ({why}): {error}\nsee {element.log}')

            Stage(
                folder=folder,
                slurm=slurm,
                resources=self.resources,
                sleep=interrupts.sleep,
                limit=self.max_num_workers,
                retry=self.retry,
                poll=self.poll,
                patience=self.patience,
                grace=self.grace,
                on_end=on_end,
                on_requeue=on_requeue,
                server_options=self.server_options,
            ).run(elements)

    def _run_one_by_one(self, elements: Sequence[Element], folder: Path, interrupts: Interrupts) -> None:
        for element in elements:
            given = self.resources.options(element.gpus)
            command = ['srun', '--quit-on-interrupt', *given, f'--job-name={job_name([element.label], given)}']
            command += ['bash', '-c', element.command, job_mark(folder, element.number)]
            with subprocess.Popen(command, env=slurm_environment()) as process:
                try:
                    while process.poll() is None:
                        interrupts.sleep(0.1)
                finally:
                    process.terminate()  # srun then ends its job; no effect if it has ended
            element.code = process.returncode


@contextmanager
def _one_line_if_refused() -> Iterator[None]:
    """Ends this process with one line if Slurm refuses a command. The line names the settings in Slurm's message."""
    try:
        yield
    except SlurmError as error:
        keys = [key for key in _REFUSED if re.search(rf'\b{key}\b', str(error), re.IGNORECASE)]
        fix = f". Set {' or '.join(keys)} in infer['runner'] and eval['runner']" if keys else ''
        raise SystemExit(f'tooleval: {error}{fix}') from None


@cache
def _say_where(partition: str | None) -> None:
    """Logs once where tasks run, since OpenCompass logs "SlurmRunner is not used", whatever runner the config has."""
    where = f'partition {partition}' if partition else 'the default partition'
    get_logger().info(f'tasks run on Slurm, in {where}: "SlurmRunner" above is OpenCompass\'s own runner')


def _new_folder(work_dir: Path) -> Path:
    """Creates a folder for this run, on the file system of the results, which all nodes share."""
    parent = work_dir.resolve() / 'tmp' / 'slurm'
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=time.strftime('%Y%m%d_%H%M%S-'), dir=parent))


def _element(number: int, task: Any, folder: Path, servers: tuple[str, ...]) -> Element:
    params = folder / f'{number}.py'
    # OpenCompass formats its parameter files with yapf, which takes 0.3 to 1.4 s each; nobody reads these.
    Config(task.cfg._cfg_dict, format_python_code=False).dump(params)
    command = task.get_command(cfg_path=shlex.quote(str(params)), template='{task_cmd}')
    log = Path(task.get_log_path(file_extension='out'))
    return Element(number, task.num_gpus, command, log, nodes=_nodes(task), servers=servers, label=_label(task.cfg))


def _pairs(cfg: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    return [(model, row) for model, rows in zip(cfg['models'], cfg['datasets'], strict=True) for row in rows]


def _label(cfg: Mapping[str, Any]) -> tuple[str, str, str]:
    """Returns model, dataset and part of a task, for the names of jobs."""
    (model, dataset), *others = _pairs(cfg)
    replica, name = replica_of(cfg), dataset_abbr_from_cfg(dataset)
    whole = whole_of(name) if is_shard(dataset) else name
    part = str(replica.number) if replica else name[len(whole) + 1 :]
    return model_abbr_from_cfg(model), f'{whole}+{len(others)}' if others else whole, part


def _say_progress(element: Element, cfg: Mapping[str, Any], name: str, work_dir: Path) -> None:
    """Logs the progress of a task that Slurm has requeued."""
    work = WorkDir(work_dir)
    pairs = {(model_abbr_from_cfg(model), dataset_abbr_from_cfg(dataset)) for model, dataset in _pairs(cfg)}
    try:
        cells = [look(work, *pair) for pair in pairs]
    except (OSError, ValueError) as error:  # the run continues
        get_logger().warning(f'{name} was queued again ({element.requeues} times): {error}')
        return
    done = sum(cell.answered for cell in cells)
    left = [cell.samples - cell.answered for cell in cells if cell.samples is not None]
    what = f'{done:,} answers done' + (f', {sum(left):,} left' if len(left) == len(cells) else '')
    get_logger().info(f'{name} was queued again ({element.requeues} times): {what}')


def _nodes(task: Any) -> int:
    """Returns the number of nodes of a task, which is 1 except for :class:`ToolEvalInferTask`."""
    return getattr(task, 'num_nodes', 1)


def _code(element: Element) -> int:
    assert element.code is not None
    return element.code
