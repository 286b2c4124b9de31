# ToolBench's queries with its published ReAct prompts, with native calls (react), with its depth-first search
# (dfsdt), with native calls and our prompts (fc), with EasyTool's published method, which may retrieve its tools, and
# with EasyTool instructions instead of documentation.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.agents.config_rows import tooleval_agent_rows

_files = ['toolbench_g1', 'toolbench_g2', 'toolbench_g3']
_loops = ['react', 'dfsdt', 'fc', 'easytool', 'easytool_retrieve']
_abbrs = {loop: [f'tooleval-{name}-agent-{loop}' for name in _files] for loop in _loops}
_abbrs['instructions'] = [f'tooleval-{name}-agent-{loop}-easytool' for loop in _loops[:3] for name in _files]

tooleval_toolbench_agent_react_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs['react']]
tooleval_toolbench_agent_dfsdt_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs['dfsdt']]
tooleval_toolbench_agent_fc_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs['fc']]
tooleval_toolbench_agent_easytool_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs['easytool']]
tooleval_toolbench_agent_easytool_retrieve_datasets = [
    row for row in tooleval_agent_rows if row['abbr'] in _abbrs['easytool_retrieve']
]
tooleval_toolbench_agent_instructions_datasets = [
    row for row in tooleval_agent_rows if row['abbr'] in _abbrs['instructions']
]
