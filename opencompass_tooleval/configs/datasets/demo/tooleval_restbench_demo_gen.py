# Demo records in RestBench's format: shipped with this package, with documentation and with instructions.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.restbench.configs import tooleval_restbench_rows

tooleval_restbench_datasets = [row for row in tooleval_restbench_rows if 'method' not in row]
for _dataset in tooleval_restbench_datasets:
    _dataset['path'] = 'tooleval:demo/restbench'
    if 'instructions' in _dataset:
        _dataset['instructions'] = f'tooleval:demo/restbench/{_dataset["name"]}_tool.json'
