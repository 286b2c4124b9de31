"""Make a finished T-Eval sweep of made-up models: records, answers, inference and evaluation, in OpenCompass's folders.

Usage: python tools/synthetic_sweep.py OUT [--models 10] [--scale 1]

Writes what ``make_synthetic.py`` makes into ``OUT``, replays the answers and scores all eight subsets with the packaged
encoder. The run is ``OUT/ours``, as ``opencompass -w`` would leave it. At full size it has 17,432 samples per model.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.benchmarks.teval.data import TABLE

TOOLS = Path(__file__).resolve().parent
RUN = 'ours'
TASK = 'opencompass_tooleval.tasks.task_process'

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import ReplayModel

with read_base():
    from opencompass_tooleval.configs.datasets.teval.tooleval_teval_v1_gen import tooleval_teval_en_v1_datasets

models = [
    dict(type=ReplayModel, abbr=name, path='{folder}/predictions/' + name + '/{{dataset}}.jsonl', batch_size=256)
    for name in {models}
]
datasets = [tooleval_teval_en_v1_datasets for _ in models]
work_dir = '{folder}/{run}'
eval = dict(runner=dict(task=dict(dump_details=True)))
"""


@dataclass(frozen=True)
class Cost:
    """What a process took.

    Attributes:
        wall: Seconds.
        cpu: Seconds on all cores.
        peak: Memory, MiB.
    """

    wall: float
    cpu: float
    peak: float

    def __str__(self) -> str:
        return f'{self.wall:.1f} s ({self.cpu:.1f} s CPU), peak {self.peak:.0f} MiB'


def run(command: Sequence[str | Path], log: Path, folder: Path) -> Cost:
    """Runs Python with these arguments to its end, with its output in ``log`` and caches below ``folder``.

    Raises:
        SystemExit: It failed.
    """
    environment = os.environ | {
        'COMPASS_DATA_CACHE': str(folder),
        'TOOLEVAL_CACHE': str(folder / 'cache'),
        'TOOLEVAL_ENCODER': 'offline',
        'TQDM_DISABLE': '1',
        'HF_DATASETS_DISABLE_PROGRESS_BARS': '1',
    }
    started = time.perf_counter()
    with log.open('w', encoding='utf-8') as stream:
        process = subprocess.Popen(
            [sys.executable, *map(str, command)], stdout=stream, stderr=subprocess.STDOUT, env=environment, cwd=folder
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f'{command} failed; see {log}')
    return Cost(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def make_records(folder: Path, scale: float, models: int, *more: str) -> int:
    """Makes records and answers below ``folder``; returns how many records."""
    arguments = ['--scale', str(scale), '--models', str(models), *more]
    run([TOOLS / 'make_synthetic.py', folder, *arguments], folder / 'make.log', folder)
    files = (folder / 'predictions' / 'model_00').glob('*.jsonl')
    return sum(file.read_bytes().count(b'\n') for file in files)


def config_text(folder: Path, models: Sequence[str]) -> str:
    """The config of a sweep over models whose answers lie below ``folder``."""
    return CONFIG.format(folder=folder, models=list(models), run=RUN)


def evaluate(folder: Path, *models: str) -> Cost:
    """Asks models, and returns what evaluating their answers costs, in one process."""
    config = folder / f'{models[0]}.py'
    config.write_text(config_text(folder, models), encoding='utf-8')
    run(['-m', TASK, 'infer', config], folder / f'{models[0]}_infer.log', folder)
    log = folder / f'{models[0]}_eval.log'
    cost = run(['-m', TASK, 'eval', config], log, folder)
    for model in models:
        if len(list((folder / RUN / 'results' / model).glob('*.json'))) != len(TABLE):
            raise SystemExit(f'{model} has no result for some data set; see {log}')
    return cost


def make_sweep(folder: Path, models: int, scale: float) -> Path:
    """Makes a sweep below ``folder``; returns its working directory."""
    make_records(folder, scale, models)
    names = sorted(path.name for path in (folder / 'predictions').iterdir())
    evaluate(folder, *names)
    (folder / RUN / 'configs').mkdir(exist_ok=True)  # where OpenCompass keeps the config of a run
    (folder / RUN / 'configs' / 'sweep.py').write_text(config_text(folder, names), encoding='utf-8')
    return folder / RUN


def main() -> None:
    """Makes a sweep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out', type=Path)
    parser.add_argument('--models', type=int, default=10)
    parser.add_argument('--scale', type=float, default=1.0, help='share of the published number of records')
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    print(make_sweep(arguments.out.resolve(), arguments.models, arguments.scale))


if __name__ == '__main__':
    main()
