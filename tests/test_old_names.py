"""Dotted names that configs in older work directories hold still stand for what they stood for."""

from __future__ import annotations

import pytest
from mmengine.config import Config
from mmengine.utils import get_object_from_string
from opencompass.registry import RUNNERS

MOVED = {
    'opencompass_tooleval.host.easytool_summarizer.ToolEvalEasyToolSummarizer': (
        'opencompass_tooleval.easytool.summarizer.ToolEvalEasyToolSummarizer'
    ),
    'opencompass_tooleval.host.slurm_runner.SlurmArrayRunner': 'opencompass_tooleval.slurm.runner.SlurmArrayRunner',
}


@pytest.mark.parametrize('old', MOVED)
def test_an_old_name_is_the_class_of_today(old: str) -> None:
    assert get_object_from_string(old) is get_object_from_string(MOVED[old])


def test_a_runner_is_built_from_an_old_name() -> None:
    old = 'opencompass_tooleval.host.slurm_runner.SlurmArrayRunner'
    task = 'opencompass_tooleval.host.infer_task.ToolEvalInferTask'
    runner = RUNNERS.build(Config(dict(runner=dict(type=old, retry=1, task=dict(type=task)))).runner)
    assert f'{type(runner).__module__}.{type(runner).__name__}' == MOVED[old]
