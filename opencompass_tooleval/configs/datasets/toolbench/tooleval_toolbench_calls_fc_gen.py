# Errors in the calls that a model makes for a request (Figure 4), with native APIs. A model that makes one call per
# answer gets further requests until it makes none.
from mmengine.config import read_base

from opencompass_tooleval.benchmarks.toolbench.task import ToolEvalToolBenchCallsEvaluator, ToolEvalToolBenchDataset
from opencompass_tooleval.inferencers import ToolEvalDialogueGenInferencer
from opencompass_tooleval.instructions.planned_calls import PlannedCallDialogues

with read_base():
    from opencompass_tooleval.benchmarks.toolbench.configs import (
        tooleval_toolbench_infer_cfg,
        tooleval_toolbench_reader_cfg,
    )
    from opencompass_tooleval.benchmarks.toolbench.tables import SUBSETS

_calling = dict(
    type=ToolEvalDialogueGenInferencer,
    published_max_out_len=1024,
    dialogues=dict(type=PlannedCallDialogues, max_steps=10),
)

tooleval_toolbench_calls_fc_datasets = [
    dict(
        abbr=f'tooleval-toolbench-{subset["name"]}-fc',
        type=ToolEvalToolBenchDataset,
        path='data/toolbench',
        name=subset['name'],
        method='function_calling',
        n=1,
        k=1,
        reader_cfg=tooleval_toolbench_reader_cfg,
        infer_cfg=dict(tooleval_toolbench_infer_cfg, inferencer=_calling),
        eval_cfg=dict(evaluator=dict(type=ToolEvalToolBenchCallsEvaluator, name=subset['name'])),
    )
    for subset in SUBSETS
    if subset['kind'] == 'calls'
]
