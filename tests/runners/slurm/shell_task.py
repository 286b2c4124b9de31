"""A task type that runs a shell command, so that runners are tested without waiting for OpenCompass to start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mmengine.config import Config
from opencompass.registry import TASKS
from opencompass.tasks.base import BaseTask


@TASKS.register_module()
class ShellTask(BaseTask):
    """Runs ``command`` of its model."""

    name_prefix = 'Shell'
    log_subdir = 'logs/infer'
    output_subdir = 'predictions'

    def __init__(self, cfg: Any) -> None:
        super().__init__(cfg)
        self.num_gpus = self.model_cfgs[0].get('run_cfg', {}).get('num_gpus', 0)

    def run(self) -> None:
        raise NotImplementedError

    def get_output_paths(self, file_extension: str = 'json') -> list[str]:
        """None: OpenCompass's Slurm runners run a task again that leaves none of its files."""
        return []

    def get_command(self, cfg_path: str, template: str) -> str:
        """The command, whose ``CONFIG`` is the path of the parameter file."""
        return template.format(task_cmd=self.model_cfgs[0]['command'].replace('CONFIG', cfg_path))


def shell_tasks(folder: Path, commands: list[str], names: list[str] | None = None, gpus: int = 0) -> list[Config]:
    """One task per command, as a partitioner makes them."""
    rows = zip(names or [f'm{number}' for number in range(len(commands))], commands, strict=True)
    return [
        Config(
            dict(
                models=[dict(abbr=name, command=command, run_cfg=dict(num_gpus=gpus))],
                datasets=[[dict(abbr='d')]],
                work_dir=str(folder),
            )
        )
        for name, command in rows
    ]
