"""The process of one task: ``python -m opencompass_tooleval.host.task_process infer|eval CONFIG``.

A task holds what OpenCompass imports and all samples of a data set, a million objects and hardly a cycle. Looking for
cycles among them again and again took a fifth of importing, a fifth of evaluation, and 1.5 s at exit.
"""

from __future__ import annotations

import gc
import sys
import time
from importlib import import_module

MODULE = 'opencompass_tooleval.host.task_process'
TASKS = {'infer': 'ToolEvalInferTask', 'eval': 'ToolEvalEvalTask'}

_THRESHOLDS = 50_000, 20, 100
"""Allocations between looks for cycles; Python's own are 700, 10, 10."""


def as_module(command: str, script: str, stage: str) -> str:
    """Replaces the script of OpenCompass in a task's command by this module."""
    if f' {script} ' not in command:
        raise ValueError(f'{script} is not in the command {command!r}')
    return command.replace(f' {script} ', f' -m {MODULE} {stage} ', 1)


def main(stage: str, config: str) -> None:
    """Runs the task of a config to its end.

    Args:
        stage: ``infer`` or ``eval``.
        config: A file as OpenCompass's runners write it.
    """
    started = time.perf_counter()
    gc.disable()
    from mmengine.config import Config
    from opencompass.utils import get_logger

    task_type = getattr(import_module(f'opencompass_tooleval.host.{stage}_task'), TASKS[stage])
    task = task_type(Config.fromfile(config))
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    gc.enable()
    try:
        task.run()
    finally:
        get_logger().info(f'time elapsed: {time.perf_counter() - started:.2f}s')  # in OpenCompass's words
        gc.freeze()


if __name__ == '__main__':
    main(*sys.argv[1:])
