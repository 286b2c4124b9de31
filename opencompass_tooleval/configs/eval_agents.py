# Agents from beginning to end, offline: T-Eval's and ToolBench's queries with recorded responses, loop beside loop.
# Copy this file and put your own models in; their class has to offer tools. Make the banks once:
#   tooleval agents bank build --from data/teval/EN --out data/agents/teval.bank
#   tooleval agents bank build --from RUNS_OR_CACHE... --out data/agents/toolbench.bank
# ReAct in text needs lagent: pip install 'opencompass-tooleval[agent]'
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.datasets.agents.tooleval_teval_agent_fc_gen import (
        tooleval_teval_agent_fc_datasets,
    )
    from opencompass_tooleval.configs.datasets.agents.tooleval_teval_agent_react_gen import (
        tooleval_teval_agent_react_datasets,
    )
    from opencompass_tooleval.configs.datasets.agents.tooleval_toolbench_agent_fc_gen import (
        tooleval_toolbench_agent_fc_datasets,
    )
    from opencompass_tooleval.configs.models.tooleval_api import models
    from opencompass_tooleval.configs.summarizers.tooleval_agent import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [
    *tooleval_teval_agent_react_datasets,
    *tooleval_teval_agent_fc_datasets,
    *tooleval_toolbench_agent_fc_datasets,
]
