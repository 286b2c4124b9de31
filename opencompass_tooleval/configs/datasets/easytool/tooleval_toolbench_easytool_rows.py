# ToolBench's selection and calls with EasyTool instructions in place of the documentation: same records, same scoring.
from mmengine.config import read_base

from opencompass_tooleval.easytool.toolbench.adapter import ToolEvalToolBenchDataset, ToolEvalToolBenchEvaluator

with read_base():
    from opencompass_tooleval.easytool.toolbench.subsets import SUBSETS

    from .tooleval_toolbench_infer import tooleval_toolbench_infer_cfg, tooleval_toolbench_reader_cfg

tooleval_toolbench_easytool_rows = [
    dict(
        abbr=f'tooleval-toolbench-{subset["name"]}-easytool',
        type=ToolEvalToolBenchDataset,
        path='data/toolbench',
        name=subset['name'],
        instructions=subset['instructions'],
        n=1,
        k=1,
        reader_cfg=tooleval_toolbench_reader_cfg,
        infer_cfg=tooleval_toolbench_infer_cfg,
        eval_cfg=dict(evaluator=dict(type=ToolEvalToolBenchEvaluator, name=subset['name'])),
    )
    for subset in SUBSETS
    if subset['kind'] != 'success'
]
