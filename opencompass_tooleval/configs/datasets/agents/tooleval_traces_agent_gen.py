# Requests of recorded conversations with their tools, below data/traces; `tooleval import traces` writes them.
from mmengine.config import read_base

with read_base():
    from .tooleval_agent_rows import tooleval_agent_rows

_abbrs = {kind: f'tooleval-traces-agent-fc{ending}' for kind, ending in [('fc', ''), ('instructions', '-easytool')]}

tooleval_traces_agent_fc_datasets = [row for row in tooleval_agent_rows if row['abbr'] == _abbrs['fc']]
tooleval_traces_agent_instructions_datasets = [
    row for row in tooleval_agent_rows if row['abbr'] == _abbrs['instructions']
]
