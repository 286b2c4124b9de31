"""The process that started a task: once it is gone, the task ends too, and does not go on asking behind its back.

Between the two may be a shell and torchrun, which a killed runner leaves behind as well; so the task looks for the
runner among its ancestors. A job of Slurm has no runner there, and outlives it: see ``slurm/leftovers.py``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

_LOOK_EVERY = 1.0
_SECONDS_TO_END = 10.0


def _ancestors() -> Iterator[int]:
    """Ids of the parent, its parent and so on; none where there is no ``/proc``."""
    process = os.getppid()
    while process > 0:
        yield process
        try:
            stat = Path(f'/proc/{process}/stat').read_text(encoding='utf-8', errors='replace')
        except OSError:
            return
        process = int(stat.rpartition(')')[2].split()[1])  # a program's name may hold blanks and brackets


def _end_after(starter: int) -> None:
    while starter in _ancestors():
        time.sleep(_LOOK_EVERY)
    print(f'process {starter}, which started this task, is gone: the task ends', file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS_TO_END)
    os.kill(os.getpid(), signal.SIGKILL)


def end_with(starter: int) -> None:
    """Ends this process soon after ``starter`` has ended, if that is an ancestor of it."""
    if starter in _ancestors():
        threading.Thread(target=_end_after, args=[starter], daemon=True, name='end_with_starter').start()
