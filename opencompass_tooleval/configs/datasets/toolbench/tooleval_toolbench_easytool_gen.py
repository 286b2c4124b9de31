# ToolBench with EasyTool instructions: selection (Figure 3) and calls (Figure 4); `_ids`: selection with the prompt
# of EasyTool's script (for recorded answers: tries=1).
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.toolbench.configs import tooleval_toolbench_rows

_selection_easytool = [f'tooleval-toolbench-selection_{part}-easytool' for part in [5, 10, 20, 50]]
tooleval_toolbench_selection_easytool_datasets = [
    row for row in tooleval_toolbench_rows if row['abbr'] in _selection_easytool
]
_selection_easytool_ids = [f'tooleval-toolbench-selection_{part}-easytool-ids' for part in [5, 10, 20, 50]]
tooleval_toolbench_selection_easytool_ids_datasets = [
    row for row in tooleval_toolbench_rows if row['abbr'] in _selection_easytool_ids
]
_calls_easytool = [f'tooleval-toolbench-calls_{part}-easytool' for part in ['g2', 'g3']]
tooleval_toolbench_calls_easytool_datasets = [row for row in tooleval_toolbench_rows if row['abbr'] in _calls_easytool]
