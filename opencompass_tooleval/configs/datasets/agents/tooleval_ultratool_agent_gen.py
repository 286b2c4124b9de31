# UltraTool's queries with their tools, or with EasyTool instructions for them. No recordings exist: a simulator answers
# the calls, if one is set.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.agents.config_rows import tooleval_agent_rows

_abbrs = {
    kind: [f'tooleval-ultratool_{name}-agent-fc{ending}' for name in ['zh', 'en']]
    for kind, ending in [('fc', ''), ('instructions', '-easytool')]
}

tooleval_ultratool_agent_fc_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs['fc']]
tooleval_ultratool_agent_instructions_datasets = [
    row for row in tooleval_agent_rows if row['abbr'] in _abbrs['instructions']
]
