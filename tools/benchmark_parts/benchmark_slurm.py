"""Times our Slurm runner against OpenCompass's, on a real Slurm of one node; see benchmark.py, which runs it.

Two stages of 16 tasks each:

* inference over demo data, with the processors that the machine has: what each runner adds to the work itself;
* tasks that only sleep for 5 s, with 16 processors declared, so that all could run at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mmengine.config import Config
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import SlurmRunner, SlurmSequentialRunner
from opencompass.tasks.base import BaseTask

from opencompass_tooleval.runners.slurm.runner import SlurmArrayRunner
from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask

PARTS = Path(__file__).resolve().parent
TOOLS = PARTS.parent
CONFIG = TOOLS.parent / 'opencompass_tooleval' / 'configs' / 'eval_demo.py'
RUNNERS = {'ours': SlurmArrayRunner, 'SlurmRunner': SlurmRunner, 'SlurmSequentialRunner': SlurmSequentialRunner}
UNAVAILABLE = 69
TASKS = 16
SLEEP = 5


class NoSlurmError(RuntimeError):
    """There can be no Slurm on this machine."""


@contextmanager
def testbed(cpus: int) -> Iterator[None]:
    """A testbed that declares so many processors, named by this process's SLURM_CONF.

    Raises:
        NoSlurmError: It cannot be had here.
    """
    script = TOOLS / 'slurm_testbed.sh'
    before = os.environ.get('SLURM_CONF')
    with tempfile.TemporaryDirectory() as folder:
        bed = Path(folder) / 'bed'
        environment = {**os.environ, 'TOOLEVAL_SLURM_CPUS': str(cpus)}
        done = subprocess.run([script, 'up', bed], env=environment, capture_output=True, text=True)
        if done.returncode == UNAVAILABLE:
            raise NoSlurmError(done.stderr.strip())
        if done.returncode:
            raise RuntimeError(done.stderr)
        os.environ['SLURM_CONF'] = done.stdout.strip().partition('=')[2]
        try:
            yield
        finally:
            subprocess.run([script, 'down', bed], check=True)
            del os.environ['SLURM_CONF']
            if before is not None:
                os.environ['SLURM_CONF'] = before


class SleepTask(BaseTask):
    """Sleeps."""

    name_prefix = 'Sleep'
    log_subdir = 'logs/infer'
    output_subdir = 'predictions'
    num_gpus = 0

    def run(self) -> None:
        """Is not called: the command is the work."""

    def get_command(self, cfg_path: str, template: str) -> str:
        """A command that sleeps."""
        return template.format(task_cmd=f'sleep {SLEEP}')

    def get_output_paths(self, file_extension: str = 'json') -> list[str]:
        """None; OpenCompass's runners count a task that leaves none of its files as failed."""
        return []


class TimedTask(ToolEvalInferTask):
    """Inference that notes its processor time."""

    def get_command(self, cfg_path: str, template: str) -> str:
        """The usual command, below cpu_time.py."""
        command = super().get_command(cfg_path, '{task_cmd}')
        return template.format(task_cmd=f'{sys.executable} {PARTS / "cpu_time.py"} {command}')


def sleeping_tasks(work_dir: Path) -> list[Config]:
    """Tasks for :class:`SleepTask`."""
    return [
        Config(dict(models=[dict(abbr=f'm{i}')], datasets=[[dict(abbr='d')]], work_dir=str(work_dir)))
        for i in range(TASKS)
    ]


def inference_tasks(work_dir: Path) -> list[Config]:
    """One task for each of 16 demo data sets."""
    config = Config.fromfile(CONFIG, format_python_code=False)
    config['models'], config['datasets'] = config['models'][:1], config['datasets'][:TASKS]
    config['work_dir'] = str(work_dir)
    tasks: list[Config] = NaivePartitioner(out_dir=str(work_dir / 'predictions'))(config)
    return tasks


def timed_launch(runner: Any, tasks: Sequence[Any]) -> float:
    """Wall seconds of a stage, all of whose tasks must succeed."""
    begun = time.perf_counter()
    status = list(runner.launch(tasks))
    seconds = time.perf_counter() - begun
    if len(status) != len(tasks) or any(code for _, code in status):
        raise RuntimeError(f'{type(runner).__name__}: {status}')
    return seconds


def compare(
    task_type: type[BaseTask], make_tasks: Callable[[Path], list[Config]], cpus: int
) -> tuple[dict[str, float], float]:
    """Seconds by runner, each in a folder of its own, and the processor seconds of the tasks under ours."""
    seconds: dict[str, float] = {}
    cpu_seconds = 0.0
    here = Path.cwd()
    with testbed(cpus), tempfile.TemporaryDirectory() as folder:
        for name, runner in RUNNERS.items():
            work_dir = Path(folder, name)
            work_dir.mkdir()
            os.environ['TOOLEVAL_CPU_TIMES'] = str(work_dir)
            tasks = make_tasks(work_dir)
            os.chdir(work_dir)  # OpenCompass's runners write their parameter files where they are
            try:
                seconds[name] = timed_launch(runner(task=dict(type=task_type), retry=0, max_num_workers=TASKS), tasks)
            finally:
                os.chdir(here)
            if name == 'ours':
                cpu_seconds = sum(float(file.read_text(encoding='utf-8')) for file in work_dir.glob('*.cpu'))
    return seconds, cpu_seconds


def measure() -> dict[str, Any]:
    """Measures and prints, or says why there can be no Slurm."""
    cpus = os.cpu_count() or 1
    print(f'load before: {os.getloadavg()[0]:.1f}; the bound on inference holds on an idle machine')
    try:
        real, cpu_seconds = compare(TimedTask, inference_tasks, cpus)
        sleeping, _ = compare(SleepTask, sleeping_tasks, TASKS)
    except NoSlurmError as error:
        print(f'Slurm is skipped: {error}')
        return {}
    bound = 1.3 * cpu_seconds / cpus + 10
    print(f'Slurm, {TASKS} tasks of inference, {cpus} processors, seconds: {_shown(real)}')
    print(f'  processor seconds of the tasks {cpu_seconds:.1f}; ours {real["ours"]:.1f} s (goal <= {bound:.1f})')
    print(f'Slurm, {TASKS} tasks that sleep {SLEEP} s, {TASKS} processors declared, seconds: {_shown(sleeping)}')
    ratios = {}
    for stage, seconds, goal in (('inference', real, ''), ('sleeping', sleeping, ' (goal >= 5)')):
        for name in ('SlurmRunner', 'SlurmSequentialRunner'):
            ratios[f'{stage}: {name} / ours'] = ratio = seconds[name] / seconds['ours']
            print(f'Slurm, {stage}: {name} / ours: {ratio:.2f}{goal if name == "SlurmSequentialRunner" else ""}')
    return {'slurm': {'inference': real, 'cpu': cpu_seconds, 'bound': bound, 'sleeping': sleeping, 'ratios': ratios}}


def _shown(seconds: dict[str, float]) -> str:
    return ', '.join(f'{name} {value:.1f}' for name, value in seconds.items())
