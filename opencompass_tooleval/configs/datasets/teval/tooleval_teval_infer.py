# Inference of all T-Eval data sets: complete conversations, greedy, 512 tokens as published.
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.inferencers import ToolEvalGenInferencer
from opencompass_tooleval.models import ToolEvalConversationTemplate

tooleval_teval_reader_cfg = dict(input_columns=['messages'], output_column='record')

tooleval_teval_infer_cfg = dict(
    prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=ToolEvalGenInferencer, published_max_out_len=512),
)
