# UltraTool's six tasks.
from mmengine.config import read_base

with read_base():
    from .tooleval_ultratool_zh_rows import tooleval_ultratool_zh_rows

tooleval_ultratool_zh_datasets = tooleval_ultratool_zh_rows[:6]
