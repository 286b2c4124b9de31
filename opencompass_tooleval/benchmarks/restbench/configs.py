# RestBench with documentation, with EasyTool instructions, and with EasyTool's prompt (recorded answers need tries=1).
from mmengine.config import read_base
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.benchmarks.restbench.task import (
    RestBenchDialogues,
    ToolEvalRestBenchDataset,
    ToolEvalRestBenchEvaluator,
)
from opencompass_tooleval.inferencers import ToolEvalDialogueGenInferencer, ToolEvalGenInferencer
from opencompass_tooleval.models import ToolEvalConversationTemplate

with read_base():
    from opencompass_tooleval.benchmarks.restbench.tables import SUBSETS

_once = dict(type=ToolEvalGenInferencer, published_max_out_len=512)
_again = dict(type=ToolEvalDialogueGenInferencer, published_max_out_len=512, dialogues=dict(type=RestBenchDialogues))

tooleval_restbench_rows = [
    dict(
        abbr=f'tooleval-restbench-{subset["name"]}{variant}',
        type=ToolEvalRestBenchDataset,
        path='data/restbench',
        name=subset['name'],
        gold='official',
        **(dict(instructions=subset['instructions']) if variant else {}),
        **(dict(method='easytool') if variant == '-easytool-ids' else {}),
        n=1,
        k=1,
        reader_cfg=dict(input_columns=['messages'], output_column='record'),
        infer_cfg=dict(
            prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=_again if variant == '-easytool-ids' else _once,
        ),
        eval_cfg=dict(evaluator=dict(type=ToolEvalRestBenchEvaluator, name=subset['name'])),
    )
    for variant in ['', '-easytool', '-easytool-ids']
    for subset in SUBSETS
]
