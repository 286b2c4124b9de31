# Errors in the calls that a model makes for a request (Figure 4), with EasyTool instructions.
from mmengine.config import read_base

with read_base():
    from .tooleval_toolbench_rows import tooleval_toolbench_rows

_abbrs = [f'tooleval-toolbench-{name}-easytool' for name in ['calls_g2', 'calls_g3']]
tooleval_toolbench_calls_easytool_datasets = [row for row in tooleval_toolbench_rows if row['abbr'] in _abbrs]
