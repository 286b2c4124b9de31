# ToolBench's queries with EasyTool's published method, which retrieves tools out of all that have instructions.
from mmengine.config import read_base

with read_base():
    from .tooleval_agent_rows import tooleval_agent_rows

_abbrs = [
    'tooleval-toolbench_g1-agent-easytool_retrieve',
    'tooleval-toolbench_g2-agent-easytool_retrieve',
    'tooleval-toolbench_g3-agent-easytool_retrieve',
]
tooleval_toolbench_agent_easytool_retrieve_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs]
