"""Times our Slurm runner against OpenCompass's, on a real Slurm of one node; see benchmark.py, which runs it.

Two stages of 16 tasks each:

* inference over demo data, with the processors that the machine has: what each runner adds to the work itself;
* tasks that only sleep for 5 s, with 16 processors declared, so that all could run at once.

As a script, this file runs a command and notes the processor time that it took; the tasks of the first stage do that.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).resolve().parent
CONFIG = TOOLS.parent / 'opencompass_tooleval' / 'configs' / 'eval_demo.py'
UNAVAILABLE = 69
TASKS = 16
SLEEP = 5
CPU_FOLDER = 'TOOLEVAL_BENCHMARK_CPU'


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


def sleeping_tasks(work_dir: Path) -> tuple[Any, list[Any]]:
    """A task type that sleeps, and its tasks."""
    from mmengine.config import Config
    from opencompass.tasks.base import BaseTask

    class SleepTask(BaseTask):
        name_prefix, log_subdir, output_subdir, num_gpus = 'Sleep', 'logs/infer', 'predictions', 0

        def run(self) -> None:
            time.sleep(SLEEP)

        def get_command(self, cfg_path: str, template: str) -> str:
            return template.format(task_cmd=f'sleep {SLEEP}')

        def get_output_paths(self, file_extension: str = 'json') -> list[str]:
            return []  # OpenCompass's runners run a task again that leaves no file

    rows = [
        dict(models=[dict(abbr=f'm{i}')], datasets=[[dict(abbr='d')]], work_dir=str(work_dir)) for i in range(TASKS)
    ]
    return SleepTask, [Config(row, format_python_code=False) for row in rows]


def real_tasks(work_dir: Path) -> tuple[Any, list[Any]]:
    """Inference whose commands note their processor time, and one task for each of 16 demo data sets."""
    from mmengine.config import Config
    from opencompass.partitioners import NaivePartitioner

    from opencompass_tooleval.host.infer_task import ToolEvalInferTask

    class TimedTask(ToolEvalInferTask):
        def get_command(self, cfg_path: str, template: str) -> str:
            command = super().get_command(cfg_path, '{task_cmd}')
            return template.format(task_cmd=f'{sys.executable} {Path(__file__).resolve()} {command}')

    config = Config.fromfile(CONFIG, format_python_code=False)
    config.merge_from_dict({'work_dir': str(work_dir)})
    config['models'], config['datasets'] = config['models'][:1], config['datasets'][:TASKS]
    partitioner = NaivePartitioner(out_dir=str(work_dir / 'predictions'))
    return TimedTask, partitioner(config)


def timed_launch(runner: Any, tasks: Sequence[Any]) -> float:
    """Wall seconds of a stage, all of whose tasks must succeed."""
    begun = time.perf_counter()
    status = list(runner.launch(tasks))
    seconds = time.perf_counter() - begun
    if len(status) != len(tasks) or any(code for _, code in status):
        raise RuntimeError(f'{type(runner).__name__}: {status}')
    return seconds


def runners() -> dict[str, Any]:
    """What is compared, by name: a runner class and its settings."""
    from opencompass.runners import SlurmRunner, SlurmSequentialRunner

    from opencompass_tooleval.host.slurm_runner import SlurmArrayRunner

    return {'array': SlurmArrayRunner, 'SlurmRunner': SlurmRunner, 'SlurmSequentialRunner': SlurmSequentialRunner}


def compare(make_tasks: Any, cpus: int) -> tuple[dict[str, float], float]:
    """Seconds by runner, each in a folder of its own, and the processor seconds of the tasks of the first."""
    seconds: dict[str, float] = {}
    cpu_seconds = 0.0
    with testbed(cpus), tempfile.TemporaryDirectory() as folder:
        os.environ[CPU_FOLDER] = folder
        for name, runner in runners().items():
            work_dir = Path(folder) / name
            work_dir.mkdir()
            task_type, tasks = make_tasks(work_dir)
            here = Path.cwd()
            os.chdir(work_dir)  # OpenCompass's runners write their parameter files there
            try:
                seconds[name] = timed_launch(runner(task=dict(type=task_type), retry=0, max_num_workers=TASKS), tasks)
            finally:
                os.chdir(here)
            cpu_seconds = cpu_seconds or sum(float(file.read_text()) for file in Path(folder).glob('*.cpu'))
    return seconds, cpu_seconds


def measure_slurm(arguments: object) -> dict[str, Any]:
    """Measures and prints, or says why there can be no Slurm; there is nothing to choose."""
    cpus = os.cpu_count() or 1
    try:
        real, cpu_seconds = compare(real_tasks, cpus)
        sleeping, _ = compare(sleeping_tasks, TASKS)
    except NoSlurmError as error:
        print(f'Slurm is skipped: {error}')
        return {}
    bound = 1.3 * cpu_seconds / cpus + 10
    print(f'Slurm, {TASKS} tasks of inference, {cpus} processors, seconds: {_shown(real)}')
    print(f'  processor seconds of the tasks {cpu_seconds:.1f}; ours {real["array"]:.1f} s (goal <= {bound:.1f})')
    print(f'Slurm, {TASKS} tasks that sleep {SLEEP} s, {TASKS} processors declared, seconds: {_shown(sleeping)}')
    ratios = {}
    for stage, seconds, goal in (('inference', real, ''), ('sleeping', sleeping, ' (goal >= 5)')):
        for name in ('SlurmRunner', 'SlurmSequentialRunner'):
            ratios[f'{stage}: {name} / ours'] = ratio = seconds[name] / seconds['array']
            print(f'Slurm, {stage}: {name} / ours: {ratio:.2f}{goal if name == "SlurmSequentialRunner" else ""}')
    return {'slurm': {'inference': real, 'cpu': cpu_seconds, 'bound': bound, 'sleeping': sleeping, 'ratios': ratios}}


def _shown(seconds: dict[str, float]) -> str:
    return ', '.join(f'{name} {value:.1f}' for name, value in seconds.items())


def main() -> int:
    """Runs the command that is given, and notes its processor seconds."""
    status = subprocess.run(sys.argv[1:]).returncode
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    note = Path(os.environ[CPU_FOLDER], f'{uuid.uuid4()}.cpu')
    note.write_text(str(usage.ru_utime + usage.ru_stime), encoding='utf-8')
    return status


if __name__ == '__main__':
    sys.exit(main())
