# FuncQA with its 13 tools offered natively: rounds of calls and results, like ReAct's in text.
from mmengine.config import read_base

from opencompass_tooleval.agents.loops.funcqa import FuncQADialogues
from opencompass_tooleval.inferencers import ToolEvalDialogueGenInferencer

with read_base():
    from opencompass_tooleval.agents.funcqa_config_rows import tooleval_funcqa_rows

_calling = dict(
    type=ToolEvalDialogueGenInferencer,
    published_max_out_len=512,
    dialogues=dict(type=FuncQADialogues, method='function_calling', max_steps=20, max_calls=100),
)

tooleval_funcqa_fc_datasets = [
    dict(row, abbr=f'{row["abbr"]}-fc', infer_cfg=dict(row['infer_cfg'], inferencer=_calling))  # type: ignore[call-overload]
    for row in tooleval_funcqa_rows[4:6]
]
