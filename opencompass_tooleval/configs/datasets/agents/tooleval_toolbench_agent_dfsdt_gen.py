# ToolBench's queries with its depth-first search.
from mmengine.config import read_base

with read_base():
    from .tooleval_agent_rows import tooleval_agent_rows

_abbrs = ['tooleval-toolbench_g1-agent-dfsdt', 'tooleval-toolbench_g2-agent-dfsdt', 'tooleval-toolbench_g3-agent-dfsdt']
tooleval_toolbench_agent_dfsdt_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs]
