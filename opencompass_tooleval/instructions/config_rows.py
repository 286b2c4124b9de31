# T-Eval and UltraTool with EasyTool instructions; configs select from these rows.
from mmengine.config import read_base

from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalEvaluator, tooleval_teval_v1, tooleval_teval_v2
from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolEvaluator
from opencompass_tooleval.instructions.adapter import ToolEvalTEvalEasyToolDataset, ToolEvalUltraToolEasyToolDataset

with read_base():
    from opencompass_tooleval.benchmarks.teval.configs import tooleval_teval_infer_cfg, tooleval_teval_reader_cfg
    from opencompass_tooleval.benchmarks.ultratool.configs import (
        tooleval_ultratool_infer_cfg,
        tooleval_ultratool_reader_cfg,
    )
    from opencompass_tooleval.instructions.subsets import TEVAL_VARIANTS, ULTRATOOL_BUILT_VARIANTS, ULTRATOOL_VARIANTS

# T-Eval with EasyTool instructions instead of the documentation, by language and data version.
_postprocessors = dict(v1=tooleval_teval_v1, v2=tooleval_teval_v2)
_languages = [dict(name='en', folder='EN', suffix=''), dict(name='zh', folder='ZH', suffix='_zh')]

tooleval_teval_easytool_rows = {
    f'{language["name"]}_{version}': [
        dict(
            abbr=f'tooleval-teval-{name}_{version}{language["suffix"]}-easytool',
            type=ToolEvalTEvalEasyToolDataset,
            path=f'data/teval/{language["folder"]}',
            name=f'{name}_{version}{language["suffix"]}',
            instructions=f'data/easytool/teval_{language["name"]}_{version}.json',
            n=1,
            k=1,
            reader_cfg=tooleval_teval_reader_cfg,
            infer_cfg=tooleval_teval_infer_cfg,
            eval_cfg=dict(
                evaluator=dict(
                    type=ToolEvalTEvalEvaluator,
                    name=f'{name}_{version}{language["suffix"]}',
                    instructions=f'data/easytool/teval_{language["name"]}_{version}.json',
                ),
                pred_postprocessor=dict(type=_postprocessors[version]),
            ),
        )
        for name in TEVAL_VARIANTS
    ]
    for language in _languages
    for version in _postprocessors
}

# UltraTool with EasyTool instructions instead of the toolsets, by language: as published, and built from annotations.
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
