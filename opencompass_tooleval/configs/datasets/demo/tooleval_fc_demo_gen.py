# Demo records of the data sets whose tools are offered natively: shipped with this package.
from mmengine.config import read_base

with read_base():
    from ..easytool.tooleval_funcqa_fc_gen import tooleval_funcqa_fc_datasets
    from ..easytool.tooleval_restbench_fc_rows import tooleval_restbench_fc_rows
    from ..easytool.tooleval_toolbench_calls_fc_gen import tooleval_toolbench_calls_fc_datasets

tooleval_fc_demo_datasets = [
    *[dict(row, path='tooleval:demo/restbench') for row in tooleval_restbench_fc_rows],
    *[dict(row, path='tooleval:demo/funcqa') for row in tooleval_funcqa_fc_datasets],
    *[dict(row, path='tooleval:demo/toolbench') for row in tooleval_toolbench_calls_fc_datasets],
]
