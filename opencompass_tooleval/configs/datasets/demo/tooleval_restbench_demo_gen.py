# Demo records in RestBench's format: shipped with this package, with documentation and with instructions.
from mmengine.config import read_base

with read_base():
    from ..easytool.tooleval_restbench_documentation_rows import tooleval_restbench_documentation_rows
    from ..easytool.tooleval_restbench_easytool_rows import tooleval_restbench_easytool_rows

tooleval_restbench_datasets = [*tooleval_restbench_documentation_rows, *tooleval_restbench_easytool_rows]
for _dataset in tooleval_restbench_datasets:
    _dataset['path'] = 'tooleval:demo/restbench'
for _dataset in tooleval_restbench_easytool_rows:
    _dataset['instructions'] = f'tooleval:demo/restbench/{_dataset["name"]}_tool.json'
