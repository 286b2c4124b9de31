# How UltraTool is asked: one user message, the tokens of a preset (`open` by default), and its temperature where it is
# named. The published shell script ran open models at 0.7: set the inferencer's temperature.
from mmengine.config import read_base
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.inferencers import ToolEvalGenInferencer
from opencompass_tooleval.models import ToolEvalConversationTemplate

with read_base():
    from opencompass_tooleval.benchmarks.ultratool.presets import DEFAULT, PRESETS

tooleval_ultratool_reader_cfg = dict(input_columns=['messages'], output_column='record')

tooleval_ultratool_infer_cfg = dict(
    prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=ToolEvalGenInferencer, max_out_len=PRESETS[DEFAULT]['max_out_len']),
)

tooleval_ultratool_preset_infer_cfgs = {
    preset: dict(
        prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
        retriever=dict(type=ZeroRetriever),
        inferencer=dict(
            type=ToolEvalGenInferencer,
            max_out_len=PRESETS[preset]['max_out_len'],
            temperature=PRESETS[preset]['temperature'],
        ),
    )
    for preset in PRESETS
}
