# How every UltraTool data set is asked: one user message, greedily.
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.host.conversation import ToolEvalConversationTemplate
from opencompass_tooleval.host.inferencer import ToolEvalGenInferencer

tooleval_ultratool_reader_cfg = dict(input_columns=['messages'], output_column='record')

tooleval_ultratool_infer_cfg = dict(
    prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=ToolEvalGenInferencer, max_out_len=2048),
)
