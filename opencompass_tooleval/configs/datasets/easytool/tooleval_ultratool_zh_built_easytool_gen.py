# UltraTool with EasyTool instructions in place of the toolsets; tooleval_ultratool_zh_built_gen has it with those.
from mmengine.config import read_base

from opencompass_tooleval.easytool.adapter import ToolEvalUltraToolEasyToolDataset
from opencompass_tooleval.ultratool.adapter import ToolEvalUltraToolEvaluator

with read_base():
    from opencompass_tooleval.easytool.variants import ULTRATOOL_BUILT_VARIANTS

    from ..ultratool.tooleval_ultratool_infer import tooleval_ultratool_infer_cfg, tooleval_ultratool_reader_cfg

_instructions = 'data/easytool/ultratool_zh.json'

tooleval_ultratool_zh_built_easytool_datasets = [
    dict(
        abbr=f'tooleval-ultratool-{name}_zh-easytool',
        type=ToolEvalUltraToolEasyToolDataset,
        path='data/ultratool',
        name=name,
        language='zh',
        instructions=_instructions,
        n=1,
        k=1,
        reader_cfg=tooleval_ultratool_reader_cfg,
        infer_cfg=tooleval_ultratool_infer_cfg,
        eval_cfg=dict(
            evaluator=dict(type=ToolEvalUltraToolEvaluator, name=name, language='zh', instructions=_instructions)
        ),
    )
    for name in ULTRATOOL_BUILT_VARIANTS
]
