from mmengine.config import read_base

with read_base():
    from .tooleval_funcqa_rows import tooleval_funcqa_rows

tooleval_funcqa_zero_shot_datasets = tooleval_funcqa_rows[0:2]
