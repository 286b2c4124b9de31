from mmengine.config import read_base

from opencompass_tooleval.teval.adapter import ToolEvalTEvalDataset, ToolEvalTEvalEvaluator, tooleval_teval_v1

with read_base():
    from opencompass_tooleval.teval.subsets import SUBSETS

    from .tooleval_teval_infer import tooleval_teval_infer_cfg, tooleval_teval_reader_cfg

tooleval_teval_zh_v1_datasets = [
    dict(
        abbr=f'tooleval-teval-{subset["name"]}_v1_zh',
        type=ToolEvalTEvalDataset,
        path='data/teval/ZH',
        name=f'{subset["name"]}_v1_zh',
        n=1,
        k=1,
        reader_cfg=tooleval_teval_reader_cfg,
        infer_cfg=tooleval_teval_infer_cfg,
        eval_cfg=dict(
            evaluator=dict(type=ToolEvalTEvalEvaluator, name=f'{subset["name"]}_v1_zh'),
            pred_postprocessor=dict(type=tooleval_teval_v1),
        ),
    )
    for subset in SUBSETS
]
