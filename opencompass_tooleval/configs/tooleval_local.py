# How the ready sweeps run on one machine: one process per model and stage, so that model and sentence encoder are
# loaded once, and a failing data set does not take down those after it.
from opencompass.partitioners import NaivePartitioner

from opencompass_tooleval.host.eval_task import ToolEvalEvalTask
from opencompass_tooleval.host.infer_task import ToolEvalInferTask
from opencompass_tooleval.host.local_runner import ToolEvalLocalRunner

infer = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(type=ToolEvalLocalRunner, max_num_workers=1, task=dict(type=ToolEvalInferTask)),
)
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=1000),
    runner=dict(type=ToolEvalLocalRunner, max_num_workers=1, task=dict(type=ToolEvalEvalTask)),
)
