# Runs a sweep on Slurm: put `from opencompass_tooleval.configs.tooleval_slurm import eval, infer` in its config. Each
# stage is one job array per number of GPUs. Inference requests a model's `run_cfg.num_gpus`, evaluation none.
from opencompass_tooleval.partitioner import ToolEvalPartitioner
from opencompass_tooleval.runners import SlurmArrayRunner
from opencompass_tooleval.tasks import ToolEvalEvalTask, ToolEvalInferTask

# Settings to choose: partition='gpu', account='...', qos='...', time='08:00:00', gpu_request='--gpus-per-node={n}',
# extra_command=['--mem=64G', '-c 8'].
infer = dict(
    partitioner=dict(type=ToolEvalPartitioner, n=1000),
    runner=dict(type=SlurmArrayRunner, max_num_workers=32, retry=2, task=dict(type=ToolEvalInferTask)),
)
eval = dict(
    partitioner=dict(type=ToolEvalPartitioner, n=1000),
    runner=dict(type=SlurmArrayRunner, max_num_workers=32, retry=1, task=dict(type=ToolEvalEvalTask)),
)
