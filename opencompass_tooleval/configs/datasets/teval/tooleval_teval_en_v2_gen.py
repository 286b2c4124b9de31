from mmengine.config import read_base

from opencompass_tooleval.teval.adapter import ToolEvalTEvalDataset, ToolEvalTEvalEvaluator, tooleval_teval_v2

with read_base():
    from opencompass_tooleval.teval.subsets import SUBSETS

    from .tooleval_teval_infer import tooleval_teval_infer_cfg, tooleval_teval_reader_cfg

tooleval_teval_en_v2_datasets = [
    dict(
        abbr=f'tooleval-teval-{subset["name"]}_v2',
        type=ToolEvalTEvalDataset,
        path='data/teval/EN',
        name=f'{subset["name"]}_v2',
        n=1,
        k=1,
        reader_cfg=tooleval_teval_reader_cfg,
        infer_cfg=tooleval_teval_infer_cfg,
        eval_cfg=dict(
            evaluator=dict(type=ToolEvalTEvalEvaluator, name=f'{subset["name"]}_v2'),
            pred_postprocessor=dict(type=tooleval_teval_v2),
        ),
    )
    for subset in SUBSETS
]
