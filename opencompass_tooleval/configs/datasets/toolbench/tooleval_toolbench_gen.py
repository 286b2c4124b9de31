# ToolBench with documentation: choose the tool of a request among 5, 10, 20 and 50 (Figure 3), and errors in the
# calls that a model makes for a request (Figure 4).
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.toolbench.configs import tooleval_toolbench_rows

_selection = [f'tooleval-toolbench-selection_{part}' for part in [5, 10, 20, 50]]
tooleval_toolbench_selection_datasets = [row for row in tooleval_toolbench_rows if row['abbr'] in _selection]
_calls = [f'tooleval-toolbench-calls_{part}' for part in ['g2', 'g3']]
tooleval_toolbench_calls_datasets = [row for row in tooleval_toolbench_rows if row['abbr'] in _calls]
