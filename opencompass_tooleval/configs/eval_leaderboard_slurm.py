# The same sweep on Slurm: GPU jobs for inference, CPU jobs for evaluation, one per model. Copy this file and
# eval_leaderboard.py to add your own models, or set models = [...] below.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.eval_leaderboard import datasets, models, summarizer, work_dir
    from opencompass_tooleval.configs.tooleval_slurm import eval, infer

limit = 0  # number of records; 10 for a first try with the first ten of each data set
for _row in datasets if limit else []:
    _row['reader_cfg']['test_range'] = f'[:{limit}]'  # type: ignore[index]
