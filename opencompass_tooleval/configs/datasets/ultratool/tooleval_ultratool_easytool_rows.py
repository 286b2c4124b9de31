# UltraTool with EasyTool instructions instead of the toolsets, by language: as published, and built from annotations.
from mmengine.config import read_base

from opencompass_tooleval.benchmarks.ultratool.adapter import ToolEvalUltraToolEvaluator
from opencompass_tooleval.instructions.adapter import ToolEvalUltraToolEasyToolDataset

with read_base():
    from opencompass_tooleval.instructions.subsets import ULTRATOOL_BUILT_VARIANTS, ULTRATOOL_VARIANTS

    from .tooleval_ultratool_infer import tooleval_ultratool_infer_cfg, tooleval_ultratool_reader_cfg

_variants = {'': ULTRATOOL_VARIANTS, '_built': ULTRATOOL_BUILT_VARIANTS}

tooleval_ultratool_easytool_rows = {
    f'{language}{kind}': [
        dict(
            abbr=f'tooleval-ultratool-{name}_{language}-easytool',
            type=ToolEvalUltraToolEasyToolDataset,
            path='data/ultratool',
            name=name,
            language=language,
            instructions=f'data/easytool/ultratool_{language}.json',
            n=1,
            k=1,
            reader_cfg=tooleval_ultratool_reader_cfg,
            infer_cfg=tooleval_ultratool_infer_cfg,
            eval_cfg=dict(
                evaluator=dict(
                    type=ToolEvalUltraToolEvaluator,
                    name=name,
                    language=language,
                    instructions=f'data/easytool/ultratool_{language}.json',
                )
            ),
        )
        for name in _variants[kind]
    ]
    for language in ['zh', 'en']
    for kind in _variants
}
