# T-Eval's queries carried out by agents that are shown EasyTool instructions in place of documentation.
from mmengine.config import read_base

with read_base():
    from .tooleval_agent_rows import tooleval_agent_rows

_abbrs = [f'tooleval-{name}-agent-{loop}-easytool' for loop in ['react', 'fc'] for name in ['teval']]
tooleval_teval_agent_instructions_datasets = [row for row in tooleval_agent_rows if row['abbr'] in _abbrs]
