from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.teval.groups import tooleval_teval_rows, tooleval_teval_summary_groups
