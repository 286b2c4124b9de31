# Which of 5, 10, 20 and 50 tools fulfils a request (Figure 3), with documentation.
from mmengine.config import read_base

with read_base():
    from .tooleval_toolbench_documentation_rows import tooleval_toolbench_documentation_rows

_names = ['selection_5', 'selection_10', 'selection_20', 'selection_50']
tooleval_toolbench_selection_datasets = [row for row in tooleval_toolbench_documentation_rows if row['name'] in _names]
