# Inference of all ToolBench data sets: one user message, greedy. Calls with all their parameters need many tokens.
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.inferencers import ToolEvalGenInferencer
from opencompass_tooleval.models import ToolEvalConversationTemplate

tooleval_toolbench_reader_cfg = dict(input_columns=['messages'], output_column='record')

tooleval_toolbench_infer_cfg = dict(
    prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=ToolEvalGenInferencer, published_max_out_len=1024),
)
