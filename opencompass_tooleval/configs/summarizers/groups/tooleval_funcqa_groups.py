from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.funcqa.groups import tooleval_funcqa_rows, tooleval_funcqa_summary_groups
