"""Runs inference tasks of scripted models through ``ToolEvalLocalRunner`` and prints what became of each, as JSON.

``python -m tests.runners.runner_script WORK_DIR [--gpus N] [--workers N] [--debug] BEHAVIOUR...``: a task for each.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from pathlib import Path

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.fixed_models import OracleModel


class ScriptedModel(OracleModel):
    """Behaves as its ``path`` says, at the first question."""

    def reply(self, prompt: Conversation) -> Answer:
        if self.path == 'crash':
            os.abort()
        if self.path == 'sleep':
            Path(os.environ['TOOLEVAL_TEST_PID']).write_text(f'{os.getpid()} {os.getppid()}', encoding='utf-8')
            time.sleep(600)
        if self.path == 'tell':
            import numpy

            facts = {
                'gpus': os.environ['CUDA_VISIBLE_DEVICES'],
                'session': os.getsid(0),
                'process': os.getpid(),
                'parent': os.getppid(),
                'started_by': Path(f'/proc/{os.getppid()}/cmdline').read_text(encoding='utf-8'),
                'random': [random.random(), float(numpy.random.random())],
            }
            return Answer(json.dumps(facts))
        return super().reply(prompt)


def main() -> None:
    from mmengine.config import Config

    import opencompass_tooleval
    from opencompass_tooleval.runners.local_runner import ToolEvalLocalRunner
    from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask

    parser = argparse.ArgumentParser()
    parser.add_argument('work_dir')
    parser.add_argument('behaviours', nargs='+')
    parser.add_argument('--gpus', type=int, default=0)
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--debug', action='store_true')
    arguments = parser.parse_args()
    demo = Path(opencompass_tooleval.__file__).parent / 'configs/datasets/demo/tooleval_demo_gen.py'
    dataset = Config.fromfile(demo)['tooleval_ultratool_en_datasets'][-1]
    tasks = [
        Config(
            dict(
                models=[
                    dict(
                        type='tests.runners.runner_script.ScriptedModel',
                        abbr=f'{index}-{behaviour}',
                        path=behaviour,
                        batch_size=8,
                        run_cfg=dict(num_gpus=arguments.gpus),
                    )
                ],
                datasets=[[dataset]],
                work_dir=arguments.work_dir,
            )
        )
        for index, behaviour in enumerate(arguments.behaviours)
    ]
    options = dict(max_num_workers=arguments.workers, debug=arguments.debug)
    runner = ToolEvalLocalRunner(task=dict(type=ToolEvalInferTask), **options)
    print(json.dumps([code for _, code in runner.launch(tasks)]))


if __name__ == '__main__':
    main()
