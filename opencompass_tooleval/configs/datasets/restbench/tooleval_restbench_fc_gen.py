# RestBench with native tools. A model that makes one call per answer gets further requests until it makes none.
from mmengine.config import read_base
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.benchmarks.restbench.task import ToolEvalRestBenchCallsEvaluator, ToolEvalRestBenchDataset
from opencompass_tooleval.inferencers import ToolEvalDialogueGenInferencer
from opencompass_tooleval.instructions.planned_calls import PlannedCallDialogues
from opencompass_tooleval.models import ToolEvalConversationTemplate

with read_base():
    from opencompass_tooleval.benchmarks.restbench.tables import SUBSETS

_rows = [
    dict(
        abbr=f'tooleval-restbench-{subset["name"]}-fc',
        type=ToolEvalRestBenchDataset,
        path='data/restbench',
        name=subset['name'],
        gold='official',
        method='function_calling',
        n=1,
        k=1,
        reader_cfg=dict(input_columns=['messages'], output_column='record'),
        infer_cfg=dict(
            prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(
                type=ToolEvalDialogueGenInferencer,
                published_max_out_len=1024,
                dialogues=dict(type=PlannedCallDialogues, max_steps=10),
            ),
        ),
        eval_cfg=dict(evaluator=dict(type=ToolEvalRestBenchCallsEvaluator, name=subset['name'])),
    )
    for subset in SUBSETS
]
tooleval_restbench_tmdb_fc_datasets = _rows[:1]
tooleval_restbench_spotify_fc_datasets = _rows[1:]
