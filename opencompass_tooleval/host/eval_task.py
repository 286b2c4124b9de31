"""Evaluation that goes on after a failing data set; run as a module in OpenCompass's workers."""

from __future__ import annotations

import sys

from mmengine.config import Config
from opencompass.registry import TASKS
from opencompass.tasks import OpenICLEvalTask, openicl_eval

from opencompass_tooleval.host.going_on import Failures, as_module

MODULE = 'opencompass_tooleval.host.eval_task'


@TASKS.register_module()
class ToolEvalEvalTask(OpenICLEvalTask):
    """OpenCompass's :class:`OpenICLEvalTask`, whose later data sets survive a failing one; it fails at its end."""

    def get_command(self, cfg_path: str, template: str) -> str:
        """The command that runs this module."""
        return as_module(super().get_command(cfg_path, template), openicl_eval.__file__, MODULE)

    def run(self) -> None:
        """Evaluates every data set.

        Raises:
            TaskFailedError: Some failed.
        """
        self._failures = Failures()
        super().run()
        self._failures.check()

    def _score(self) -> None:
        self._failures.attempt(super()._score, self.dataset_cfg)


if __name__ == '__main__':
    ToolEvalEvalTask(Config.fromfile(sys.argv[1])).run()
