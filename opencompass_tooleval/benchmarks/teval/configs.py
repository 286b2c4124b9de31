# T-Eval's data sets by language and data version; configs select from them.
from mmengine.config import read_base
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.benchmarks.teval.task import (
    ToolEvalTEvalDataset,
    ToolEvalTEvalEvaluator,
    ToolEvalTEvalFunctionCallingDataset,
    ToolEvalTEvalFunctionCallingEvaluator,
    tooleval_teval_v1,
    tooleval_teval_v2,
)
from opencompass_tooleval.inferencers import ToolEvalGenInferencer
from opencompass_tooleval.models import ToolEvalConversationTemplate

with read_base():
    from opencompass_tooleval.benchmarks.teval.tables import FUNCTION_CALLING, LANGUAGES, SUBSETS, VERSIONS

# Inference of all T-Eval data sets: complete conversations, greedy, 512 tokens as published.
tooleval_teval_reader_cfg = dict(input_columns=['messages'], output_column='record')

tooleval_teval_infer_cfg = dict(
    prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=ToolEvalGenInferencer, published_max_out_len=512),
)

# All rows of T-Eval, by language and data version; configs select from them.
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

# T-Eval with native function calling, by language and data version: the subsets whose answers are calls.
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

# Metrics of the data sets with native function calling, which are in no table: arguments before the format.
_first = ['json_args_em_metric', 'args', 'name']
tooleval_teval_fc_metrics = [
    [f'tooleval-teval-{subset["name"]}_{version}{language["suffix"]}-fc', metric]
    for version in VERSIONS
    for language in LANGUAGES
    for subset in FUNCTION_CALLING
    for metric in [
        *[metric for metric in _first if metric in subset['metrics']],
        *[metric for metric in subset['metrics'] if metric not in _first],
    ]
]
