# Which of 5, 10, 20 and 50 tools fulfils a request (Figure 3), asked as EasyTool's own script asks: instructions, tools
# chosen by number, asked again until it can be read. For recorded answers say tries=1.
from mmengine.config import read_base

from opencompass_tooleval.easytool.toolbench.adapter import (
    ToolEvalToolBenchDataset,
    ToolEvalToolBenchEvaluator,
)

with read_base():
    from opencompass_tooleval.easytool.toolbench.subsets import SUBSETS

    from .tooleval_ids_infer import tooleval_ids_infer_cfgs
    from .tooleval_toolbench_infer import tooleval_toolbench_reader_cfg

tooleval_toolbench_selection_easytool_ids_datasets = [
    dict(
        abbr=f'tooleval-toolbench-{subset["name"]}-easytool-ids',
        type=ToolEvalToolBenchDataset,
        path='data/toolbench',
        name=subset['name'],
        instructions=subset['instructions'],
        method='easytool',
        n=1,
        k=1,
        reader_cfg=tooleval_toolbench_reader_cfg,
        infer_cfg=tooleval_ids_infer_cfgs['toolbench'],
        eval_cfg=dict(evaluator=dict(type=ToolEvalToolBenchEvaluator, name=subset['name'])),
    )
    for subset in SUBSETS
    if subset['kind'] == 'selection'
]
