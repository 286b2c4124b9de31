# All rows of FuncQA: each subset with each method (EasyTool, Table 6). Configs select rows from this list.
from mmengine.config import read_base
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.agents.loops.funcqa import FuncQADialogues
from opencompass_tooleval.benchmarks.funcqa.task import ToolEvalFuncQADataset, ToolEvalFuncQAEvaluator
from opencompass_tooleval.inferencers import ToolEvalDialogueGenInferencer
from opencompass_tooleval.models import ToolEvalConversationTemplate

with read_base():
    from opencompass_tooleval.benchmarks.funcqa.tables import METHODS, SUBSETS

_instructions = dict(zero_shot=None, cot=None, react=None, easytool='data/easytool/functions_data.json')

tooleval_funcqa_rows = [
    dict(
        abbr=f'tooleval-funcqa-{subset["name"]}-{method}',
        type=ToolEvalFuncQADataset,
        path='data/funcqa',
        name=subset['name'],
        n=1,
        k=1,
        reader_cfg=dict(input_columns=['messages'], output_column='record'),
        infer_cfg=dict(
            prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(
                type=ToolEvalDialogueGenInferencer,
                published_max_out_len=512,
                dialogues=dict(type=FuncQADialogues, method=method, instructions=_instructions[method]),
            ),
        ),
        eval_cfg=dict(evaluator=dict(type=ToolEvalFuncQAEvaluator, name=subset['name'])),
    )
    for method in METHODS
    for subset in SUBSETS
]
