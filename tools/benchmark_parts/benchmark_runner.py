"""Times our local runner against OpenCompass's; part of ``benchmark.py``.

A sweep of 16 tasks, as OpenCompass runs it: inference of the gold answers over 8 data sets of the demo, a task for
each, and then their evaluation. Each runner has as many workers as there are processors, and a folder of its own. What
is timed is all that the process does which runs the tasks, once it has imported OpenCompass.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from mmengine.config import Config
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner

from opencompass_tooleval.runners.local_runner import ToolEvalLocalRunner
from opencompass_tooleval.tasks.eval_task import ToolEvalEvalTask
from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask

CONFIG = Path(__file__).resolve().parents[2] / 'opencompass_tooleval' / 'configs' / 'eval_demo.py'
DATASETS = 8
STAGES = {'predictions': ToolEvalInferTask, 'results': ToolEvalEvalTask}
GOAL = 4


def sweep(runner: type[LocalRunner], folder: Path) -> float:
    """Wall seconds of a sweep, all of whose tasks must succeed."""
    config = Config.fromfile(CONFIG, format_python_code=False)
    config['models'], config['datasets'] = config['models'][:1], config['datasets'][:DATASETS]
    config['work_dir'] = str(folder)
    begun = time.perf_counter()
    for part, task_type in STAGES.items():
        tasks = NaivePartitioner(out_dir=str(folder / part))(config)
        status = runner(task=dict(type=task_type), max_num_workers=os.cpu_count()).launch(tasks)
        if [code for _, code in status] != [0] * DATASETS:
            raise RuntimeError(f'{runner.__name__}: {status}')
    return time.perf_counter() - begun


def measure() -> dict[str, Any]:
    """Measures and prints."""
    seconds, here = {}, Path.cwd()
    for runner in (LocalRunner, ToolEvalLocalRunner):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)  # LocalRunner leaves files where it is
            seconds[runner.__name__] = sweep(runner, Path(folder, 'out'))
            os.chdir(here)
    ratio = seconds['LocalRunner'] / seconds['ToolEvalLocalRunner']
    shown = ', '.join(f'{name} {value:.1f} s' for name, value in seconds.items())
    print(f'{2 * DATASETS} tasks with {os.cpu_count()} workers: {shown}; {ratio:.2f} times as fast (goal >= {GOAL})')
    return {'runner': {**seconds, 'ratio': ratio}}
