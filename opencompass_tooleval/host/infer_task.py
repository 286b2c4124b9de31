"""Inference that goes on after a failing data set; run as a module in OpenCompass's workers."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from mmengine.config import Config
from opencompass.registry import TASKS
from opencompass.tasks import OpenICLInferTask, openicl_infer
from opencompass.utils import build_model_from_cfg, model_abbr_from_cfg

from opencompass_tooleval.host.going_on import Failures, as_module

MODULE = 'opencompass_tooleval.host.infer_task'


@TASKS.register_module()
class ToolEvalInferTask(OpenICLInferTask):
    """OpenCompass's :class:`OpenICLInferTask`, whose later data sets survive a failing one.

    One data set over the limit of infrastructure failures would otherwise take down all that share its task. The task
    still fails at its end.
    """

    def get_command(self, cfg_path: str, template: str) -> str:
        """The command that runs this module."""
        return as_module(super().get_command(cfg_path, template), openicl_infer.__file__, MODULE)

    def run(self, cur_model: Any = None, cur_model_abbr: str | None = None) -> None:
        """Runs the data sets one by one, each model loaded once.

        Raises:
            TaskFailedError: Some data sets failed. A model that cannot be loaded ends the task at once.
        """
        failures = Failures()
        self.model, loaded = cur_model, cur_model_abbr
        tasks = zip(self.cfg['models'], self.cfg['datasets'], strict=True)
        pairs = [(model_cfg, dataset_cfg) for model_cfg, rows in tasks for dataset_cfg in rows]
        for model_cfg, dataset_cfg in pairs:
            abbr = model_abbr_from_cfg(model_cfg)
            if abbr != loaded:
                self.model, loaded = build_model_from_cfg(model_cfg), abbr
            self.model_cfgs, self.dataset_cfgs = [model_cfg], [[dataset_cfg]]
            failures.attempt(partial(super().run, self.model, loaded), dataset_cfg)
        failures.check()


if __name__ == '__main__':
    ToolEvalInferTask(Config.fromfile(sys.argv[1])).run()
