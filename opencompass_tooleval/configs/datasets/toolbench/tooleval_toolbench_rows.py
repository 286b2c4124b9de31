# ToolBench's selection and calls: with documentation, with EasyTool instructions, and (selection) with the prompt of
# EasyTool's script: tools chosen by number, with repeated requests until one can be read (recorded answers: tries=1).
from mmengine.config import read_base

from opencompass_tooleval.benchmarks.toolbench.adapter import (
    ToolBenchDialogues,
    ToolEvalToolBenchDataset,
    ToolEvalToolBenchEvaluator,
)
from opencompass_tooleval.inferencers import ToolEvalDialogueGenInferencer

with read_base():
    from opencompass_tooleval.benchmarks.toolbench.subsets import SUBSETS

    from .tooleval_toolbench_infer import tooleval_toolbench_infer_cfg, tooleval_toolbench_reader_cfg

_again = dict(type=ToolEvalDialogueGenInferencer, published_max_out_len=512, dialogues=dict(type=ToolBenchDialogues))

tooleval_toolbench_rows = [
    dict(
        abbr=f'tooleval-toolbench-{subset["name"]}{variant}',
        type=ToolEvalToolBenchDataset,
        path='data/toolbench',
        name=subset['name'],
        **(dict(instructions=subset['instructions']) if variant else {}),
        **(dict(method='easytool') if variant == '-easytool-ids' else {}),
        n=1,
        k=1,
        reader_cfg=tooleval_toolbench_reader_cfg,
        infer_cfg=dict(tooleval_toolbench_infer_cfg, inferencer=_again)
        if variant == '-easytool-ids'
        else tooleval_toolbench_infer_cfg,
        eval_cfg=dict(evaluator=dict(type=ToolEvalToolBenchEvaluator, name=subset['name'])),
    )
    for variant in ['', '-easytool', '-easytool-ids']
    for subset in SUBSETS
    if subset['kind'] != 'success' and (variant != '-easytool-ids' or subset['kind'] == 'selection')
]
