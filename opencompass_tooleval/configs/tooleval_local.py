# Runs a sweep on one machine: one process per model and stage, so that model and sentence encoder are loaded once, and
# a failing data set does not stop those after it.
from opencompass_tooleval.partitioner import ToolEvalPartitioner
from opencompass_tooleval.runners import ToolEvalLocalRunner
from opencompass_tooleval.tasks import ToolEvalEvalTask, ToolEvalInferTask

infer = dict(
    partitioner=dict(type=ToolEvalPartitioner, n=1000),
    runner=dict(type=ToolEvalLocalRunner, max_num_workers=1, task=dict(type=ToolEvalInferTask)),
)
eval = dict(
    partitioner=dict(type=ToolEvalPartitioner, n=1000),
    runner=dict(type=ToolEvalLocalRunner, max_num_workers=1, task=dict(type=ToolEvalEvalTask)),
)
