# The same sweep on Slurm: GPU jobs for inference, CPU jobs for evaluation, one per model.
from mmengine.config import read_base

with read_base():
    from .eval_leaderboard import datasets, models, summarizer, work_dir
    from .tooleval_slurm import eval, infer
