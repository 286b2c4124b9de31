# T-Eval v2, English and Chinese. Copy this file and put your own models in.
from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner

from opencompass_tooleval.host.eval_task import ToolEvalEvalTask
from opencompass_tooleval.host.infer_task import ToolEvalInferTask

with read_base():
    from .datasets.teval.tooleval_teval_en_v2_gen import tooleval_teval_en_v2_datasets
    from .datasets.teval.tooleval_teval_zh_v2_gen import tooleval_teval_zh_v2_datasets
    from .models.tooleval_hf_qwen2_5_7b_instruct import models
    from .summarizers.tooleval_teval import summarizer

datasets = [*tooleval_teval_en_v2_datasets, *tooleval_teval_zh_v2_datasets]

# one process per model and stage, so that model and sentence encoder are loaded once
infer = dict(
    partitioner=dict(type=NaivePartitioner, n=len(datasets)),
    runner=dict(type=LocalRunner, max_num_workers=1, task=dict(type=ToolEvalInferTask)),
)
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=len(datasets)),
    runner=dict(type=LocalRunner, max_num_workers=1, task=dict(type=ToolEvalEvalTask)),
)
