"""Tests inference and evaluation in this process, on a dataset in the package."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from mmengine.config import Config, ConfigDict

import opencompass_tooleval
from opencompass_tooleval.tasks.eval_task import ToolEvalEvalTask
from opencompass_tooleval.tasks.first_prompts import quiet
from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask

_CONFIGS = Path(opencompass_tooleval.__file__).parent / 'configs'


class TrialError(RuntimeError):
    """Raised if the trial does not give the expected result."""


def run_trial() -> int:
    """Runs the oracle on the package's UltraTool tool_usage records and scores it, without encoder or network.

    Returns:
        The number of samples.

    Raises:
        TrialError: The gold answers do not score 100.
        Exception: Any error of inference or evaluation in this environment.
    """
    datasets = Config.fromfile(_CONFIGS / 'datasets' / 'demo' / 'tooleval_demo_gen.py')
    (dataset,) = (row for row in datasets['tooleval_ultratool_en_datasets'] if row['name'] == 'tool_usage')
    model = Config.fromfile(_CONFIGS / 'models' / 'tooleval_oracle.py')['models'][0]
    output = io.StringIO()
    with TemporaryDirectory(prefix='tooleval-trial-') as folder, contextlib.redirect_stdout(output):
        with contextlib.redirect_stderr(output):
            task = ConfigDict(models=[model], datasets=[[dataset]], work_dir=folder)
            with quiet('CRITICAL'):
                ToolEvalInferTask(task).run()
                ToolEvalEvalTask(task).run()
        (file,) = Path(folder).glob('results/*/*.json')
        result = json.loads(file.read_text(encoding='utf-8'))
    if result['local_levenshtein'] != 100.0:
        raise TrialError(f'gold answers score {result["local_levenshtein"]:.2f} instead of 100')
    return int(result['samples']['all'])
