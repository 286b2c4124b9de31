# ToolBench's queries with its published ReAct prompts, which call natively, in one chain.
from mmengine.config import read_base

with read_base():
    from .tooleval_agent_rows import tooleval_agent_rows

_abbrs = ['tooleval-toolbench_g1-agent-react', 'tooleval-toolbench_g2-agent-react', 'tooleval-toolbench_g3-agent-react']
tooleval_toolbench_agent_react_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs]
