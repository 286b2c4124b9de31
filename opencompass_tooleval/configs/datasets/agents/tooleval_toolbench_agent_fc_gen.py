# ToolBench's queries with native function calling and prompts of ours, in one chain.
from mmengine.config import read_base

with read_base():
    from .tooleval_agent_rows import tooleval_agent_rows

_abbrs = ['tooleval-toolbench_g1-agent-fc', 'tooleval-toolbench_g2-agent-fc', 'tooleval-toolbench_g3-agent-fc']
tooleval_toolbench_agent_fc_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs]
