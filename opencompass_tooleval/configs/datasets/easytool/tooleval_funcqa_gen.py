# FuncQA with all four methods. ReAct needs the extra `agent`.
from mmengine.config import read_base

with read_base():
    from .tooleval_funcqa_rows import tooleval_funcqa_rows

tooleval_funcqa_datasets = [*tooleval_funcqa_rows]
