# RestBench as EasyTool's own script asks: instructions whole, tools chosen by number, asked again until it can be read.
# For recorded answers say tries=1.
from mmengine.config import read_base
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.easytool.restbench.adapter import (
    RestBenchDialogues,
    ToolEvalRestBenchDataset,
    ToolEvalRestBenchEvaluator,
)
from opencompass_tooleval.host.conversation import ToolEvalConversationTemplate
from opencompass_tooleval.host.rounds_inferencer import ToolEvalRoundsGenInferencer

with read_base():
    from opencompass_tooleval.easytool.restbench.subsets import SUBSETS

tooleval_restbench_ids_rows = [
    dict(
        abbr=f'tooleval-restbench-{subset["name"]}-easytool-ids',
        type=ToolEvalRestBenchDataset,
        path='data/restbench',
        name=subset['name'],
        gold='official',
        instructions=subset['instructions'],
        method='easytool',
        n=1,
        k=1,
        reader_cfg=dict(input_columns=['messages'], output_column='record'),
        infer_cfg=dict(
            prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=ToolEvalRoundsGenInferencer, max_out_len=512, dialogues=dict(type=RestBenchDialogues)),
        ),
        eval_cfg=dict(evaluator=dict(type=ToolEvalRestBenchEvaluator, name=subset['name'])),
    )
    for subset in SUBSETS
]
