"""Base class of this package's tasks: their command, and the list of failed datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mmengine.config import Config
from opencompass.utils import dataset_abbr_from_cfg, get_logger, model_abbr_from_cfg

from opencompass_tooleval.core.text.jsonable import printable
from opencompass_tooleval.inferencers.resuming import prepare
from opencompass_tooleval.models.literal_keys import literal_keys
from opencompass_tooleval.models.preflight import tell
from opencompass_tooleval.tasks.task_process import as_module, shell_word
from opencompass_tooleval.work_dir.lock import hold_sweep
from opencompass_tooleval.work_dir.printing import keep_printable


class TaskFailedError(RuntimeError):
    """Raised if datasets of a task failed; the others are done."""


class Failures:
    """Collects the failures of one task."""

    def __init__(self) -> None:
        self._failures: list[str] = []

    def attempt(self, work: Callable[[], None], dataset_cfg: object) -> bool:
        """Calls ``work`` for a dataset. If it raises an exception, logs and keeps it, and returns False."""
        try:
            work()
            return True
        except Exception as error:
            failure = printable(f'{dataset_abbr_from_cfg(dataset_cfg)}: {type(error).__name__}: {error}')
            get_logger().exception(f'FAILED {failure}')
            self._failures.append(failure)
            return False

    def check(self) -> None:
        """Raises an exception if a dataset failed. Called at the end of the task.

        Raises:
            TaskFailedError: A dataset failed; the message lists all failures.
        """
        if self._failures:
            raise TaskFailedError(f'{len(self._failures)} data sets failed:\n' + '\n'.join(self._failures))


class CommandOfTask:
    """Mixin for OpenCompass tasks that :mod:`~opencompass_tooleval.tasks.task_process` runs."""

    cfg: Any
    work_dir: str
    model_cfgs: Sequence[Any]
    dataset_cfgs: Sequence[Sequence[Any]]
    name_prefix: str

    stage: str
    """``infer`` or ``eval``."""

    script: str
    """OpenCompass's script for the stage."""

    def __init__(self, cfg: Any) -> None:
        keep_printable(get_logger())
        super().__init__(cfg)  # type: ignore[call-arg]
        if isinstance(self.cfg, Config):
            # In debug mode OpenCompass dumps the config; formatting a large one takes longer than the task.
            self.cfg = Config(self.cfg.to_dict(), format_python_code=False)

    @property
    def name(self) -> str:
        """Short name, ``OpenICLInfer[model: 73 data sets]``. (OpenCompass's name lists all datasets.)"""
        if sum(map(len, self.dataset_cfgs)) == 1:
            return str(super().name)  # type: ignore[misc]
        pairs = zip(self.model_cfgs, self.dataset_cfgs, strict=True)
        parts = (f'{model_abbr_from_cfg(model)}: {len(datasets)} data sets' for model, datasets in pairs)
        return f'{self.name_prefix}[{", ".join(parts)}]'

    def engine_log(self) -> Path:
        """Returns the log file, next to the task's log, of engines that this process starts for a model or judge."""
        return Path(self.get_log_path('engine.log'))  # type: ignore[attr-defined]

    def get_command(self, cfg_path: str, template: str) -> str:
        """Returns the command that runs this task.

        The process that starts the tasks calls it. It also locks the directory against other sweeps, warns about keys
        in the config, and reopens stored predictions that lack answers.

        Raises:
            SystemExit: Another sweep runs in the directory.
        """
        hold_sweep(Path(self.work_dir))
        for model, datasets in zip(self.cfg['models'], self.cfg['datasets'], strict=True):
            for dataset in datasets:
                prepare(self.stage, Path(self.work_dir), model, dataset)
        tell(literal_keys(self.cfg))
        command = super().get_command(shell_word(cfg_path), '{task_cmd}')  # type: ignore[misc]
        return template.format(task_cmd=as_module(command, self.script, self.stage))
