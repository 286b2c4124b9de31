# Which of 5, 10, 20 and 50 tools fulfils a request (Figure 3), with EasyTool instructions.
from mmengine.config import read_base

with read_base():
    from .tooleval_toolbench_rows import tooleval_toolbench_rows

_abbrs = [f'tooleval-toolbench-selection_{size}-easytool' for size in [5, 10, 20, 50]]
tooleval_toolbench_selection_easytool_datasets = [row for row in tooleval_toolbench_rows if row['abbr'] in _abbrs]
