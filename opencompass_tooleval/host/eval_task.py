"""Evaluation that goes on after a failing data set; run as a module in OpenCompass's workers."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import mmengine
from mmengine.config import Config
from opencompass.registry import TASKS
from opencompass.tasks import OpenICLEvalTask, openicl_eval
from opencompass.utils import get_infer_output_path

from opencompass_tooleval.host.going_on import Failures, as_module
from opencompass_tooleval.host.shards import check_shards, shard_files

MODULE = 'opencompass_tooleval.host.eval_task'


@TASKS.register_module()
class ToolEvalEvalTask(OpenICLEvalTask):
    """OpenCompass's :class:`OpenICLEvalTask`, whose later data sets survive a failing one; it fails at its end.

    A result is on disk whole or not at all, so that a killed evaluation can be resumed; and shards of a data set must
    hold its records, each once and in order.
    """

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

    def _file(self, folder: str) -> Path:
        return Path(get_infer_output_path(self.model_cfg, self.dataset_cfg, str(Path(self.work_dir, folder))))

    def _score(self) -> None:
        self._failures.attempt(super()._score, self.dataset_cfg)

    def _evaluate_predictions(self, pred_strs: Any, test_set: Any, pred_dicts: Any) -> Any:
        whole = self._file('predictions')
        if not whole.exists() and 'record_id' in test_set.column_names:
            check_shards(shard_files(whole), test_set['record_id'])
        return super()._evaluate_predictions(pred_strs, test_set, pred_dicts)

    def _save_results(self, result: Any) -> None:
        file = self._file('results')
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(f'.{file.name}.{os.getpid()}.tmp')
        mmengine.dump(result, temporary, file_format='json', ensure_ascii=False, indent=4)
        os.replace(temporary, file)


if __name__ == '__main__':
    ToolEvalEvalTask(Config.fromfile(sys.argv[1])).run()
