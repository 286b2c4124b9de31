# T-Eval's complete table, by language and version of the data; the other configs of this folder select from it.
from mmengine.config import read_base

from opencompass_tooleval.benchmarks.teval.adapter import (
    ToolEvalTEvalDataset,
    ToolEvalTEvalEvaluator,
    tooleval_teval_v1,
    tooleval_teval_v2,
)

with read_base():
    from opencompass_tooleval.benchmarks.teval.subsets import LANGUAGES, SUBSETS

    from .tooleval_teval_infer import tooleval_teval_infer_cfg, tooleval_teval_reader_cfg

_postprocessors = dict(v1=tooleval_teval_v1, v2=tooleval_teval_v2, v2_subset=tooleval_teval_v2)

tooleval_teval_rows = {
    f'{language["name"]}_{version}': [
        dict(
            abbr=f'tooleval-teval-{subset["name"]}_{version}{language["suffix"]}',
            type=ToolEvalTEvalDataset,
            path=f'data/teval/{language["name"]}',
            name=f'{subset["name"]}_{version}{language["suffix"]}',
            n=1,
            k=1,
            reader_cfg=tooleval_teval_reader_cfg,
            infer_cfg=tooleval_teval_infer_cfg,
            eval_cfg=dict(
                evaluator=dict(type=ToolEvalTEvalEvaluator, name=f'{subset["name"]}_{version}{language["suffix"]}'),
                pred_postprocessor=dict(type=_postprocessors[version]),
            ),
        )
        for subset in SUBSETS
    ]
    for language in LANGUAGES
    for version in _postprocessors
}
