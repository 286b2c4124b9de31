# UltraTool in both languages. Copy this file and put your own models in. Plans and created tools need a judge: set
# $OC_JUDGE_MODEL, $OC_JUDGE_API_KEY and $OC_JUDGE_API_BASE, or give the evaluators a judge_cfg.
from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner

from opencompass_tooleval.host.eval_task import ToolEvalEvalTask
from opencompass_tooleval.host.infer_task import ToolEvalInferTask

with read_base():
    from .datasets.ultratool.tooleval_ultratool_en_gen import tooleval_ultratool_en_datasets
    from .datasets.ultratool.tooleval_ultratool_zh_gen import tooleval_ultratool_zh_datasets
    from .models.tooleval_hf_qwen2_5_7b_instruct import models
    from .summarizers.tooleval_ultratool import summarizer

datasets = [*tooleval_ultratool_zh_datasets, *tooleval_ultratool_en_datasets]

infer = dict(
    partitioner=dict(type=NaivePartitioner, n=len(datasets)),
    runner=dict(type=LocalRunner, max_num_workers=1, task=dict(type=ToolEvalInferTask)),
)
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=len(datasets)),
    runner=dict(type=LocalRunner, max_num_workers=1, task=dict(type=ToolEvalEvalTask)),
)
