# Which of 5, 10, 20 and 50 tools fulfils a request (Figure 3), asked as EasyTool's own script asks: instructions, tools
# chosen by number, asked again until it can be read. For recorded answers say tries=1.
from mmengine.config import read_base
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.easytool.toolbench.adapter import (
    ToolBenchDialogues,
    ToolEvalToolBenchDataset,
    ToolEvalToolBenchEvaluator,
)
from opencompass_tooleval.host.conversation import ToolEvalConversationTemplate
from opencompass_tooleval.host.rounds_inferencer import ToolEvalRoundsGenInferencer

with read_base():
    from opencompass_tooleval.easytool.toolbench.subsets import SUBSETS

tooleval_toolbench_selection_easytool_ids_datasets = [
    dict(
        abbr=f'tooleval-toolbench-{subset["name"]}-easytool-ids',
        type=ToolEvalToolBenchDataset,
        path='data/toolbench',
        name=subset['name'],
        instructions=subset['instructions'],
        method='easytool',
        n=1,
        k=1,
        reader_cfg=dict(input_columns=['messages'], output_column='record'),
        infer_cfg=dict(
            prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=ToolEvalRoundsGenInferencer, max_out_len=512, dialogues=dict(type=ToolBenchDialogues)),
        ),
        eval_cfg=dict(evaluator=dict(type=ToolEvalToolBenchEvaluator, name=subset['name'])),
    )
    for subset in SUBSETS
    if subset['kind'] == 'selection'
]
