"""What is common to the processes that run one of our tasks."""

from __future__ import annotations

import gc
from typing import Any

_THRESHOLDS = 50_000, 20, 100
"""Allocations between looks for cycles; Python's own are 700, 10, 10."""


def run_task(task: Any) -> None:
    """Runs a task to its end, in a process that does nothing else.

    A task holds what OpenCompass imports and all samples of a data set, a million objects and hardly a cycle. Looking
    for cycles among them again and again took a fifth of evaluation, and another second and a half at exit.
    """
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        task.run()
    finally:
        gc.freeze()
