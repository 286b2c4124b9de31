# Runs a sweep on one machine: one process per model and stage, so that model and sentence encoder are loaded once, and
# a failing data set does not stop those after it. Models behind an API run at once (8), others one after another;
# max_num_workers in a runner sets the number for all.
from opencompass_tooleval.partitioner import ToolEvalPartitioner
from opencompass_tooleval.runners import ToolEvalLocalRunner
from opencompass_tooleval.tasks import ToolEvalEvalTask, ToolEvalInferTask

infer = dict(
    partitioner=dict(type=ToolEvalPartitioner, n=1000),
    runner=dict(type=ToolEvalLocalRunner, task=dict(type=ToolEvalInferTask)),
)
eval = dict(
    partitioner=dict(type=ToolEvalPartitioner, n=1000),
    runner=dict(type=ToolEvalLocalRunner, task=dict(type=ToolEvalEvalTask)),
)
