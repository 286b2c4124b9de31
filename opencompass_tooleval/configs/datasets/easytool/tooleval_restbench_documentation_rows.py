# RestBench's whole table with documentation; the other configs of this folder pick from it.
from mmengine.config import read_base

from opencompass_tooleval.easytool.restbench.adapter import ToolEvalRestBenchDataset, ToolEvalRestBenchEvaluator

with read_base():
    from opencompass_tooleval.easytool.restbench.subsets import SUBSETS

    from .tooleval_restbench_infer import tooleval_restbench_infer_cfg, tooleval_restbench_reader_cfg

tooleval_restbench_documentation_rows = [
    dict(
        abbr=f'tooleval-restbench-{subset["name"]}',
        type=ToolEvalRestBenchDataset,
        path='data/restbench',
        name=subset['name'],
        gold='official',
        n=1,
        k=1,
        reader_cfg=tooleval_restbench_reader_cfg,
        infer_cfg=tooleval_restbench_infer_cfg,
        eval_cfg=dict(evaluator=dict(type=ToolEvalRestBenchEvaluator, name=subset['name'])),
    )
    for subset in SUBSETS
]
