# T-Eval with native function calling, by language and version of the data: the subsets whose answers are calls.
from mmengine.config import read_base

from opencompass_tooleval.benchmarks.teval.adapter import (
    ToolEvalTEvalFunctionCallingDataset,
    ToolEvalTEvalFunctionCallingEvaluator,
)

with read_base():
    from opencompass_tooleval.benchmarks.teval.subsets import FUNCTION_CALLING, LANGUAGES, VERSIONS

    from .tooleval_teval_infer import tooleval_teval_infer_cfg, tooleval_teval_reader_cfg

tooleval_teval_fc_rows = {
    f'{language["name"]}_{version}': [
        dict(
            abbr=f'tooleval-teval-{subset["name"]}_{version}{language["suffix"]}-fc',
            type=ToolEvalTEvalFunctionCallingDataset,
            path=f'data/teval/{language["name"]}',
            name=f'{subset["name"]}_{version}{language["suffix"]}',
            n=1,
            k=1,
            reader_cfg=tooleval_teval_reader_cfg,
            infer_cfg=tooleval_teval_infer_cfg,
            eval_cfg=dict(
                evaluator=dict(
                    type=ToolEvalTEvalFunctionCallingEvaluator,
                    name=f'{subset["name"]}_{version}{language["suffix"]}',
                )
            ),
        )
        for subset in FUNCTION_CALLING
    ]
    for language in LANGUAGES
    for version in VERSIONS
}
