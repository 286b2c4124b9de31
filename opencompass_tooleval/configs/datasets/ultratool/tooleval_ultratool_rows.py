# UltraTool's complete table, by language; the other configs of this folder select from it.
from mmengine.config import read_base

from opencompass_tooleval.benchmarks.ultratool.adapter import ToolEvalUltraToolDataset, ToolEvalUltraToolEvaluator

with read_base():
    from opencompass_tooleval.benchmarks.ultratool.subsets import SUBSETS

    from .tooleval_ultratool_infer import tooleval_ultratool_infer_cfg, tooleval_ultratool_reader_cfg

tooleval_ultratool_rows = {
    language: [
        dict(
            abbr=f'tooleval-ultratool-{subset["name"]}_{language}',
            type=ToolEvalUltraToolDataset,
            path='data/ultratool',
            name=subset['name'],
            language=language,
            n=1,
            k=1,
            reader_cfg=tooleval_ultratool_reader_cfg,
            infer_cfg=tooleval_ultratool_infer_cfg,
            eval_cfg=dict(evaluator=dict(type=ToolEvalUltraToolEvaluator, name=subset['name'], language=language)),
        )
        for subset in SUBSETS
    ]
    for language in ['zh', 'en']
}
