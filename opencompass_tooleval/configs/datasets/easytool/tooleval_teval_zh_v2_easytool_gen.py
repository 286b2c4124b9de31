# T-Eval with EasyTool instructions in place of the documentation; tooleval_teval_zh_v2_gen has it with.
from mmengine.config import read_base

from opencompass_tooleval.easytool.adapter import ToolEvalTEvalEasyToolDataset
from opencompass_tooleval.teval.adapter import ToolEvalTEvalEvaluator, tooleval_teval_v2

with read_base():
    from opencompass_tooleval.easytool.variants import TEVAL_VARIANTS

    from ..teval.tooleval_teval_infer import tooleval_teval_infer_cfg, tooleval_teval_reader_cfg

_instructions = 'data/easytool/teval_zh_v2.json'

tooleval_teval_zh_v2_easytool_datasets = [
    dict(
        abbr=f'tooleval-teval-{name}_v2_zh-easytool',
        type=ToolEvalTEvalEasyToolDataset,
        path='data/teval/ZH',
        name=f'{name}_v2_zh',
        instructions=_instructions,
        n=1,
        k=1,
        reader_cfg=tooleval_teval_reader_cfg,
        infer_cfg=tooleval_teval_infer_cfg,
        eval_cfg=dict(
            evaluator=dict(type=ToolEvalTEvalEvaluator, name=f'{name}_v2_zh', instructions=_instructions),
            pred_postprocessor=dict(type=tooleval_teval_v2),
        ),
    )
    for name in TEVAL_VARIANTS
]
