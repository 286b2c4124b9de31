"""What the tasks of this package share: their command, and that later data sets survive a failing one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from opencompass.utils import dataset_abbr_from_cfg, get_logger

from opencompass_tooleval.host.literal_keys import warn_of_literal_keys
from opencompass_tooleval.host.served_model import ToolEvalServed
from opencompass_tooleval.host.task_process import as_module, shell_word
from opencompass_tooleval.sweep.lock import hold_sweep


class TaskFailedError(RuntimeError):
    """Some data sets of a task failed; the others are done."""


class Failures:
    """Collects what failed in one task."""

    def __init__(self) -> None:
        self._failures: list[str] = []

    def attempt(self, work: Callable[[], None], dataset_cfg: object) -> None:
        """Does ``work`` for a data set; an exception is logged and kept."""
        try:
            work()
        except Exception as error:
            failure = f'{dataset_abbr_from_cfg(dataset_cfg)}: {type(error).__name__}: {error}'
            get_logger().exception(f'FAILED {failure}')
            self._failures.append(failure)

    def check(self) -> None:
        """Ends the task.

        Raises:
            TaskFailedError: Something failed; the message lists it.
        """
        if self._failures:
            raise TaskFailedError(f'{len(self._failures)} data sets failed:\n' + '\n'.join(self._failures))


class CommandOfTask:
    """Stands before a task of OpenCompass: it is run by :mod:`~opencompass_tooleval.host.task_process`."""

    cfg: Any
    work_dir: str

    stage: str
    """``infer`` or ``eval``."""

    script: str
    """OpenCompass's own script for that."""

    def place_engine_log(self) -> None:
        """Has engines that this process starts, of a model or of a judge, log beside the task's log."""
        ToolEvalServed.log = Path(self.get_log_path('engine.log'))  # type: ignore[attr-defined]

    def get_command(self, cfg_path: str, template: str) -> str:
        """The command that runs this task.

        It is asked for by the process that starts the tasks, which thereby keeps other sweeps out of the directory,
        and is told of keys in its config.

        Raises:
            SystemExit: Another sweep is at work there.
        """
        hold_sweep(Path(self.work_dir))
        warn_of_literal_keys(self.cfg['models'], self.cfg['datasets'])
        command = super().get_command(shell_word(cfg_path), '{task_cmd}')  # type: ignore[misc]
        return template.format(task_cmd=as_module(command, self.script, self.stage))
