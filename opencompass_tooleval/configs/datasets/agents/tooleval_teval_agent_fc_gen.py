# T-Eval's queries carried out from beginning to end, with native function calling.
from mmengine.config import read_base

with read_base():
    from .tooleval_agent_rows import tooleval_agent_rows

_abbrs = ['tooleval-teval-agent-fc']
tooleval_teval_agent_fc_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs]
