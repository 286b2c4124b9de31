# How data sets of EasyTool's own method are asked: tools chosen by number, asked again until the answer can be read.
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.easytool.restbench.adapter import RestBenchDialogues
from opencompass_tooleval.easytool.toolbench.adapter import ToolBenchDialogues
from opencompass_tooleval.host.conversation import ToolEvalConversationTemplate
from opencompass_tooleval.host.rounds_inferencer import ToolEvalRoundsGenInferencer

_dialogues = dict(restbench=RestBenchDialogues, toolbench=ToolBenchDialogues)

tooleval_ids_infer_cfgs = {
    benchmark: dict(
        prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
        retriever=dict(type=ZeroRetriever),
        inferencer=dict(type=ToolEvalRoundsGenInferencer, max_out_len=512, dialogues=dict(type=_dialogues[benchmark])),
    )
    for benchmark in _dialogues
}
