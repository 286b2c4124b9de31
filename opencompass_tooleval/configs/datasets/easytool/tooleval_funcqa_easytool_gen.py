from mmengine.config import read_base

with read_base():
    from .tooleval_funcqa_rows import tooleval_funcqa_rows

tooleval_funcqa_easytool_datasets = tooleval_funcqa_rows[6:8]
