# All data sets of ToolBench; configs select theirs from these lists.
from mmengine.config import read_base
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.benchmarks.toolbench.task import (
    ToolBenchDialogues,
    ToolEvalToolBenchDataset,
    ToolEvalToolBenchEvaluator,
)
from opencompass_tooleval.inferencers import ToolEvalDialogueGenInferencer, ToolEvalGenInferencer
from opencompass_tooleval.models import ToolEvalConversationTemplate

with read_base():
    from opencompass_tooleval.benchmarks.toolbench.tables import SUBSETS

# Inference of all ToolBench data sets: one user message, greedy. A list of calls needs many tokens.
tooleval_toolbench_reader_cfg = dict(input_columns=['messages'], output_column='record')

tooleval_toolbench_infer_cfg = dict(
    prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=ToolEvalGenInferencer, published_max_out_len=1024),
)

# ToolBench's selection and calls: with documentation, with EasyTool instructions, and (selection only) with the prompt
# of EasyTool's script. With that prompt the model chooses a tool by number, and unreadable replies are requested again.
_again = dict(type=ToolEvalDialogueGenInferencer, published_max_out_len=512, dialogues=dict(type=ToolBenchDialogues))

tooleval_toolbench_rows = [
    dict(
        abbr=f'tooleval-toolbench-{subset["name"]}{variant}',
        type=ToolEvalToolBenchDataset,
        path='data/toolbench',
        name=subset['name'],
        **(dict(instructions=subset['instructions']) if variant else {}),
        **(dict(method='easytool') if variant == '-easytool-ids' else {}),
        n=1,
        k=1,
        reader_cfg=tooleval_toolbench_reader_cfg,
        infer_cfg=dict(tooleval_toolbench_infer_cfg, inferencer=_again)
        if variant == '-easytool-ids'
        else tooleval_toolbench_infer_cfg,
        eval_cfg=dict(evaluator=dict(type=ToolEvalToolBenchEvaluator, name=subset['name'])),
    )
    for variant in ['', '-easytool', '-easytool-ids']
    for subset in SUBSETS
    if subset['kind'] != 'success' and (variant != '-easytool-ids' or subset['kind'] == 'selection')
]
