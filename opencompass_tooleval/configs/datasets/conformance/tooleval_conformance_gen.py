# Conformance: 300 fixed requests, to compare a served model with a reference (how-to/served-model-certificate.md).
from mmengine.config import read_base
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.extras.conformance.adapter import ToolEvalConformanceDataset, ToolEvalConformanceEvaluator
from opencompass_tooleval.inferencers import ToolEvalGenInferencer
from opencompass_tooleval.models import ToolEvalConversationTemplate

with read_base():
    from opencompass_tooleval.extras.conformance.subsets import SUBSETS

tooleval_conformance_datasets = [
    dict(
        abbr=f'tooleval-conformance-{subset["name"]}',
        type=ToolEvalConformanceDataset,
        path='tooleval:extras/conformance',
        name=subset['name'],
        n=1,
        k=1,
        reader_cfg=dict(input_columns=['messages'], output_column='record'),
        infer_cfg=dict(
            prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=ToolEvalGenInferencer, published_max_out_len=2048),
        ),
        eval_cfg=dict(evaluator=dict(type=ToolEvalConformanceEvaluator, name=subset['name'])),
    )
    for subset in SUBSETS
]
