# Agents' tasks: each loop on each subset, with documentation and with EasyTool instructions (EasyTool's loop: always).
from mmengine.config import read_base
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.agents.adapter import AgentDialogues, ToolEvalAgentDataset, ToolEvalAgentEvaluator
from opencompass_tooleval.inferencers import ToolEvalDialogueGenInferencer
from opencompass_tooleval.models import ToolEvalConversationTemplate

with read_base():
    from opencompass_tooleval.agents.subsets import LOOPS, SUBSETS

_inferencer = dict(type=ToolEvalDialogueGenInferencer, published_max_out_len=1024)
tooleval_agent_rows = [
    dict(
        abbr=f'tooleval-{subset["name"]}-agent-{loop["name"]}{variant}',
        type=ToolEvalAgentDataset,
        path=subset['folder'],
        name=subset['name'],
        **(dict(instructions=subset['instructions']) if variant or loop['instructed'] else {}),
        n=1,
        k=1,
        reader_cfg=dict(input_columns=['messages'], output_column='record'),
        infer_cfg=dict(
            prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(
                _inferencer,
                dialogues=dict(
                    dict(type=AgentDialogues, bank=subset['bank'], stateful_tools=subset['stateful_tools']),
                    **(dict(corpus=subset['instructions']) if loop['name'] == 'easytool_retrieve' else {}),
                    **loop['options'],  # type: ignore[arg-type]
                ),
            ),
        ),
        eval_cfg=dict(evaluator=dict(type=ToolEvalAgentEvaluator, name=subset['name'])),
    )
    for variant in ['', '-easytool']
    for loop in LOOPS
    for subset in SUBSETS
    if subset['format'] == loop['format'] and not (variant and loop['instructed'])
]
