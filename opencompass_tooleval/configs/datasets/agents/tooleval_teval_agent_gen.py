# T-Eval's queries as tasks of agents, with its text protocol (react) and with native function calling (fc), also with
# EasyTool instructions instead of documentation.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.agents.config_rows import tooleval_agent_rows

_abbrs = {
    **{
        f'{name}_{loop}': [f'tooleval-{name}-agent-{loop}']
        for name in ['teval', 'teval_zh']
        for loop in ['react', 'fc']
    },
    'instructions': [f'tooleval-teval-agent-{loop}-easytool' for loop in ['react', 'fc']],
}

tooleval_teval_agent_react_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs['teval_react']]
tooleval_teval_agent_fc_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs['teval_fc']]
tooleval_teval_zh_agent_react_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs['teval_zh_react']]
tooleval_teval_zh_agent_fc_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs['teval_zh_fc']]
tooleval_teval_agent_instructions_datasets = [
    row for row in tooleval_agent_rows if row['abbr'] in _abbrs['instructions']
]
