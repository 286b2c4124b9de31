# How every RestBench data set is asked: one user message, greedily. The longest gold path has four tools.
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.host.conversation import ToolEvalConversationTemplate
from opencompass_tooleval.host.inferencer import ToolEvalGenInferencer

tooleval_restbench_reader_cfg = dict(input_columns=['messages'], output_column='record')

tooleval_restbench_infer_cfg = dict(
    prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=ToolEvalGenInferencer, max_out_len=512),
)
