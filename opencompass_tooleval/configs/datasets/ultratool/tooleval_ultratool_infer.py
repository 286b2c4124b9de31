# Inference of UltraTool: one user message, the tokens of a prompt style (`open` by default), and the temperature of a
# named style. The published shell script ran open models at 0.7: set the inferencer's temperature.
from mmengine.config import read_base
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.inferencers import ToolEvalGenInferencer
from opencompass_tooleval.models import ToolEvalConversationTemplate

with read_base():
    from opencompass_tooleval.benchmarks.ultratool.subsets import DEFAULT_PROMPT_STYLE, PROMPT_STYLES

tooleval_ultratool_reader_cfg = dict(input_columns=['messages'], output_column='record')

tooleval_ultratool_infer_cfg = dict(
    prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(
        type=ToolEvalGenInferencer, published_max_out_len=PROMPT_STYLES[DEFAULT_PROMPT_STYLE]['max_out_len']
    ),
)

tooleval_ultratool_prompt_style_infer_cfgs = {
    prompt_style: dict(
        prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
        retriever=dict(type=ZeroRetriever),
        inferencer=dict(
            type=ToolEvalGenInferencer,
            published_max_out_len=PROMPT_STYLES[prompt_style]['max_out_len'],
            temperature=PROMPT_STYLES[prompt_style]['temperature'],
        ),
    )
    for prompt_style in PROMPT_STYLES
}
