# UltraTool's queries with their tools. None of it is recorded: a simulator answers, where there is one.
from mmengine.config import read_base

with read_base():
    from .tooleval_agent_rows import tooleval_agent_rows

_abbrs = ['tooleval-ultratool_zh-agent-fc', 'tooleval-ultratool_en-agent-fc']
tooleval_ultratool_agent_fc_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs]
