# RestBench as EasyTool's own script asks: instructions whole, tools chosen by number, asked again until it can be read.
# For recorded answers say tries=1.
from mmengine.config import read_base

from opencompass_tooleval.easytool.restbench.adapter import (
    ToolEvalRestBenchDataset,
    ToolEvalRestBenchEvaluator,
)

with read_base():
    from opencompass_tooleval.easytool.restbench.subsets import SUBSETS

    from .tooleval_ids_infer import tooleval_ids_infer_cfgs
    from .tooleval_restbench_infer import tooleval_restbench_reader_cfg

tooleval_restbench_ids_rows = [
    dict(
        abbr=f'tooleval-restbench-{subset["name"]}-easytool-ids',
        type=ToolEvalRestBenchDataset,
        path='data/restbench',
        name=subset['name'],
        gold='official',
        instructions=subset['instructions'],
        method='easytool',
        n=1,
        k=1,
        reader_cfg=tooleval_restbench_reader_cfg,
        infer_cfg=tooleval_ids_infer_cfgs['restbench'],
        eval_cfg=dict(evaluator=dict(type=ToolEvalRestBenchEvaluator, name=subset['name'])),
    )
    for subset in SUBSETS
]
